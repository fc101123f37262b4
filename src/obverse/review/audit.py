"""What is to be audited, from files: index sets with their sums, or SQL over a table whose other columns are public."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from obverse.attack.auditing.sums import SECRETS_MAX, Sum
from obverse.catalog.load import loads
from obverse.core.errors import Refused
from obverse.review.tables import Reading
from obverse.session.project import engine_of
from obverse.sql.subsets import subset

BYTES_MAX = 100_000_000
NUMBER = re.compile(r"-?\d{1,40}((\.\d{1,40})?([eE][-+]?\d{1,2})?|/[1-9]\d{0,40})")
DIGITS = len(str(SECRETS_MAX))
TIMEOUT_S = 60.0
OWN_FILES = Reading("attack audit")
TABLE_TOML = """
[project]
name = "audit"
[tables.people]
source = {source}
public = true
"""


@dataclass(frozen=True, slots=True)
class Questions:
    """Sums, what each is called, and the names of the secrets."""

    sums: tuple[Sum, ...]
    asked: tuple[str, ...]
    secrets: tuple[str, ...]


def read_sets(path: Path) -> Questions:
    """From JSON, {"secrets": names or a number, "questions": [{"set": [...], "sum": 3}, ...]}; or CSV with columns set
    and sum.

    In a set stand numbers from zero, or names; in CSV with blanks between them.
    """
    text = _text(path)
    listed: Any
    if path.suffix.lower() == ".csv":
        table = csv.DictReader(io.StringIO(text))
        if "set" not in (table.fieldnames or ()):
            raise bad_file("it does not begin with the names of its columns, set and sum")
        listed = list(table)
        secrets = None
        if any(row["set"] is None or None in row for row in listed):  # else it would seem that nothing was asked
            raise bad_file("a line has no field under the heading set, or more fields than headings")
        rows = [(row["set"].split(), row.get("sum")) for row in listed]
    else:
        found = _json(text)
        listed, secrets = (found.get("questions"), found.get("secrets")) if isinstance(found, dict) else (found, None)
        if not _all_have(listed, "set", list):
            raise bad_file('it is not {"questions": [{"set": [...], "sum": 3}, ...]}')
        rows = [([str(place) for place in row["set"]], row.get("sum")) for row in listed]
    if any(len(set(places)) < len(places) for places, _ in rows):
        raise bad_file("a set names a secret twice")
    names = _names(secrets, [place for places, _ in rows for place in places])
    known = {name: number for number, name in enumerate(names)}
    try:
        sums = tuple(Sum(frozenset(known[place] for place in places), _number(answer)) for places, answer in rows)
    except KeyError as missing:
        raise bad_file(f"{missing} is not among its secrets") from None
    return Questions(sums, tuple(_called(places) for places, _ in rows), names)


def read_questions(path: Path, table: Path, secret: str, name: str | None, door: Reading = OWN_FILES) -> Questions:
    """From SQL over a table file, as `[{"sql": ..., "sum": 3}, ...]` in JSON, or as plain SQL with ; after each and no
    answers.

    Only public columns are read: a condition on the secret is refused, and the secret column may be missing.
    """
    text = _text(path)
    if path.suffix.lower() == ".json":
        found = _json(text)
        listed: Any = found.get("questions") if isinstance(found, dict) else found
        if not _all_have(listed, "sql", str):
            raise bad_file('it is not [{"sql": "SELECT SUM(...) ...", "sum": 3}, ...]')
        asked = [(row["sql"], row.get("sum")) for row in listed]
    else:
        asked = [(one.strip(), None) for one in text.split(";") if one.strip()]
    texts = [sql for sql, _ in asked] + ([name] if name is not None else [])
    columns = [column for column in door.named_in(table, texts) if column.lower() != secret.lower()]
    with door.file(table, columns) as rows:
        return questions_of(asked, rows, secret, name)


def questions_of(asked: Sequence[tuple[str, Any]], table: Path, secret: str, name: str | None = None) -> Questions:
    """The rows that each question adds up, by DuckDB over the public columns; `sum` of a grouped one is a list, by
    key.
    """
    catalog = loads(TABLE_TOML.format(source=json.dumps(str(table.absolute()))), table.parent)
    sums: list[Sum] = []
    said: list[str] = []
    with closing(engine_of(catalog)) as engine:
        relation = '(SELECT *, row_number() OVER () - 1 AS "#row" FROM people)'
        shown = _quoted("#row" if name is None else name)
        rows = engine.run_public(f'SELECT {shown} FROM {relation} ORDER BY "#row"', timeout_s=TIMEOUT_S).rows
        names = _few_names(tuple(str(row[0]) for row in rows))
        for text, answer in asked:
            one = subset(text, secret)
            keys = "".join(f", {key}" for key in one.keys)
            order = ", ".join(str(2 + place) for place in range(len(one.keys))) or "1"
            sql = f'SELECT "#row"{keys} FROM {relation} AS {_quoted(one.table)} WHERE {one.condition} ORDER BY {order}'
            groups: dict[tuple[Any, ...], list[int]] = {} if one.keys else {(): []}
            for row in engine.run_public(sql, timeout_s=TIMEOUT_S).rows:
                groups.setdefault(row[1:], []).append(int(str(row[0])))
            answers = answer if one.keys and isinstance(answer, list) else [answer] * len(groups)
            if len(answers) != len(groups) or (one.keys and answer is not None and answer is not answers):
                raise bad_file("a grouped question needs a list of sums, one for each of its groups")
            for (key, places), given in zip(groups.items(), answers):
                sums.append(Sum(frozenset(places), _number(given)))
                said.append(text if not one.keys else f"{text} [{', '.join(map(str, key))}]")
    return Questions(tuple(sums), tuple(said), names)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def bad_file(why: str) -> Refused:
    return Refused("bad_sums", f"the file of questions cannot be read: {why}.", fix="See docs/audit.md for its form.")


def _names(secrets: Any, used: list[str]) -> tuple[str, ...]:
    if isinstance(secrets, list):
        if len(set(map(str, secrets))) < len(secrets):
            raise bad_file("two secrets have one name")
        return _few_names(tuple(map(str, secrets)))
    if isinstance(secrets, int) and not isinstance(secrets, bool):
        return tuple(map(str, range(_few(secrets))))
    if all(place.isdecimal() and len(place) <= DIGITS for place in used):
        return tuple(map(str, range(_few(1 + max(map(int, used), default=0)))))
    return _few_names(tuple(dict.fromkeys(used)))


def _few_names(names: tuple[str, ...]) -> tuple[str, ...]:
    _few(len(names))
    return names


def _few(secrets: int) -> int:
    if not 1 <= secrets <= SECRETS_MAX:
        raise bad_file(f"there are between 1 and {SECRETS_MAX:,} secrets")
    return secrets


def _all_have(listed: Any, field: str, kind: type) -> bool:
    return isinstance(listed, list) and all(
        isinstance(row, dict) and isinstance(row.get(field), kind) for row in listed
    )


def _called(places: list[str]) -> str:
    shown = ", ".join(places[:8])
    return f"{{{shown}{', ...' if len(places) > 8 else ''}}}"


def _number(answer: Any) -> int | Fraction | None:
    if answer is None or answer == "":
        return None
    if not NUMBER.fullmatch(str(answer)):
        raise bad_file("a sum is no number")
    found = Fraction(str(answer))
    return int(found) if found.denominator == 1 else found


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(BYTES_MAX + 1)
        if len(found) > BYTES_MAX:  # what is cut off would seem never to have been asked
            raise bad_file(f"{path.name} is larger than {BYTES_MAX:,} bytes")
        return found.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise bad_file(f"{path.name} is not there, or is not UTF-8 text") from None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise bad_file("it is not JSON") from None
