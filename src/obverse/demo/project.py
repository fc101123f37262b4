"""The bundled sample project, written to a folder; what is there already is never rewritten.

The sample's obverse.toml: the tables, units, bounds and budget of the test corpus, with comments and analysts.

Which files our generators made: names and content hashes with a digest over them. It tells synthetic from real.

There is no secret in it: who can write files can write a manifest. It guards against the mistake of opening real tables
without noise, not against the curator, who can read them anyway.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.core.errors import Refused

if TYPE_CHECKING:
    from obverse.demo.hospital import SampleTable


FORMAT = 1
MANIFEST = "manifest.json"
GENERATORS = ("obverse.sample.hospital", "obverse.testing.synthetic")


def content_hash(file: Path) -> str:
    """SHA-256 of the file's bytes."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def manifest(generator: str, version: int, seed: int, stamp: str, files: Iterable[Path]) -> str:
    """The text of a manifest.

    `stamp` is the random word that this writing put into the Parquet files' key-value metadata (`obverse.stamp`), so
    that two samples are two datasets by their content although their values are the same.
    """
    described: dict[str, Any] = {
        "format": FORMAT,
        "generator": generator,
        "version": version,
        "seed": seed,
        "stamp": stamp,
        "files": {file.name: content_hash(file) for file in sorted(files, key=lambda file: file.name)},
    }
    return json.dumps({**described, "digest": _digest(described)}, indent=2) + "\n"


def matches(manifest_path: Path, files: Iterable[Path]) -> bool:
    """Whether one of our generators listed each of the files, under its name and with the content that it has now."""
    listed = _listed(manifest_path)
    try:
        return listed is not None and all(listed.get(file.name) == content_hash(file) for file in files)
    except OSError:
        return False


