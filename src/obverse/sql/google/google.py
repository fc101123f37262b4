"""GoogleSQL's documented form: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...), and contribution bounds in aggregates.

Both are read here and blanked out of the text, which keeps its length, so that every span still points into what was
written. What they mean is in `gathered`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import expressions as exp

from obverse.core.errors import Refused, Span
from obverse.core.types import INT64_MAX
from obverse.sql.google.google_options import CLAUSE, STRATEGIES, options_of
from obverse.sql.google.google_tokens import Token, bad, number_of, span_of, tokens_of
from obverse.sql.screen import screen

PER_GROUP, PER_ROW = "contribution_bounds_per_group", "contribution_bounds_per_row"


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
                f"there is no named argument {name} here.", f"the arguments are {PER_GROUP} and {PER_ROW}.", span_of(token)
            )
        lo, hi, end = _pair(tokens, i + 3, token)
        call = tokens[around[-1] - 1] if around and around[-1] else None
        after = tokens[end].text if end < len(tokens) else ""
        if call is None or call.kind != "word" or tokens[i - 1].text != "," or after not in (",", ")"):
            raise bad(
                f"{name} stands among the arguments of an aggregate.", f"write SUM(x, {name} => (0, 100)).", span_of(token)
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
