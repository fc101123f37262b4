"""Versions of obverse.toml: an earlier file keeps its defaults until the curator upgrades it."""

from __future__ import annotations

import tomllib

import pytest

from obverse.catalog.load import loads
from obverse.catalog.upgrade import kept_defaults, summary, upgraded
from obverse.core.errors import CatalogError, Refused

TEXT = """\
[project]
name = "clinic"  # ours
[tables.people.columns]
sex = { type = "text", values = ["F", "}"] }  # } said
age = { type = "integer", bounds = [0, 90] }
place = { type = "text", values = "places.place", nullable = true }
done = { type = "text", values = ["a"], nullable = true, other = false }
[tables.people.columns.race]
type = "text"
values = ["A"]
[tables.places]
public = true
[tables.places.columns]
kind = { type = "text", values = ["x"] }
level = { type = "integer", values = [1, 2], nullable = false }
[tables.people.columns.stars]
type = "integer"
values = [1, 2, 3]
"""


def test_what_relies_on_an_old_default_is_listed_once() -> None:
    (texts, of_texts), (others, of_others) = summary(kept_defaults(TEXT))
    assert texts == "people.sex, people.place, people.race"
    assert of_texts.startswith("rows whose value is missing or not declared are left out")
    assert of_texts.endswith("from version 2 on they are answered as NULL and as (other)")
    assert others == "people.stars, places.kind"
    assert of_others.endswith("from version 2 on they are answered as NULL")


def test_an_upgrade_writes_the_version_alone() -> None:
    text = upgraded(TEXT, keep=False)
    assert text == TEXT.replace("# ours\n", "# ours\nversion = 2\n")
    assert {**tomllib.loads(text)["project"]} == {"name": "clinic", "version": 2}
    assert tomllib.loads(text)["tables"] == tomllib.loads(TEXT)["tables"]
    assert kept_defaults(text) == ()


def test_old_defaults_can_be_written_out_and_stay_in_force() -> None:
    text = upgraded(TEXT, keep=True)
    columns = tomllib.loads(text)["tables"]["people"]["columns"]
    for name in ("sex", "race"):
        assert (columns[name]["nullable"], columns[name]["other"]) == (False, False)
    assert columns["stars"] == {"type": "integer", "values": [1, 2, 3], "nullable": False}
    assert (columns["place"]["nullable"], columns["place"]["other"]) == (True, False)
    assert "# } said" in text
    assert "# ours" in text
    assert columns["age"] == {"type": "integer", "bounds": [0, 90]}


def test_what_cannot_be_edited_safely_is_left_to_the_curator() -> None:
    text = '[project]\nname = "x"\n[tables.t]\ncolumns.sex.type = "text"\ncolumns.sex.values = ["F"]\n'
    with pytest.raises(Refused) as refused:
        upgraded(text, keep=True)
    assert refused.value.code == "cannot_edit"
    assert "nullable = false, other = false" in refused.value.fix


@pytest.mark.parametrize("version", ["0", "3", "true", '"2"'])
def test_a_version_that_is_not_known_is_refused_with_one_that_is(version: str) -> None:
    with pytest.raises(CatalogError, match="version must be a whole number from 1 to 2") as error:
        loads(TEXT.replace("# ours\n", f"# ours\nversion = {version}\n"), "/")
    assert error.value.fix == "Write a whole number such as 2."