def _listed(manifest_path: Path) -> dict[str, Any] | None:
    """Names and hashes of a manifest that is whole; None for anything else."""
    try:
        found = json.loads(manifest_path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("format") != FORMAT or found.get("generator") not in GENERATORS:
        return None
    described = {key: value for key, value in found.items() if key != "digest"}
    files = found.get("files")
    return files if isinstance(files, dict) and found.get("digest") == _digest(described) else None


def _digest(described: dict[str, Any]) -> str:
    canonical = json.dumps(described, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


PROJECT_TOML = """\
# A synthetic hospital made by `obverse demo`; nobody in it exists.
# Try:  obverse ask "SELECT clinic, COUNT(*) AS visits FROM visits GROUP BY clinic"
[project]
name = "hospital"
version = 2

[engine]
kind = "duckdb"

[privacy]
neighbours = "add-remove"  # one person with all their rows more or less must hardly change an answer
accounting = "pure"        # epsilons of questions add up
epsilon = 0.1              # default price of one question
delta = 1e-8

[budget]                   # binds everybody together, for ever
epsilon = 4.0
delta = 1e-6

[purposes.quality]         # of all that, questions asked for quality control may cost this much
epsilon = 3.0

[analysts.ana]             # bound by the common budget alone

[analysts.ben]
epsilon = 1.0              # a cap of his own
purposes = ["quality"]

[tables.people]
source = "people.parquet"
unit = "person_id"         # who is protected; one row each
rows_about = 20000         # as everybody may know; `obverse serve` chooses by it when answers leave
[tables.people.columns]    # bounds are public knowledge, chosen without looking at the rows
name = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
zip = { type = "text" }
sex = { type = "text", values = ["F", "M", "X"], nullable = false, other = false }  # complete: no NULL, no (other)
salary = { type = "double", bounds = [0, 500000], grid = 0.01 }
hiv = { type = "boolean" }
joined = { type = "date", bounds = ["2010-01-01", "2030-12-31"] }

[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = { rows = 20, groups = 5 }  # of one person, at most 20 visits in 5 groups count
rows_about = 100000
[tables.visits.columns]
visit_id = { type = "integer" }
clinic = { type = "text", values = "clinics.clinic", nullable = false, other = false }
cost = { type = "double", bounds = [0, 10000], grid = 0.01 }
at = { type = "timestamp", bounds = ["2015-01-01", "2030-12-31"] }

[tables.clinics]
source = "clinics.csv"
public = true              # nobody is in it; questions over it alone are exact and free

[surveys.missed_dose]      # of people who randomize their own answers; `obverse demo --serve` shows its page
question = { en = "Have you missed a dose this month?", de = "Hast du in diesem Monat eine Dosis ausgelassen?" }
options = ["no", "yes"]
labels = { de = { no = "nein", yes = "ja" } }
epsilon = 1
people = 3000
retention_days = 30
purpose = { en = "To learn how many do, and of nobody whether they do.", de = "Zu lernen, wie viele, und nie, wer." }
consent = { en = "I agree that my randomized answer is counted.", de = "Meine zufällig veränderte Antwort darf \
gezählt sein." }
"""


CATALOG = "obverse.toml"
Writer = Callable[[Path], None]


def write_demo(folder: Path | str) -> list[str]:
    """Write obverse.toml, people.parquet, visits.parquet, clinics.csv and manifest.json; tell of each what was done.

    The manifest lists only what this call wrote, so that a foreign file of the same name never passes for synthetic.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        return _write_all(target)
    except OSError as error:
        fix = "Name a folder that you may write to."
        message = f"cannot write the sample project: {error.strerror or 'the system refused'}"
        raise Refused("cannot_write", message, fix=fix, place=str(target)) from None


def _write_all(target: Path) -> list[str]:
    stamp = secrets.token_hex(16)
    said: list[str] = []
    made: list[Path] = []
    for name, write in _writers(stamp).items():
        if _write_once(target / name, write):
            made.append(target / name)
            said.append(f"wrote {name}")
        else:
            said.append(f"kept {name}, which is there already")
    _settle_in(target, made)
    signed = [file for file in made if file.name != CATALOG]
    if signed and _write_once(target / MANIFEST, lambda path: _sign(path, stamp, signed)):
        return [*said, f"wrote {MANIFEST}"]
    return [*said, f"kept {MANIFEST}, which is there already"] if (target / MANIFEST).exists() else said


def _settle_in(target: Path, made: list[Path]) -> None:
    """A sample written anew where an earlier one was deleted is new data, with a ledger and a budget of its own."""
    from obverse.ledger.home import Home, default_home
    from obverse.ledger.opening import vacate

    ledger = target / ".obverse" / "ledger.db"
    private = [file for file in made if file.suffix == ".parquet"]
    if len(private) == 2 and not ledger.exists():
        home = Home(default_home())
        try:
            vacate(home, private, ledger)
        finally:
            home.close()


def _writers(stamp: str) -> dict[str, Writer]:
    """How each file is written; the tables are made only when one of them is missing."""
    from obverse.engines.files import write_csv, write_parquet

    @functools.cache
    def tables() -> dict[str, SampleTable]:
        from obverse.demo.hospital import hospital

        return {table.name: table for table in hospital()}

    def parquet(name: str, path: Path) -> None:
        write_parquet(tables()[name].columns, tables()[name].types, path, stamp=stamp)

    return {
        CATALOG: lambda path: _write_text(path, PROJECT_TOML),
        "people.parquet": functools.partial(parquet, "people"),
        "visits.parquet": functools.partial(parquet, "visits"),
        "clinics.csv": lambda path: write_csv(tables()["clinics"].columns, tables()["clinics"].types, path),
    }


def _sign(path: Path, stamp: str, files: list[Path]) -> None:
    from obverse.demo import hospital

    _write_text(path, manifest(hospital.NAME, hospital.VERSION, hospital.SEED, stamp, files))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_once(path: Path, write: Writer) -> bool:
    """Write beside, then give it its name; whole or not at all, and never over something. False: something is there."""
    if os.path.lexists(path):
        return False
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        write(temporary)
        return _take_name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _take_name(temporary: Path, path: Path) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            return False
        temporary.rename(path)
    return True
