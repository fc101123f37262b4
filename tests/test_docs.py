"""Pages that are made from the code are what the code makes."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from obverse.cli.main import cli

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_of_supported_sql_is_made_from_the_registries() -> None:
    """Renew it with: obverse sql --markdown > docs/sql.md"""
    made = CliRunner().invoke(cli, ["sql", "--markdown"])
    assert made.exit_code == 0
    assert (DOCS / "sql.md").read_text() == made.stdout
