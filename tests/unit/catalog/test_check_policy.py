"""What the law asks of tables, as it is declared."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from obverse.catalog.check import within_policy
from obverse.catalog.identity import fingerprint
from obverse.catalog.load import loads
from obverse.core.errors import CatalogError, Refused

TOML = """
[project]
name = "p"
[budget]
epsilon = 1
[policy]
apart = {apart}
[tables.people]
source = "people.csv"
unit = "id"
basis = "{basis}"
retain_until = {until}
[tables.visits]
source = "visits.csv"
unit = "id -> people.id"
limits = {{ rows = 2 }}
[tables.labs]
source = "labs.csv"
unit = "visit -> visits.visit -> people.id"
limits = {{ rows = 2 }}
[tables.rooms]
source = "rooms.csv"
public = true
"""


def text(apart: str = "[]", basis: str = "consent", until: str = "2030-12-31") -> str:
    return TOML.format(apart=apart, basis=basis, until=until)


def test_basis_last_day_and_tables_apart_are_read() -> None:
    catalog = loads(text('[["people", "visits"], ["visits", "rooms"]]', until='"2030-12-31"'), Path("/"))
    assert catalog.tables["people"].basis == "consent"
    assert catalog.tables["people"].retain_until == dt.date(2030, 12, 31)
    assert catalog.apart == (("people", "visits"), ("visits", "rooms"))
    assert fingerprint(loads(text(), Path("/"))) == fingerprint(catalog)  # no answer depends on them


def test_a_day_and_what_is_apart_hold_for_whatever_is_read_on_the_way() -> None:
    catalog = loads(text('[["visits", "rooms"]]'), Path("/"))
    within_policy(["people", "rooms"], catalog, dt.date(2030, 12, 31))
    for tables, today, code in (
        (["people"], dt.date(2031, 1, 1), "retention_over"),
        (["visits", "rooms"], dt.date(2030, 1, 1), "tables_apart"),
        (["labs", "rooms"], dt.date(2030, 1, 1), "tables_apart"),
    ):
        with pytest.raises(Refused) as refused:
            within_policy(tables, catalog, today)
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"apart": '[["people", "vists"]]'}, "bad_policy"),
        ({"apart": '[["people", "people"]]'}, "bad_policy"),
        ({"apart": '[["labs", "visits"]]'}, "bad_policy"),  # labs are read by way of visits
        ({"apart": '[["people"]]'}, "wrong_type"),
        ({"apart": '"people"'}, "wrong_type"),
        ({"basis": "two\\nlines"}, "bad_policy"),
        ({"basis": "x" * 201}, "bad_policy"),
        ({"until": '"2030-13-01"'}, "wrong_type"),
        ({"until": "2030"}, "wrong_type"),
        ({"until": "2030-12-31T10:00:00"}, "wrong_type"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, str], code: str) -> None:
    with pytest.raises(CatalogError) as refused:
        loads(text(**given), Path("/"))
    assert refused.value.code == code
