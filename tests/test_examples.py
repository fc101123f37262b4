"""Every example of the pages prints what its page shows; what no test can perform is listed here, with the reason."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from obverse.cli.main import cli
from tests.examples import FENCE, blind, commands, matched, performed, unperformed

ROOT = Path(__file__).parent.parent
# from the code, or a record of its time
MADE = ("docs/reference/", "docs/decisions/", "docs/sql.md", "docs/engines.md")
WRITTEN = ("README.md", *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")))
PAGES = [page for page in WRITTEN if not page.startswith(MADE)]
UNPERFORMED = {
    "README.md": ["they set up the environment in which examples are performed"],
    "docs/anonymize.md": ["UCI Adult is not part of the project"],
    "docs/attack.md": ["UCI Adult is not part of the project, and all ways together take a minute"],
    "docs/attack-interfaces.md": [
        "no warehouse of somebody else is at hand",
        "four hundred replies at a tick take a minute; the tests of the service play it",
    ],
    "docs/collect-device.md": [
        "it needs a browser's storage and a person to confirm; the tests of the page run the module in Chromium"
    ],
    "docs/page.md": [
        "another test runs the lessons again, and compares",
        "another test builds them again where web/node_modules is at hand, and compares",
    ],
    "docs/serve.md": ["no systemd runs in the tests", "the tests start no containers"],
}


@pytest.mark.parametrize("page", [page for page in PAGES if FENCE.search((ROOT / page).read_text())])
def test_a_page_shows_what_its_commands_print(page: str) -> None:
    """Renew it with: python -m tests.examples PAGE"""
    shown = (ROOT / page).read_text()
    assert performed(shown) == shown


def test_what_is_not_performed_is_listed_with_its_reason() -> None:
    found = {page: unperformed((ROOT / page).read_text()) for page in PAGES}
    assert {page: reasons for page, reasons in found.items() if reasons} == UNPERFORMED


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page: str) -> None:
    """A block without a language would be neither performed nor listed."""
    lines = [line for line in (ROOT / page).read_text().splitlines() if line.lstrip().startswith("```")]
    assert all(line != "```" for line in lines[::2])
    assert len(FENCE.findall((ROOT / page).read_text())) == len(lines) / 2


@pytest.mark.parametrize("page", PAGES)
def test_settings_that_a_page_shows_are_known(page: str) -> None:
    schema = json.loads(CliRunner().invoke(cli, ["schema"]).output)
    blocks = FENCE.findall((ROOT / page).read_text())
    shown = [body for _, _, kind, info, body in blocks if kind == "toml" and "broken" not in info]
    assert not [key for body in shown for key in unknown(tomllib.loads(body), schema, "")]
    assert list(unknown({"tables": {"t": {"sauce": "t.csv"}}}, schema, "")) == ["tables.t.sauce"]


def unknown(found: dict[str, Any], schema: dict[str, Any], before: str) -> Iterator[str]:
    known = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for name, value in found.items():
        inner = known.get(name, others if isinstance(others, dict) else None)
        if inner is None and known:
            yield f"{before}{name}"
        elif isinstance(value, dict) and inner is not None:
            yield from unknown(value, inner, f"{before}{name}.")


def test_a_command_goes_on_while_a_quote_is_open() -> None:
    one, two = commands('$ obverse ask "SELECT 1\n  FROM t"\nout\n$ ls\n')
    assert (one.text, one.shown) == ('obverse ask "SELECT 1\n  FROM t"', "out\n")
    assert (two.text, two.shown) == ("ls", "")


@pytest.mark.parametrize(
    ("shown", "real", "found"),
    [
        ("a\n...\nd\n", "a\nb\nc\nd\n", "a\n...\nd\n"),
        ("a\n...\n", "a\nb\n", "a\n...\n"),
        ("a\n...\nd\n...\n", "a\nb\nc\nd\ne\n", "a\n...\nd\n...\n"),
        ("a\n...\nd\n...\n", "a\nd\nb\nc\n", "a\n...\nd\n...\n"),
        ("a\n...\nc\n...\nb\n", "a\nb\nc\n", "a\nb\nc\n"),
        ("a\n...\nd\n", "a\nb\n", "a\nb\n"),
        ("x\n...\nd\n", "a\nb\nd\n", "a\nb\nd\n"),
        ("a\n", "b  \n\n", "b\n"),
        ("a … c\n", "a b c\n", "a … c\n"),
        ("a … c\n", "a b\nc\n", "a b\nc\n"),
    ],
)
def test_dots_stand_for_what_is_left_out(shown: str, real: str, found: str) -> None:
    assert matched(shown, real) == found


def test_numbers_that_differ_are_all_that_may_differ() -> None:
    shown = "n\n-----\n10,143 ± 30\nid 7e46192bd3 by -0.5, 1e-06\n"
    assert blind(shown) == blind("n\n---\n9 ± 30\nid 303553578e05 by 12.5, 1e-08\n")
    assert blind(shown) != blind("m\n-----\n10,143 ± 30\nid 7e46192bd3 by -0.5, 1e-06\n")


def test_a_page_that_shows_something_else_is_noticed() -> None:
    page = "```console\n$ obverse --version\nobverse 99\n```"
    assert performed(page) != page
    assert re.search(r"obverse \d", performed(page))


def test_a_block_that_is_marked_is_left_alone() -> None:
    page = "<!-- not performed: why not -->\n\n```console\n$ no-such-program\n```"
    assert performed(page) == page
    assert unperformed(page) == ["why not"]
    assert unperformed("```shell\nls\n```") == [""]
