"""OPTIONS(...) of WITH DIFFERENTIAL_PRIVACY: each option read strictly, by its own reader.

Words, numbers and signs of a question's text, and what GoogleSQL's options and named arguments are made of.

GoogleSQL's documented form: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...), and contribution bounds in aggregates.

Both are read here and blanked out of the text, which keeps its length, so that every span still points into what was
written. What they mean is in `gathered`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from sqlglot import expressions as exp

from obverse.catalog import parameters
from obverse.core.errors import Refused, Span
from obverse.core.numbers import exact
from obverse.core.types import INT64_MAX
from obverse.sql.parse import TOKEN, screen

NUMBER_MAX = 2**300


class Token(NamedTuple):
    """A word, number or sign of the text, blanks and comments left out; `depth` counts the parentheses around it."""

    kind: str
    text: str
    start: int
    end: int
    depth: int

    @property
    def word(self) -> str:
        return self.text.upper() if self.kind == "word" else ""


def tokens_of(text: str) -> Iterator[Token]:
    """Of a text that was screened."""
    place = depth = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        assert match is not None
        kind = str(match.lastgroup)
        end = match.end()
        if kind == "block":
            end = text.find("*/", place + 2) + 2
        elif kind not in ("blank", "comment"):
            depth -= kind == "close"
            yield Token(kind, match.group(), place, end, depth)
            depth += kind == "open"
        place = end


def number_of(tokens: list[Token]) -> Fraction | None:
    """A literal with or without its sign; None for anything else."""
    sign = -1 if tokens and tokens[0].text == "-" else 1
    rest = tokens[1:] if tokens and tokens[0].text in ("-", "+") else tokens
    if len(rest) != 1 or rest[0].kind != "number":
        return None
    try:
        found = sign * exact(rest[0].text)
    except Refused as refused:
        refused.span = span_of(rest[0])
        raise
    if abs(found) > NUMBER_MAX:
        raise bad("this number is too large.", "write a smaller one.", span_of(rest[0]))
    return found


def span_of(token: Token) -> Span:
    return Span(token.start, token.end)


def bad(message: str, fix: str, span: Span | None, why: str = "") -> Refused:
    return Refused("bad_parameter", message, why=why, fix=fix, span=span)


CLAUSE = "DIFFERENTIAL_PRIVACY"
STRATEGIES = ("LAPLACE_THRESHOLD", "PUBLIC_GROUPS")
WHOLE_MAX = 1 << 40


def options_of(tokens: list[Token], head: int) -> tuple[dict[str, object], int]:
    """The fields of the clause that begins at the head, and where it ends."""
    last = tokens[head + 2]
    span = Span(tokens[head + 1].start, last.end)
    if tokens[head + 3 : head + 4] == [] or tokens[head + 3].word != "OPTIONS":
        return {"span": span}, last.end
    opened = head + 4
    if opened >= len(tokens) or tokens[opened].text != "(":
        raise bad("OPTIONS takes a list in parentheses.", "write OPTIONS(epsilon = 0.1).", span_of(tokens[head + 3]))
    close = next((i for i in range(opened + 1, len(tokens)) if tokens[i].depth == tokens[opened].depth), None)
    if close is None or tokens[close].text != ")":
        raise bad("this list of options is not closed.", "close it with ).", span_of(tokens[opened]))
    fields: dict[str, object] = {}
    spans: dict[str, Span] = {}
    for part in _parts(tokens[opened + 1 : close], tokens[opened]):
        name = part[0].text.lower()
        if part[0].kind != "word" or name not in READERS:
            raise bad(
                f"{part[0].text} is no option of WITH {CLAUSE}.",
                f"the options are {', '.join(READERS)}.",
                span_of(part[0]),
            )
        if name in spans:
            raise bad(f"the option {name} stands twice.", "write it once.", span_of(part[0]))
        if len(part) < 3 or part[1].text != "=":
            raise bad(f"the option {name} has no value.", f"write {name} = value.", span_of(part[0]))
        spans[name] = Span(part[0].start, part[-1].end)
        try:
            fields[name] = READERS[name](part[2:], name)
        except Refused as refused:
            refused.span = refused.span or spans[name]
            raise
    _exclusive(fields, spans)
    return {**fields, "span": span, "spans": spans}, tokens[close].end


def _exclusive(fields: dict[str, object], spans: dict[str, Span]) -> None:
    """Options that do not go together."""
    if "max_groups_contributed" in fields and "max_rows_contributed" in fields:
        raise bad(
            "max_groups_contributed and max_rows_contributed do not go together.",
            "give one of them.",
            spans["max_rows_contributed"],
            "a unit is limited either by its groups or by its rows.",
        )
    if fields.get("group_selection_strategy") == STRATEGIES[1] and "min_privacy_units_per_group" in fields:
        raise bad(
            "min_privacy_units_per_group does not go with PUBLIC_GROUPS.",
            "leave one of them out.",
            spans["min_privacy_units_per_group"],
            "public groups are all told, however few units they have.",
        )


def _parts(tokens: list[Token], opened: Token) -> Iterator[list[Token]]:
    """What stands between commas; none is empty, unless all is."""
    part: list[Token] = []
    for token in tokens:
        if token.text == "," and token.depth == opened.depth + 1:
            if not part:
                raise bad("an option is missing here.", "write name = value.", span_of(token))
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part
    elif tokens:
        raise bad("an option is missing here.", "write name = value.", span_of(tokens[-1]))


def _given(tokens: list[Token], name: str) -> Fraction:
    number = number_of(tokens)
    if number is None:
        raise bad(f"{name} takes a literal number.", f"write {name} = 1.", None)
    return number


def _epsilon(tokens: list[Token], name: str) -> Fraction:
    return parameters.epsilon(_given(tokens, name))


def _delta(tokens: list[Token], name: str) -> Fraction:
    return parameters.delta(_given(tokens, name))


def _whole(tokens: list[Token], name: str) -> int:
    if [t.word for t in tokens] == ["NULL"]:
        why = "without a limit on what one unit contributes, nothing it does is hidden."
        raise bad(f"{name} cannot be NULL.", "give a number, or leave it out.", None, why)
    number = _given(tokens, name)
    if number.denominator != 1 or not 1 <= number <= WHOLE_MAX:
        raise bad(f"{name} takes a whole number from 1 on.", f"write {name} = 1.", None)
    return int(number)


def _strategy(tokens: list[Token], name: str) -> str:
    if len(tokens) != 1 or tokens[0].word not in STRATEGIES:
        raise bad(f"{name} is LAPLACE_THRESHOLD or PUBLIC_GROUPS.", f"write {name} = PUBLIC_GROUPS.", None)
    return tokens[0].word


def _column(tokens: list[Token], name: str) -> exp.Column:
    """A path: column, or table.column."""
    names = tokens[::2]
    spelled = all(t.kind in ("word", "quoted") for t in names) and all(t.text == "." for t in tokens[1::2])
    if len(tokens) not in (1, 3) or not spelled:
        raise bad(f"{name} takes a column.", f"write {name} = person_id, or table.person_id.", None)
    parts = []
    for token in names:
        quoted = token.kind == "quoted"
        text = token.text[1:-1].replace('""', '"') if quoted else token.text
        part = exp.Identifier(this=text, quoted=quoted)
        part.meta.update(start=token.start, end=token.end - 1)
        parts.append(part)
    return exp.Column(this=parts[-1], table=parts[0]) if len(parts) == 2 else exp.Column(this=parts[0])


READERS: dict[str, Callable[[list[Token], str], object]] = {
    "epsilon": _epsilon,
    "delta": _delta,
    "max_groups_contributed": _whole,
    "max_rows_contributed": _whole,
    "privacy_unit_column": _column,
    "group_selection_strategy": _strategy,
    "min_privacy_units_per_group": _whole,
}


PER_GROUP = "contribution_bounds_per_group"
PER_ROW = "contribution_bounds_per_row"


@dataclass(frozen=True, slots=True)
class Contribution:
    """Bounds of one aggregate: of a unit's own aggregate in a group, or of each row's value."""

    per_row: bool
    lo: int | float
    hi: int | float
    span: Span

    @property
    def name(self) -> str:
        return PER_ROW if self.per_row else PER_GROUP


@dataclass(frozen=True, slots=True)
class Clause:
    """What WITH DIFFERENTIAL_PRIVACY says; `bounds` are known by where their aggregate's name begins."""

    span: Span
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    max_groups_contributed: int | None = None
    max_rows_contributed: int | None = None
    privacy_unit_column: exp.Column | None = None
    group_selection_strategy: str = STRATEGIES[0]
    min_privacy_units_per_group: int = 1
    bounds: Mapping[int, Contribution] = field(default_factory=dict)
    spans: Mapping[str, Span] = field(default_factory=dict)  # of the options that are given

    @property
    def public(self) -> bool:
        return self.group_selection_strategy == STRATEGIES[1]


