"""Function calls of the text to proved functions: what each node means, and which of its parts are the arguments."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlglot import expressions as exp

from obverse.core.types import Type, Value
from obverse.plan.expressions import Expr, Literal, literal
from obverse.plan.functions.text import PLACE_MAX
from obverse.sql.parse import refuse

TO_CHAR = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "DDD": "%j", "HH24": "%H", "MI": "%M", "SS": "%S"}
TO_CHAR_PIECES = re.compile(r"YYYY|HH24|DDD|MM|DD|MI|SS|[^A-Za-z%\"]+")


class Reader(Protocol):
    """What reads a part of the text as an expression."""

    def __call__(self, node: exp.Expression) -> Expr: ...

    def make(self, name: str, *args: Expr) -> Expr: ...

    def now(self) -> dt.datetime: ...


@dataclass(frozen=True, slots=True)
class Spelling:
    """A node that is one function: the parts that are its arguments, and what the last of them are when left out."""

    function: str
    parts: tuple[str, ...] = ("this",)
    defaults: tuple[Value, ...] = ()

    def read(self, parts: Mapping[str, exp.Expression], reader: Reader) -> Expr | None:
        given = [parts.get(part) for part in self.parts]
        missing = given.count(None)
        if missing > len(self.defaults) or any(part is not None for part in given[len(given) - missing :]):
            return None
        rest = self.defaults[len(self.defaults) - missing :]
        return reader.make(self.function, *(reader(p) for p in given if p is not None), *map(literal, rest))


TWO = ("this", "expression")
SPELLINGS: dict[type[exp.Expression], Spelling] = {
    exp.Lower: Spelling("lower"), exp.Upper: Spelling("upper"), exp.Length: Spelling("length"),
    exp.Reverse: Spelling("reverse"), exp.Left: Spelling("left", TWO), exp.Right: Spelling("right", TWO),
    exp.Substring: Spelling("substring", ("this", "start", "length"), (PLACE_MAX,)),
    exp.Replace: Spelling("replace", ("this", "expression", "replacement")),
    exp.StartsWith: Spelling("starts_with", TWO), exp.EndsWith: Spelling("ends_with", TWO),
    exp.Contains: Spelling("contains", TWO), exp.StrPosition: Spelling("position", ("this", "substr")),
    exp.SplitPart: Spelling("split_part", ("this", "delimiter", "part_index")),
    exp.Trunc: Spelling("trunc"), exp.Sign: Spelling("sign"), exp.Pow: Spelling("power", TWO),
    exp.Sqrt: Spelling("sqrt"), exp.Cbrt: Spelling("cbrt"), exp.Exp: Spelling("exp"), exp.Ln: Spelling("ln"),
    exp.Sin: Spelling("sin"), exp.Cos: Spelling("cos"), exp.Tan: Spelling("tan"), exp.Asin: Spelling("asin"),
    exp.Acos: Spelling("acos"), exp.Atan: Spelling("atan"), exp.Degrees: Spelling("degrees"),
    exp.Radians: Spelling("radians"),
    exp.WidthBucket: Spelling("width_bucket", ("this", "min_value", "max_value", "num_buckets")),
    exp.DateFromParts: Spelling("make_date", ("year", "month", "day")), exp.LastDay: Spelling("last_day"),
    exp.Dayname: Spelling("dayname"), exp.Monthname: Spelling("monthname"),
    exp.TimeToStr: Spelling("strftime", ("this", "format")), exp.TimeToUnix: Spelling("epoch"),
    exp.UnixToTime: Spelling("from_epoch"), exp.Date: Spelling("to_date"), exp.Timestamp: Spelling("to_timestamp"),
}  # fmt: skip
NAMED: dict[str, Spelling] = {  # names that the parser has no node for
    "btrim": Spelling("trim", ("0", "1"), (" ",)), "prefix": Spelling("starts_with", ("0", "1")),
    "suffix": Spelling("ends_with", ("0", "1")), "clamp": Spelling("clamp", ("0", "1", "2")),
    "weekday": Spelling("dow", ("0",)), "isoyear": Spelling("isoyear", ("0",)), "decade": Spelling("decade", ("0",)),
    "century": Spelling("century", ("0",)), "millennium": Spelling("millennium", ("0",)),
}  # fmt: skip


def _trim(parts: Mapping[str, exp.Expression], reader: Reader) -> Expr | None:
    side = str(parts.get("position") or "BOTH").upper()
    return Spelling({"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim"), TWO, (" ",)).read(parts, reader)


def _pad(parts: Mapping[str, exp.Expression], reader: Reader) -> Expr | None:
    name = "lpad" if parts.get("is_left") else "rpad"
    return Spelling(name, ("this", "expression", "fill_pattern"), (" ",)).read(parts, reader)


def _as_text(node: exp.Expression, reader: Reader) -> Expr:
    made = reader(node)
    return made if made.facts.type is Type.TEXT else reader.make("to_text", made)


def _texts(name: str) -> Callable[[Mapping[str, exp.Expression], Reader], Expr]:
    def read(parts: Mapping[str, exp.Expression], reader: Reader) -> Expr:
        listed = parts.get("expressions")
        nodes = listed if isinstance(listed, list) else [parts["this"], parts["expression"]]
        return reader.make(name, *(_as_text(node, reader) for node in nodes))

    return read


def _log(parts: Mapping[str, exp.Expression], reader: Reader) -> Expr:
    if parts.get("expression") is None:
        return reader.make("log10", reader(parts["this"]))
    base = reader(parts["this"])
    x = reader(parts["expression"])
    for known, name in ((2, "log2"), (10, "log10")):
        if isinstance(base, Literal) and base.value == known:
            return reader.make(name, x)
    return reader.make("divide", reader.make("ln", x), reader.make("ln", base))


def _to_char(parts: Mapping[str, exp.Expression], reader: Reader) -> Expr | None:
    pattern = reader(parts["format"])
    text = pattern.value if isinstance(pattern, Literal) and isinstance(pattern.value, str) else ""
    pieces = TO_CHAR_PIECES.findall(text)
    if not text or "".join(pieces) != text:
        return None
    return reader.make("strftime", reader(parts["this"]), literal("".join(TO_CHAR.get(p, p) for p in pieces)))


def _nvl2(parts: Mapping[str, exp.Expression], reader: Reader) -> Expr:
    missing = reader.make("is_null", reader(parts["this"]))
    return reader.make("case", reader.make("not", missing), reader(parts["true"]), reader(parts["false"]))


Read = Callable[[Mapping[str, exp.Expression], Reader], Expr | None]
SPECIAL: dict[type[exp.Expression], tuple[Read, tuple[str, ...]]] = {
    exp.Trim: (_trim, ("this", "expression", "position")),
    exp.Pad: (_pad, ("this", "expression", "fill_pattern", "is_left")),
    exp.Concat: (_texts("concat"), ("expressions", "safe", "coalesce")),
    exp.ConcatWs: (_texts("concat_ws"), ("expressions", "safe", "coalesce")),
    exp.DPipe: (_texts("join_texts"), ("this", "expression", "safe")),
    exp.Log: (_log, TWO),
    exp.ToChar: (_to_char, ("this", "format")),
    exp.Nvl2: (_nvl2, ("this", "true", "false")),
    exp.Pi: (lambda parts, reader: literal(math.pi), ()),
    exp.Localtimestamp: (lambda parts, reader: literal(reader.now()), ()),
}
READ_WHOLE = frozenset((*SPELLINGS, *SPECIAL))


def read_function(node: exp.Expression, reader: Reader) -> Expr:
    """The node as a proved function; a part of it that is not an argument is refused."""
    parts = {name: part for name, part in node.args.items() if part}
    spelling = SPELLINGS.get(type(node))
    read, known = (spelling.read, spelling.parts) if spelling is not None else SPECIAL[type(node)]
    made = read(parts, reader) if parts.keys() <= set(known) else None
    if made is None:
        raise refuse(
            "function", node, f"{type(node).sql_name() if isinstance(node, exp.Func) else node.key}() of this form"
        )
    return made


def read_named(name: str, arguments: list[exp.Expression], reader: Reader) -> Expr | None:
    """A function that the parser knows by its name only; None when it is not ours."""
    spelling = NAMED.get(name)
    if spelling is None or len(arguments) > len(spelling.parts):
        return None
    return spelling.read({str(i): argument for i, argument in enumerate(arguments)}, reader)
