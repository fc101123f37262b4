"""What was probably meant by a name that is not there: the nearest of those that everybody here may know."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot import expressions as exp

from obverse.catalog.shape import nearest
from obverse.plan.aggregates import AGGREGATES
from obverse.plan.functions import FUNCTIONS

LENGTH_MAX = 64  # of a name that is compared: longer ones cost time and are no slips
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def instead(name: str, names: Iterable[str]) -> str:
    """A question that offers the nearest name as SQL writes it, or nothing."""
    close = _close(name, names)
    return f"Did you mean {written(close)}?" if close else ""


def column_instead(node: exp.Column, names: Iterable[str]) -> str:
    """The same for a column; also for a name that needs quotes and for text that has none."""
    known, name = list(names), node.name
    begun = [one for one in known if not PLAIN.fullmatch(one) and re.match(rf"{re.escape(name)}[^A-Za-z0-9_]", one, re.I)]
    if len(name) <= LENGTH_MAX and begun:
        return f"A name with other signs than letters stands in double quotes: {written(begun[0])}."
    hint = instead(name, known)
    if not hint and _stands_for_text(node):
        return "Text stands in single quotes."
    return hint


def _stands_for_text(node: exp.Column) -> bool:
    """Whether it is compared with something that is no text itself: sex = Male."""
    around = node.parent
    if node.args.get("table") or not isinstance(around, exp.EQ | exp.NEQ | exp.In):
        return False
    return around.this is not node if isinstance(around, exp.In) else not isinstance(around.expression, exp.Literal)


def function_instead(name: str) -> str:
    spoken = " ".join([*(one.spoken for one in AGGREGATES), *(one.spoken or one.name for one in FUNCTIONS)])
    close = _close(name, re.findall(r"\b([A-Z_0-9]+)\(", spoken))
    return f"Did you mean {close}?" if close else ""


def _close(name: str, names: Iterable[str]) -> str | None:
    return nearest(name, names, cutoff=0.7) if len(name) <= LENGTH_MAX else None


def written(name: str) -> str:
    """The name as SQL writes it."""
    if PLAIN.fullmatch(name):
        return name
    return '"' + name.replace('"', '""') + '"'
