"""Surveys of a project: their specifications, and the folders in which they are collected.

obverse collect new: a survey declared in obverse.toml, which is made where there is none.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from obverse.catalog.edit import Fact, with_survey
from obverse.catalog.keys import NAME_MAX, suggestion
from obverse.catalog.load import FILE_NAME, load, loads, locator
from obverse.catalog.locate import Place, quoted
from obverse.catalog.model import Catalog
from obverse.collect.collector import Collection, Folding, Submitted, agreed_spec
from obverse.collect.planning import Choice, chosen
from obverse.collect.protocols import Rappor
from obverse.collect.spec import Spec, read_spec
from obverse.collect.tally import Tally, empty, tallied, unpacked
from obverse.core.errors import CatalogError, Refused
from obverse.core.numbers import plain
from obverse.engines.files import payloads_of
from obverse.engines.spark import quiet
from obverse.engines.spark_session import session_for
from obverse.session.project_file import edit_project_file, write_new_project_file

if TYPE_CHECKING:
    import pyarrow


FOLDER = "collect"
FOLDER_DIGITS = 16
REPORTS_AT_ONCE = 1 << 16
LINE_MAX = 1 << 17


def spec_in(project: Path, name: str) -> tuple[Spec, Choice]:
    """The survey's specification, and why its protocol was chosen."""
    return declared_spec(load(project), name, locator(project))


def collection_in(project: Path, name: str) -> Collection:
    """That of the survey as it is declared.

    A survey that was changed is refused, but its reports are deleted in time.
    """
    catalog = load(project)
    spec, _ = declared_spec(catalog, name, locator(project))
    try:
        return Collection(_folder(catalog, name), spec, folding=_folding(catalog))
    except Refused as refused:
        if refused.code == "survey_changed":
            forgotten_in(project, name)
        raise


def forgotten_in(project: Path, name: str) -> int:
    """Delete the reports whose retention is over, and tell how many: by the specification that people agreed to,
    whether or
    not the survey was changed since, or is declared at all."""
    catalog = load(project)
    folder = _folder(catalog, name)
    known = agreed_spec(folder)
    if known is None:
        declared_spec(catalog, name)  # refuses a name that never was one
        return 0
    collection = Collection(folder, known, folding=_folding(catalog))
    collection.close()
    return collection.forgotten


def _folder(catalog: Catalog, name: str) -> Path:
    digits = hashlib.sha256(name.encode()).hexdigest()[:FOLDER_DIGITS]  # whatever signs a name has
    return catalog.ledger.parent / FOLDER / digits


def _folding(catalog: Catalog) -> Folding | None:
    return folding_on_spark(catalog.engine.get("url")) if catalog.engine["kind"] == "spark" else None


def declared_spec(catalog: Catalog, name: str, place: Place | None = None) -> tuple[Spec, Choice]:
    """Refuses a survey that no protocol, or no device, could be asked with; `place` tells where a key stands."""
    survey = catalog.surveys.get(name)
    if survey is None:
        raise Refused("no_such_survey", f"no survey {name!r} is declared.", fix=suggestion(name, catalog.surveys))
    choice = chosen(survey)
    loss = choice.protocol.loss()
    if loss > survey.lifetime:
        raise Refused(
            "bad_parameter",
            f"one report costs epsilon {plain(loss)}, and a lifetime of {plain(survey.lifetime)} is declared.",
            why="devices would send nothing but reports that tell nothing, whatever the card says.",
            fix="Declare a lifetime for one report at least, or a smaller epsilon.",
        )
    spec = Spec(survey, choice.protocol)
    refused = ignored(spec, place)
    if refused is not None and not collected_before(catalog, spec):
        raise refused
    return spec, choice


