"""Projects that earlier versions made and asked: opened by this one, every stored answer is given again, and free.

identities.json pins the former and the canonical identity of every debit in `worlds`: a change there is a second
charge.
"""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import obverse
from obverse.cli.main import cli
from obverse.ledger import transitions
from obverse.publish.folder.check import check
from obverse.session import session as session_module
from obverse.session.session import real_path
from tests.servers import postgres_address
from tests.upgrade.worlds import WORLDS, published, restored

GOLDEN = Path(__file__).parent / "identities.json"
VERSIONS = sorted(folder.name for folder in Path(__file__).parent.glob("v*"))


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_an_earlier_version_answered_is_free(
    version: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = unpacked(version, name, tmp_path, monkeypatch)
    answers = json.loads((world / "answers.json").read_text(encoding="utf-8"))["answers"]
    spent = run("budget")
    identities = requested(monkeypatch)
    for n, (args, answer) in enumerate(zip(WORLDS[name].commands, answers, strict=True)):
        out = ["--out", str(tmp_path / f"again{n}")] if published(args) else []
        again = run(*args, *out)
        if published(args):
            assert held(tmp_path / f"again{n}")
            assert held(world / f"release{n}")
        else:
            for one, old in zip(several(again), several(answer), strict=True):
                assert one["price"]["stored"], args
                assert (one["columns"], one["rows"], one["intervals"]) == (
                    old["columns"],
                    old["rows"],
                    old["intervals"],
                )
                assert one["claim"]["receipt"] == old["claim"]["receipt"]
        assert run("budget") == spent, args
    run("ledger", "verify")
    assert identities == json.loads(GOLDEN.read_text(encoding="utf-8"))[name], "a stored answer would not be recognised"


@pytest.mark.parametrize("version", VERSIONS)
def test_an_earlier_version_can_read_what_this_one_stores(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = unpacked(version, "pure", tmp_path, monkeypatch)
    (earlier, *_) = json.loads((world / "answers.json").read_text(encoding="utf-8"))["answers"]
    with obverse.open(world / "project") as session:
        stored = json.loads(session.ask("SELECT SUM(age) AS s FROM people WHERE joined > DATE '2022-02-02'").to_bytes())
    assert stored.keys() == earlier.keys() - {"remaining"} | {"plan"}
    assert stored["claim"].keys() == earlier["claim"].keys()  # it takes no other ones
    assert stored["price"].keys() == earlier["price"].keys()


def unpacked(version: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The world as it was; its sources count as lying where they lay, since identities name their place."""
    with tarfile.open(Path(__file__).parent / version / f"{name}.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    world = tmp_path / name
    lay = json.loads((world / "answers.json").read_text(encoding="utf-8"))["at"]
    here = os.path.realpath(world / "project")
    monkeypatch.setattr(session_module, "real_path", lambda table: real_path(table).replace(here, lay))
    monkeypatch.setenv("OBVERSE_HOME", str(world / "home"))
    monkeypatch.chdir(world / "project")
    if (world / "ledger.json").exists():
        monkeypatch.setenv("OBVERSE_UPGRADE_LEDGER", address := postgres_address())
        restored(address, json.loads((world / "ledger.json").read_text(encoding="utf-8")))
    return world


def held(release: Path) -> bool:
    """Whether every check of a release folder holds."""
    return all(one.holds for one in check(release))


def requested(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The identities, without the data's version, under which debits are looked up from now on."""
    found: list[list[str]] = []
    reserve = transitions.reserve

    def noted(book: Any, request: Any) -> Any:
        found.append([*request.questions])
        return reserve(book, request)

    monkeypatch.setattr(transitions, "reserve", noted)
    return found


def run(*args: str) -> Any:
    found = CliRunner().invoke(cli, [*args, "--json"])
    assert found.exit_code == 0, (args, found.output)
    return json.loads(found.stdout)


def several(answer: Any) -> list[Any]:
    found = answer.get("answers", answer) if isinstance(answer, dict) else answer
    return found if isinstance(found, list) else [found]
