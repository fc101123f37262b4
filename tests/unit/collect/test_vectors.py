"""Golden vectors: what the Python of today makes is what was committed, and JavaScript makes the same."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.collect.protocols import PROTOCOLS
from obverse.collect.spec import read_spec
from obverse.core.errors import Refused
from tests.make_vectors import PATH, text
from tests.servers import missing

ROOT = Path(__file__).parents[3]
CHECK = ROOT / "tests" / "js" / "check.mjs"
MODULE = Path(obverse.__file__).parent / "collect" / "js" / "obverse-local.js"
VECTORS = json.loads(PATH.read_text(encoding="ascii"))
NODE_MIN = 18
TIMEOUT_S = 120
NOT_IN_PAGES = {"one_bit_mean", "piecewise_mean", "hybrid_mean", "projective_sketch", "prefixes", "fragments"}


def checked(module: Path, vectors: Path) -> subprocess.CompletedProcess[str]:
    node = shutil.which("node")
    if node is None:
        missing("Node.js")
        raise AssertionError
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(told.lstrip("v").split(".")[0]) < NODE_MIN:
        missing(f"Node.js {NODE_MIN} or later")
    return subprocess.run(
        [node, str(CHECK), str(module), str(vectors)], capture_output=True, text=True, timeout=TIMEOUT_S
    )


def test_todays_python_gives_the_committed_vectors() -> None:
    """If this fails, reports of devices out there would be read wrongly.

    Renew only on purpose: python -m tests.make_vectors
    """
    assert text() == PATH.read_text(encoding="ascii")


def test_vectors_are_of_every_protocol_that_a_page_needs() -> None:
    named = {told["protocol"]["name"] for told in VECTORS["payloads"]}
    assert named == {kind.name for kind in PROTOCOLS} - NOT_IN_PAGES
    assert {event.get("refused") for life in VECTORS["lives"] for event in life["events"]} >= {
        "no_consent",
        "too_soon",
        "schedule_over",
    }
    assert any(event["record"]["over"] for life in VECTORS["lives"] for event in life["events"])


def test_python_reads_the_documents_and_refuses_those_that_are_none() -> None:
    for told in VECTORS["surveys"].values():
        assert read_spec(told["document"].encode()).id == told["id"]
    for document in VECTORS["refused"]:
        with pytest.raises(Refused) as refused:
            read_spec(document.encode())
        assert refused.value.code == "bad_spec"


def test_javascript_gives_the_same() -> None:
    found = checked(MODULE, PATH)
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-3000:]
    assert found.stdout.endswith(" hold\n")


def spoiled(vectors: Any) -> None:
    """One thing of each kind is wrong."""
    vectors["hashes"]["mix"][0][1] = "0"
    vectors["coins"][0]["gives"] += 1
    vectors["memos"][0]["mark"] = "00"
    vectors["payloads"][0]["read"] += 1
    vectors["reports"][0]["hex"] = "00"
    vectors["lives"][0]["events"][2]["record"]["spent"] = "0"
    vectors["refused"].append(vectors["surveys"]["direct"]["document"])


def test_the_check_in_javascript_can_fail(tmp_path: Path) -> None:
    vectors = json.loads(PATH.read_text(encoding="ascii"))
    spoiled(vectors)
    (tmp_path / "spoiled.json").write_text(json.dumps(vectors))
    found = checked(MODULE, tmp_path / "spoiled.json")
    assert found.returncode == 1
    wrong = [line for line in found.stdout.splitlines() if " instead of " in line]
    assert len(wrong) == 7, found.stdout


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("if (drawn < limit) return drawn % bound;", "return drawn % bound;"),
        ("Number(other >= code)", "Number(other > code)"),
        ("column & -column", "column"),
        ("bytes[6] & 31", "bytes[6]"),
        ("await this.#storage.set(nameOf(spec), JSON", "await 0, JSON.stringify(JSON"),
        ("today <= record.day", "today === record.day"),
        ('consent: "withdrawn" }', 'consent: "withdrawn", spent: "0" }'),
        ("{ ...record, marks: {}, ...(over ? { over } : { spent }) }", "{ ...record, marks: {} }"),
        ("permanent[Number(tells)]", "permanent[1]"),
        ("text === canonical(told) &&", ""),
        ("mix(seed ^ BigInt(place))", "mix(seed)"),
        ("found.set([place]);", ""),
        ("SPLITS[split] === protocol.name &&", ""),
    ],
)
def test_a_client_with_a_fault_does_not_pass(tmp_path: Path, right: str, wrong: str) -> None:
    module = MODULE.read_text(encoding="utf-8")
    assert right in module
    (tmp_path / "faulty.mjs").write_text(module.replace(right, wrong), encoding="utf-8")
    found = checked(tmp_path / "faulty.mjs", PATH)
    assert found.returncode == 1
    assert "SyntaxError" not in found.stderr
