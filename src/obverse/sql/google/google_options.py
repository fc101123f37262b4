"""OPTIONS(...) of WITH DIFFERENTIAL_PRIVACY: each option read strictly, by its own reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from sqlglot import expressions as exp

from obverse.catalog import parameters
from obverse.core.errors import Refused, Span
from obverse.sql.google.google_tokens import Token, bad, number_of, span_of

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
                f"{part[0].text} is no option of WITH {CLAUSE}.", f"the options are {', '.join(READERS)}.", span_of(part[0])
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
