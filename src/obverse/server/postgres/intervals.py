"""Noise intervals as columns: obverse_low(n) and obverse_high(n) in the SELECT list, or both after every value.

They are taken out of the text before it is asked, blanks in their place, and put beside the answer: the question that
is priced and charged is the same with or without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from obverse.answers.answer import Answer, ColumnInfo
from obverse.core.errors import Refused, Span
from obverse.server.postgres.messages import Field
from obverse.server.postgres.statements import Word
from obverse.server.postgres.types import OIDS

ENDS = {"obverse_low": 0, "obverse_high": 1}
CLAUSES = frozenset("FROM WHERE GROUP HAVING ORDER LIMIT OFFSET FETCH WINDOW UNION INTERSECT EXCEPT QUALIFY".split())
UNNAMED = "?column?"


@dataclass(frozen=True, slots=True)
class End:
    """A wanted end of an interval: which, of what column, as what, and before which column of the answer it stands."""

    side: int
    of: str
    name: str
    before: int
    span: Span


@dataclass(frozen=True, slots=True)
class Stripped:
    """A question without its ends of intervals."""

    text: str
    ends: tuple[End, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """A result's columns: each is a column of the answer, or an end (0, 1) of the interval of one."""

    fields: tuple[Field, ...]
    cells: tuple[tuple[int, int | None], ...]

    def rows(self, answer: Answer) -> list[tuple[Any, ...]]:
        both = zip(answer.rows, answer.intervals)
        return [tuple(_cell(row, bars, at, side) for at, side in self.cells) for row, bars in both]


def stripped(text: str, words: Sequence[Word]) -> Stripped:
    """Take the ends of intervals out of the outermost SELECT list."""
    ends: list[End] = []
    kept = 0
    holes = []
    items = _items(words)
    for n, item in enumerate(items):
        end = _end(item, kept)
        if end is None:
            kept += 1
            continue
        ends.append(end)
        begin = items[n - 1][-1].span.end if kept else item[0].span.start  # with the comma before it, or after it
        close = items[n + 1][0].span.start if not kept and n + 1 < len(items) else item[-1].span.end
        holes.append(Span(begin, close))
    for hole in holes:
        blank = "".join(sign if sign == "\n" else " " for sign in text[hole.start : hole.end])
        text = text[: hole.start] + blank + text[hole.end :]
    if ends and not kept:
        raise _unknown(ends[0])
    return Stripped(text, tuple(ends))


def _items(words: Sequence[Word]) -> list[list[Word]]:
    """The outputs of the outermost SELECT."""
    depth = 0
    found: list[list[Word]] = [[]]
    inside = False
    for word in words:
        depth += (word.text in "([{") - (word.text in ")]}")
        if not inside:
            inside = depth == 0 and word.upper == "SELECT"
            continue
        if depth == 0 and word.upper in CLAUSES:
            break
        if depth == 0 and word.text == ",":
            found.append([])
        elif found[-1] or len(found) > 1 or word.upper not in ("DISTINCT", "ALL"):
            found[-1].append(word)
    return [item for item in found if item] if all(found) else []


def _end(item: Sequence[Word], before: int) -> End | None:
    """obverse_low ( name ) [[AS] alias]"""
    if len(item) < 4 or item[0].name not in ENDS or item[1].text != "(" or not item[2].name or item[3].text != ")":
        return None
    rest = [word for word in item[4:] if word.upper != "AS"]
    if len(rest) > 1 or (rest and not rest[0].name):
        return None
    return End(ENDS[item[0].name], item[2].name, rest[0].name if rest else item[0].name, before, item[2].span)


def shape(columns: Sequence[ColumnInfo], ends: Sequence[End], every: bool, text: str) -> Shape:
    """The result's columns: those of the answer, with the ends that were asked for, or with both of every value."""
    fields: list[Field] = []
    cells: list[tuple[int, int | None]] = []
    for at in range(len(columns) + 1):
        for end in (end for end in ends if end.before == at):
            of = _column(columns, end, text)
            fields.append(Field(end.name, OIDS[columns[of].type]))
            cells.append((of, end.side))
        if at == len(columns):
            break
        column = columns[at]
        name = UNNAMED if column.name == "column" and '"column"' not in text else column.name
        fields.append(Field(name, OIDS[column.type]))
        cells.append((at, None))
        if every and column.role == "value":
            fields += [Field(f"{name}_{word}", OIDS[column.type]) for word in ("low", "high")]
            cells += [(at, 0), (at, 1)]
    return Shape(tuple(fields), tuple(cells))


def _column(columns: Sequence[ColumnInfo], end: End, text: str) -> int:
    found = [at for at, column in enumerate(columns) if column.name == end.of]
    if not found:
        raise _unknown(end).located(text)
    return found[0]


def _unknown(end: End) -> Refused:
    return Refused(
        "unknown_interval",
        f"{end.of[:63]!r} is no output of this SELECT.",
        why="obverse_low and obverse_high tell the noise interval of another output, by its name.",
        fix="write SELECT COUNT(*) AS n, obverse_low(n), obverse_high(n) FROM ...",
        span=end.span,
    )


def _cell(row: Sequence[Any], bars: Sequence[Any], at: int, side: int | None) -> Any:
    if side is None:
        return row[at]
    return None if bars[at] is None else bars[at][side]
