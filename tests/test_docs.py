"""Pages that are made from the code are what the code makes."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from obverse.cli.main import cli
from obverse.engines import ENGINES
from obverse.engines.gaps import GAPS, page

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_of_supported_sql_is_made_from_the_registries() -> None:
    """Renew it with: obverse sql --markdown > docs/sql.md"""
    made = CliRunner().invoke(cli, ["sql", "--markdown"])
    assert made.exit_code == 0
    assert (DOCS / "sql.md").read_text() == made.stdout


def test_the_page_of_engines_is_made_from_the_table_of_what_differs() -> None:
    """Renew it with: python -m obverse.engines.gaps > docs/engines.md"""
    assert (DOCS / "engines.md").read_text() == page()
    assert len({gap.name for gap in GAPS}) == len(GAPS)
    assert all(set(gap.engines) <= set(ENGINES) for gap in GAPS)
