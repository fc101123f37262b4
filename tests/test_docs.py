"""Pages that are made from the code are what the code makes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from obverse.cli.main import cli
from obverse.engines import ENGINES
from obverse.engines.compatibility import GAPS, page
from tests import architecture
from tests.reference import PAGES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
HREF = re.compile(r"\b(?:href|src)=(?:\"([^\"]*)\"|([^\s\">]+))")
PLACE = re.compile(r"\bid=(?:\"([^\"]+)\"|([^\s\">]+))")
WRITTEN = sorted((*ROOT.glob("*.md"), *DOCS.rglob("*.md")))


def test_the_page_of_supported_sql_is_made_from_the_registries() -> None:
    """Renew it with: obverse sql --markdown > docs/sql.md"""
    made = CliRunner().invoke(cli, ["sql", "--markdown"])
    assert made.exit_code == 0
    assert (DOCS / "sql.md").read_text() == made.stdout


def test_the_page_of_engines_is_made_from_the_table_of_what_differs() -> None:
    """Renew it with: python -m obverse.engines.compatibility > docs/engines.md"""
    assert (DOCS / "engines.md").read_text() == page()
    assert len({gap.name for gap in GAPS}) == len(GAPS)
    assert all(set(gap.engines) <= set(ENGINES) for gap in GAPS)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_what_the_code_makes(name: str) -> None:
    """Renew them all with: python -m tests.reference"""
    assert (DOCS / "reference" / name).read_text() == PAGES[name]()


def test_the_picture_of_the_house_is_drawn_from_its_layers() -> None:
    """Renew it with: python -m tests.architecture > docs/architecture.svg"""
    assert (DOCS / "architecture.svg").read_text() == architecture.picture()


@pytest.mark.parametrize("page", [DOCS / "architecture.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_files_that_a_page_of_the_code_names_are_there(page: Path) -> None:
    """Names in capitals stand for any; the worked example makes its own file."""
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    names = re.findall(r"`([a-z_]+/[\w/]*(?:\.py)?)`", prose)
    named = [one for one in names if not re.search("[A-Z]{3}|steps.py", one)]
    roots = (ROOT / "src" / "obverse", ROOT, ROOT / "src" / "obverse" / "publish")
    assert named
    assert not [one for one in named if not any((root / one).exists() for root in roots)]


def test_no_public_member_is_left_without_a_word() -> None:
    assert not re.findall(r"^\| `[^|]*(?:\\\|[^|]*)*` \|\s*\|$", PAGES["python.md"](), re.MULTILINE)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    links = [found[1] for found in LINK.finditer(re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL))]
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_every_page_is_in_the_sites_table_of_contents() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert listed == there


def test_the_site_is_built_and_read_without_a_network(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    build = [sys.executable, "-m", "zensical", "build"]
    built = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr
    assert "No issues found" in built.stdout + built.stderr
    fetched = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(?:https?:)?//[^\"'>\s]+")
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    assert not [
        found for page in pages for found in fetched.findall(page.read_text()) if 'rel="canonical"' not in found
    ]
    assert not list(dead_links(tmp_path / "site"))


def dead_links(site: Path) -> Iterator[tuple[str, str]]:
    """Links within the site to a file, or a place in one, that is not there."""
    texts = {file: file.read_text() for file in site.rglob("*.html") if file.name != "404.html"}
    places = {file: {one or two for one, two in PLACE.findall(text)} for file, text in texts.items()}
    for file, text in texts.items():
        for one, two in HREF.findall(text):
            path, _, place = unquote(one or two).partition("#")
            target = file if not path else (file.parent / path.split("?")[0]).resolve()
            if re.match(r"\w+:|//", path) or place.startswith("__"):
                continue
            if not target.exists() or (place and place not in places.get(target, {place})):
                yield file.name, one or two


def test_a_dead_link_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(
        '<a href="two.html#here"> <a href=two.html> <a href="https://e.org/x"> <a href="#up">'
    )
    (tmp_path / "two.html").write_text('<p id="here"> <a href="three.html">')
    assert sorted(dead_links(tmp_path)) == [("one.html", "#up"), ("two.html", "three.html")]
