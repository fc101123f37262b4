"""Answers as CSV text. Numbers are written exactly; text may be made safe for spreadsheets, which run what begins
with `=`.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Callable

from obverse.answers.answer import Answer
from obverse.answers.frames import plain_columns
from obverse.core.types import Value

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(answer: Answer) -> str:
    """Each column that carries noise is followed by the two ends of its interval."""
    return _table(answer, lambda text: text)


def spreadsheet_text(answer: Answer) -> str:
    """The same, with an apostrophe before each text that a spreadsheet would take for a formula; numbers stay as
    they are.
    """
    return _table(answer, lambda text: f"'{text}" if text.startswith(FORMULAS) else text)


def _table(answer: Answer, written: Callable[[str], str]) -> str:
    columns = plain_columns(answer)
    text = io.StringIO()
    out = csv.writer(text)
    out.writerow([written(column.name) for column in columns])
    for row in zip(*(column.values for column in columns)):
        out.writerow([written(value) if isinstance(value, str) else _plain(value) for value in row])
    return text.getvalue()


def _plain(value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value)
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case _:
            return str(value)
