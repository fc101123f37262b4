"""An answer as a data frame, an HTML table or a chart; pandas, Polars, Arrow and Altair are extras, imported late."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from obverse.core.errors import Refused
from obverse.core.types import Type

if TYPE_CHECKING:
    from obverse.answers.answer import Answer, Bar, Price

ROWS_SHOWN = 200


class Plain(NamedTuple):
    """One column of a frame: a unique name, its type, its values with None for NULL."""

    name: str
    type: Type
    values: list[Any]


def to_arrow(answer: Answer) -> Any:
    """A pyarrow.Table; the claim and the price are in its schema's metadata under `obverse`."""
    arrow = extra("pyarrow", "arrow")
    types = {
        Type.INTEGER: arrow.int64(),
        Type.DOUBLE: arrow.float64(),
        Type.BOOLEAN: arrow.bool_(),
        Type.TEXT: arrow.string(),
        Type.DATE: arrow.date32(),
        Type.TIMESTAMP: arrow.timestamp("us"),
    }
    columns = plain_columns(answer)
    schema = arrow.schema([(c.name, types[c.type]) for c in columns], metadata={"obverse": json.dumps(about(answer))})
    return arrow.table([arrow.array(c.values, type=types[c.type]) for c in columns], schema=schema)


def to_pandas(answer: Answer) -> Any:
    """A pandas.DataFrame; the claim and the price are in its `attrs` under `obverse`."""
    pandas = extra("pandas", "pandas")
    whole = {Type.INTEGER: ("int64", "Int64"), Type.BOOLEAN: ("bool", "boolean"), Type.DOUBLE: ("float64", "float64")}
    series = {}
    for column in plain_columns(answer):
        if column.type.temporal:
            series[column.name] = pandas.Series(pandas.to_datetime(column.values))
        else:
            plain, nullable = whole.get(column.type, (None, None))
            series[column.name] = pandas.Series(column.values, dtype=nullable if None in column.values else plain)
    frame = pandas.DataFrame(series)
    frame.attrs["obverse"] = about(answer)
    return frame


def to_polars(answer: Answer) -> Any:
    """A polars.DataFrame. It has no place for the claim, which stays with the answer."""
    polars = extra("polars", "polars")
    types = {
        Type.INTEGER: polars.Int64, Type.DOUBLE: polars.Float64, Type.BOOLEAN: polars.Boolean, Type.TEXT: polars.String,
        Type.DATE: polars.Date, Type.TIMESTAMP: polars.Datetime("us"),
    }  # fmt: skip
    return polars.DataFrame([polars.Series(c.name, c.values, dtype=types[c.type]) for c in plain_columns(answer)])


def extra(module: str, name: str) -> Any:
    """The module, or a refusal that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Refused(
            "missing_extra",
            f"this needs {module}, which is not installed.",
            why="data frames and plots are extras, so that a plain install stays small.",
            fix=f"pip install 'obverse[{name}]'",
        ) from None


def plain_columns(answer: Answer) -> list[Plain]:
    """The answer's columns; after each with noise intervals, their ends. Names that stand twice are numbered."""
    found: list[Plain] = []
    for i, info in enumerate(answer.columns):
        found.append(Plain(info.name, info.type, [row[i] for row in answer.rows]))
        bars = [row[i] for row in answer.intervals]
        if any(bar is not None for bar in bars):
            found += [
                Plain(f"{info.name}_{end}", info.type, _ends(bars, side)) for side, end in enumerate(("low", "high"))
            ]
    names = _unique(c.name for c in found)
    return [c._replace(name=name) for c, name in zip(found, names)]


def _ends(bars: list[Bar], side: int) -> list[Any]:
    return [None if bar is None else bar[side] for bar in bars]


def _unique(names: Iterable[str]) -> list[str]:
    wanted = list(names)
    taken: set[str] = set()
    for i, name in enumerate(wanted):
        number = 1
        while wanted[i] in taken:
            number += 1
            wanted[i] = f"{name}_{number}"
        taken.add(wanted[i])
    return wanted


def about(answer: Answer) -> dict[str, Any]:
    """What travels beside the numbers."""
    return {"claim": answer.claim.as_json(), "price": answer.price._asdict(), "level": answer.level}


def price_words(price: Price) -> str:
    if price.stored:
        return "asked before, free this time"
    delta = "" if price.delta == "0" else f", delta {price.delta}"
    return "free" if price.epsilon == "0" else f"epsilon {price.epsilon}{delta}"


def html(answer: Answer) -> str:
    """A table with noise intervals, the price and the claim; every text escaped, no style beyond the notebook's own."""
    head = "".join(f"<th>{escape(c.name)}</th>" for c in answer.columns)
    body = "".join(
        "<tr>" + "".join(_cell(value, bar) for value, bar in zip(row, bars)) + "</tr>"
        for row, bars in list(zip(answer.rows, answer.intervals))[:ROWS_SHOWN]
    )
    more = len(answer.rows) - ROWS_SHOWN
    rest = f"<p>and {more:,} more rows</p>" if more > 0 else ""
    words = _beside(answer)
    return (
        f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"
        f"<p><small>{escape(words)}<br>{escape(answer.claim.sentence)}</small></p></div>"
    )


def text(answer: Answer) -> str:
    """The same as plain text, for print(answer): columns under their names, then interval and price in one line."""
    lines = [[column.name for column in answer.columns]]
    for row, bars in list(zip(answer.rows, answer.intervals))[:ROWS_SHOWN]:
        cells = (_words(value, bar) for value, bar in zip(row, bars))
        lines.append([f"{shown} [{ends}]" if ends else shown for shown, ends in cells])
    safe = [["".join(sign if sign.isprintable() else " " for sign in cell) for cell in line] for line in lines]
    sizes = [max(map(len, column)) for column in zip(*safe)]
    drawn = ["  ".join(cell.ljust(size) for cell, size in zip(line, sizes)).rstrip() for line in safe]
    more = len(answer.rows) - ROWS_SHOWN
    return "\n".join([*drawn, *([f"and {more:,} more rows"] if more > 0 else []), _beside(answer)])


def _beside(answer: Answer) -> str:
    """What is said of the numbers in one line."""
    noisy = any(bar for bars in answer.intervals for bar in bars)
    noise = f"{100 * answer.level:.6g} % noise interval in brackets; " if noisy else ""
    return f"{noise}price: {price_words(answer.price)}; left: {100 * answer.remaining.share:.1f} % of the budget"


def _cell(value: object, bar: Bar) -> str:
    shown, ends = _words(value, bar)
    return f"<td>{escape(shown)} <small>[{escape(ends)}]</small></td>" if ends else f"<td>{escape(shown)}</td>"


def _words(value: object, bar: Bar) -> tuple[str, str]:
    """A value, and the ends of its noise interval."""
    shown = "" if value is None else f"{value:,.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        shown = f"{value:,}"
    if bar is None:
        return shown, ""
    return shown, ", ".join(f"{end:,.6g}" if isinstance(end, float) else f"{end:,}" for end in bar)
