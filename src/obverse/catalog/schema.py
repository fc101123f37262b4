"""The JSON Schema of obverse.toml, printed from the table of keys, so that editors can complete and check."""

from __future__ import annotations

from typing import Any, assert_never

from obverse.catalog import keys as k
from obverse.catalog.parameters import EPSILON_MAX, EPSILON_MIN

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NUMBERS: dict[str, dict[str, Any]] = {
    "epsilon": {"type": "number", "minimum": float(EPSILON_MIN), "maximum": float(EPSILON_MAX)},
    "delta": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    "positive": {"type": "number", "exclusiveMinimum": 0},
}


def json_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, of a whole obverse.toml; TOML's dates count as strings, as editors have it."""
    return {"$schema": DIALECT, "title": "obverse.toml", **_schema(k.ROOT)}


def _schema(shape: k.Shape) -> dict[str, Any]:
    match shape:
        case k.Text(choices):
            return {"type": "string", "enum": list(choices)} if choices else {"type": "string", "minLength": 1}
        case k.Texts():
            text = {"type": "string", "minLength": 1}
            return {"anyOf": [text, {"type": "object", "additionalProperties": text, "minProperties": 1}]}
        case k.Flag():
            return {"type": "boolean"}
        case k.Whole(most):
            return {"type": "integer", "minimum": 1, "maximum": most}
        case k.Number(kind):
            return dict(NUMBERS[kind])
        case k.TextList():
            return {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
        case k.Day():
            return {"type": "string", "format": "date"}
        case k.Groups():
            group = {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True}
            return {"type": "array", "items": group}
        case k.Pair():
            return {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 2, "maxItems": 2}
        case k.Listing():
            item = {"type": ["string", "number", "boolean"]}
            listed = {"type": "array", "items": item, "minItems": 1, "uniqueItems": True}
            return {"anyOf": [listed, {"type": "string", "pattern": r"^[^.]+\..+$"}]}
        case k.WordOrSection(word, section):
            return {"anyOf": [{"const": word}, _schema(section)]}
        case k.Named(what, each):
            least = {"minProperties": 1} if what == "table" else {}
            return {"type": "object", "additionalProperties": _schema(each), **least}
        case k.Section(keys):
            return {
                "type": "object",
                "properties": {key.name: {"description": key.help, **_schema(key.shape)} for key in keys},
                "required": [key.name for key in keys if key.required],
                "additionalProperties": False,
            }
        case _:
            assert_never(shape)