def read_clause(text: str) -> tuple[Clause | None, str]:
    """The clause, if there is one, and the text without it and its arguments, as long as before."""
    lower = text.lower()
    if CLAUSE.lower() not in lower and PER_GROUP not in lower and PER_ROW not in lower:
        return None, text
    screen(text)
    tokens = list(tokens_of(text))
    heads = [i for i in range(len(tokens) - 2) if [t.word for t in tokens[i : i + 3]] == ["SELECT", "WITH", CLAUSE]]
    bounds, spans = _bounds(tokens)
    if not heads:
        if not bounds:
            return None, text
        first = next(iter(bounds.values()))
        raise bad(f"{first.name} stands only in SELECT WITH {CLAUSE}.", "begin the question with it.", first.span)
    for i in heads:
        if tokens[i].depth or i != heads[0]:
            raise Refused(
                "unsupported_construct",
                f"WITH {CLAUSE} stands in a SELECT that is not the outermost one.",
                why="a question is priced and noised once, as a whole.",
                fix="write it after the outermost SELECT, and let subqueries give the rows.",
                span=Span(tokens[i + 1].start, tokens[i + 2].end),
            )
    clause, end = options_of(tokens, heads[0])
    spans.append(Span(tokens[heads[0] + 1].start, end))
    blanked = list(text)
    for span in spans:
        blanked[span.start : span.end] = [sign if sign == "\n" else " " for sign in text[span.start : span.end]]
    found = Clause(**{**clause, "bounds": bounds})  # type: ignore[arg-type]
    return found, "".join(blanked)