def ignored(spec: Spec, place: Place | None = None) -> Refused | None:
    """The refusal of a `permanent` that RAPPOR ignores: its coins fix what all reports of one answer lose."""
    kept = spec.permanent
    declared = spec.survey.permanent
    if declared is None or kept is None or not isinstance(spec.protocol, Rappor) or plain(kept) == plain(declared):
        return None
    return CatalogError(
        "bad_parameter",
        f"{spec.protocol.name} ignores permanent = {plain(declared)}.",
        why=f"at this epsilon all of its reports of one answer lose {plain(kept)} together, whatever is declared.",
        fix=f"Write permanent = {plain(kept)}.",
        place="" if place is None else place(("surveys", spec.survey.name, "permanent")),
    )


def collected_before(catalog: Catalog, spec: Spec) -> bool:
    """Whether people were asked by this very specification already: an older version of Obverse refused less."""
    known = agreed_spec(_folder(catalog, spec.survey.name))
    return known is not None and known.document == spec.document


def submitted(lines: BinaryIO) -> Iterator[list[Submitted]]:
    """Reports as text, some at a time: on each line a token and a report, in hexadecimal. What cannot be read is a
    report of
    no length; a line that does not end is cut, so that memory is bounded whatever comes."""
    told = (line.decode(errors="replace").split(None, 2) for line in iter(partial(lines.readline, LINE_MAX), b""))
    kept = (_submitted(words) for words in told if words)
    while some := list(islice(kept, REPORTS_AT_ONCE)):
        yield some


def _submitted(words: list[str]) -> Submitted:
    try:
        token, report = (bytes.fromhex(word) for word in words)
    except ValueError:
        token = report = b""
    return Submitted(report, token)


def add_survey(project: Path, name: str, facts: Mapping[str, Fact]) -> Path:
    """Append a section; valid before and after, and such that people can be asked, or not written."""
    if not name.isprintable() or not 0 < len(name) <= NAME_MAX or "." in name:
        raise Refused("bad_name", "not a name for a survey", fix="Use letters and digits, such as missed_dose.")
    target = project if project.suffix == ".toml" else project / FILE_NAME

    def declared(text: str) -> str:
        changed = with_survey(text, name, facts)
        declared_spec(loads(changed.removeprefix("\ufeff"), target.parent, target.name), name)
        return changed

    if project.suffix == ".toml" or os.path.lexists(target):
        return edit_project_file(project, declared)()
    write_new_project_file(target, declared(f"[project]\nname = {quoted(project.absolute().name or 'project')}\n"))
    return target


PART = "n bigint, counts binary"
WHY = "its workers import this package, and read the files of reports where they are."
FIX = "install obverse on the workers, and keep the ledger's folder on storage that they reach; or use another engine."


def folding_on_spark(url: str | None) -> Callable[[Spec, Sequence[Path]], Tally]:
    """How a collection folds its files, at this address or in a Spark of this process.

    Workers import this package, and read the files where they are: on a cluster both must be there.
    """

    def folded(spec: Spec, paths: Sequence[Path]) -> Tally:
        total = empty(spec.digest, spec.protocol)
        if not paths:
            return total
        session = session_for(url, ())
        try:
            with quiet():
                frame = session.read.parquet(*[str(path.resolve()) for path in paths])
                for row in frame.mapInArrow(counting(spec.document), PART).toLocalIterator():
                    total = total.plus(unpacked(spec.digest, spec.protocol, row["n"], bytes(row["counts"])))
        except Exception:
            raise Refused("engine_failure", "Spark could not count the reports.", why=WHY, fix=FIX) from None
        finally:
            if url is not None:
                session.stop()
        return total

    return folded


def counting(document: bytes) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """What a worker does with its part. The same part gives the same counts, so a task may be tried again."""

    def part(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        spec = read_spec(document)
        total = empty(spec.digest, spec.protocol)
        length = spec.protocol.length
        for batch in batches:
            words = [batch.column(f"w{i}").to_numpy() for i in range(-(-length // 8))]
            if len(batch):
                total = total.plus(tallied(spec.digest, spec.protocol, payloads_of(words, length)))
        if total.n:
            yield pyarrow.RecordBatch.from_pydict({"n": [total.n], "counts": [total.packed()]})

    return part
