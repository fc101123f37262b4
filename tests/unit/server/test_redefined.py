"""A service whose sources are redefined: nothing is charged under an earlier plan, and the next request loads anew."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from obverse.core.errors import CatalogError
from obverse.server.project import Host
from obverse.server.queries import _taken
from tests.unit.session.test_views_as_sources import MOVED, PostgresPlace

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")


def test_a_changed_definition_is_found_before_the_debit_and_loaded_with_the_next_request(tmp_path: Path) -> None:
    place = PostgresPlace(tmp_path)
    place.run("CREATE TABLE c AS SELECT id, CAST(x AS INTEGER) AS y, s FROM t")
    host = Host(place.project("c"))
    try:
        loaded = host.clerk().project
        cage = host.cage
        cage.give_back(_taken(cage, host))
        place.run("ALTER TABLE c ADD COLUMN more INTEGER")
        with pytest.raises(CatalogError) as error:
            _taken(cage, host)
        assert error.value.code == "source_changed"
        assert host.clerk().project is not loaded
        assert host.cage is not cage
        host.cage.give_back(_taken(host.cage, host))
        place.run("ALTER TABLE c RENAME TO d", f"CREATE VIEW c AS {MOVED}")
        with pytest.raises(CatalogError):
            _taken(host.cage, host)
        with pytest.raises(Exception, match="cannot be asked at the moment"):
            host.clerk()
    finally:
        host.close()