def _bounds(tokens: list[Token]) -> tuple[dict[int, Contribution], list[Span]]:
    """Contribution bounds by where their aggregate begins, and the stretches to leave out."""
    found: dict[int, Contribution] = {}
    spans: list[Span] = []
    around: list[int] = []
    for i, token in enumerate(tokens):
        if token.kind == "open":
            around.append(i)
        elif token.kind == "close" and around:
            around.pop()
        named = [t.text for t in tokens[i + 1 : i + 3]] == ["=", ">"] and tokens[i + 1].end == tokens[i + 2].start
        if token.kind != "word" or not named:
            continue
        name = token.text.lower()
        if name not in (PER_GROUP, PER_ROW):
            raise bad(
                f"there is no named argument {name} here.",
                f"the arguments are {PER_GROUP} and {PER_ROW}.",
                span_of(token),
            )
        lo, hi, end = _pair(tokens, i + 3, token)
        call = tokens[around[-1] - 1] if around and around[-1] else None
        after = tokens[end].text if end < len(tokens) else ""
        if call is None or call.kind != "word" or tokens[i - 1].text != "," or after not in (",", ")"):
            raise bad(
                f"{name} stands among the arguments of an aggregate.",
                f"write SUM(x, {name} => (0, 100)).",
                span_of(token),
            )
        if call.start in found:
            raise bad("an aggregate has one pair of bounds.", f"leave {name} out.", span_of(token))
        found[call.start] = Contribution(name == PER_ROW, lo, hi, Span(token.start, tokens[end - 1].end))
        spans.append(Span(tokens[i - 1].start, tokens[end - 1].end))
    return found, spans


def _pair(tokens: list[Token], i: int, name: Token) -> tuple[int | float, int | float, int]:
    """(lo, hi), and the place after it."""
    close = next((n for n in range(i, min(i + 8, len(tokens))) if tokens[n].text == ")"), None)
    inside = tokens[i + 1 : close] if close is not None and tokens[i].text == "(" else []
    comma = next((n for n, t in enumerate(inside) if t.text == ","), None)
    lo, hi = (None, None) if comma is None else (number_of(inside[:comma]), number_of(inside[comma + 1 :]))
    if lo is None or hi is None or close is None:
        raise bad(f"{name.text} takes two literal numbers.", f"write {name.text} => (0, 100).", span_of(name))
    if lo > hi:
        raise bad(f"the limits of {name.text} are the wrong way round.", "write (lo, hi), lo <= hi.", span_of(name))
    return _literal(lo), _literal(hi), close + 1


def _literal(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 and abs(number) <= INT64_MAX else float(number)
