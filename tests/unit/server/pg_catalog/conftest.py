"""One shadow for all its tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from obverse.server.pg_catalog import catalog
from obverse.server.pg_catalog.catalog import Shadow
from obverse.server.pg_catalog.relations import Asking
from obverse.server.postgres.settings import fresh
from obverse.session.views import ColumnView, TableView


def column(name: str, kind: str, values: str = "") -> ColumnView:
    return ColumnView(name, kind, True, values, "")


VIEWS = (
    TableView(
        "visits", False, "one people.person_id", "20 rows per unit",
        (column("visit_id", "integer"), column("cost", "double", "0 to 10000"), column("at", "timestamp"),
        column("clinic", "text")),
    ),
    TableView("people", False, "one people.person_id", "one row per unit", (column("hiv", "boolean"),
    column("joined", "date"))),
    TableView('o"dd', True, "", "", (column("a'b", "text"),)),
)  # fmt: skip
WHO = Asking("ana", "hospital", fresh("ana", {}).now, (), 7)


@pytest.fixture(scope="session")
def shadow() -> Iterator[Shadow]:
    made = Shadow("hospital", VIEWS, ThreadPoolExecutor(1))
    with pytest.MonkeyPatch.context() as patience:
        # what is slow here is the machine; tests of what is too slow set their own
        patience.setattr(catalog, "LIMIT_S", 60.0)
        yield made
    made.close()


@pytest.fixture(scope="session")
def ask(shadow: Shadow) -> Callable[..., tuple[list[str], list[tuple[Any, ...]]]]:
    def asked(text: str, *values: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
        who = Asking(WHO.user, WHO.database, WHO.settings, values, WHO.number)
        fields, rows = asyncio.run(shadow.run(text, who))
        assert asyncio.run(shadow.describe(text, who)) == fields
        return [field.name for field in fields], rows

    return asked
