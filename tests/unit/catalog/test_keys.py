from __future__ import annotations

import datetime as dt
import json
import tomllib
from typing import Any

import pytest

from obverse.catalog import keys
from obverse.catalog.keys import json_schema
from obverse.demo.project import PROJECT_TOML


def _as_editors_see_it(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_editors_see_it(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_editors_see_it(inner) for inner in value]
    return value.isoformat() if isinstance(value, (dt.date, dt.datetime)) else value


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(json_schema())
    return jsonschema.Draft202012Validator(json_schema())


def test_the_schema_is_plain_json_and_explains_every_key() -> None:
    schema = json.loads(json.dumps(json_schema()))
    assert set(schema["properties"]) == {key.name for key in keys.ROOT.keys}
    table = schema["properties"]["tables"]["additionalProperties"]
    assert all(entry["description"] for entry in table["properties"].values())


def test_the_schema_accepts_the_sample_and_the_corpus(validator, corpus: str) -> None:
    for text in (PROJECT_TOML, corpus, corpus.replace('["2010-01-01", "2030-12-31"]', "[2010-01-01, 2030-12-31]")):
        assert list(validator.iter_errors(_as_editors_see_it(tomllib.loads(text)))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bounds = [0, 120]", "bound = [0, 120]"),
        ("bounds = [0, 120]", "bounds = [0]"),
        ('name = "hospital"\n', ""),
        ("epsilon = 4.0", "epsilon = 400"),
        ("delta = 1e-6", "delta = 1"),
        ("rows = 20", "rows = 0"),
        ("limits = { rows = 20, groups = 5 }", 'limits = "automatic"'),
        ('values = "clinics.clinic"', 'values = "clinics"'),
        ('type = "boolean"', 'type = "bool"'),
        ("grid = 0.01", "grid = 0"),
        ("public = true", 'public = "true"'),
    ],
)
def test_the_schema_refuses_what_the_loader_refuses_by_shape(validator, edited, refusal, old: str, new: str) -> None:
    text = edited((old, new))
    assert refusal(text).code in {
        "unknown_key",
        "missing_key",
        "wrong_type",
        "bad_parameter",
        "bad_choice",
        "bad_values",
    }
    assert not validator.is_valid(_as_editors_see_it(tomllib.loads(text)))


def test_a_list_of_texts_is_a_list_of_texts(validator, corpus: str) -> None:
    text = corpus + '[analysts.ana]\npurposes = ["a", "a"]\n'
    assert not validator.is_valid(_as_editors_see_it(tomllib.loads(text)))
