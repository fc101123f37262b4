"""The corpus's SQL over the PostgreSQL protocol: verdicts as in process, nothing spent on refusals, neighbours
alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from obverse.server.postgres.errors import INTERNAL
from obverse.testing import synthetic
from tests.hostile.conftest import CATALOG, hospital_with
from tests.hostile.test_corpus import LINES, question
from tests.wired import TOML, Raw, Wired, columns, data, fields, served

PLANTED = {"eve": ("eve",), "nobody": (), "mallory": ("eve", "mallory")}
Seen = tuple[Any, ...]


@pytest.fixture(autouse=True)
def home_of_the_test(home_of_the_run: None) -> None:
    """The servers outlive a test, and so does their home."""


@pytest.fixture(scope="module")
def wires(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Wired]]:
    assert TOML.startswith(CATALOG[:40])
    with ExitStack() as stack:
        folders = {
            name: synthetic(hospital_with(*who), TOML, tmp_path_factory.mktemp(name)) for name, who in PLANTED.items()
        }
        yield {name: stack.enter_context(served(folder)) for name, folder in folders.items()}


@pytest.fixture
def clients(wires: dict[str, Wired]) -> Iterator[dict[str, Raw]]:
    opened = {name: wired.login() for name, wired in wires.items()}
    yield opened
    for client in opened.values():
        client.close()


def lines(*verdicts: str) -> list[dict[str, Any]]:
    return [line for line in LINES if line["expected"]["verdict"] in verdicts]


def seen(client: Raw, text: str) -> Seen:
    """All that an analyst sees of an outcome, apart from noisy values."""
    client.notices.clear()
    found = client.query(text)
    errors = [fields(body) for kind, body in found if kind == b"E"]
    if errors:
        return ("refused", *sorted(errors[0].items()))
    assert found[-1][0] == b"Z", text[:200]
    if found[0][0] == b"I":  # the protocol has its own reply to a text without a statement
        return ("empty",)
    notice = client.notices[-1].partition(";")[0] if client.notices else "catalogue"
    return "answered", columns(found), len(data(found)), notice


def sendable(line: dict[str, Any]) -> str | None:
    """A text that the protocol can carry: texts end with a zero byte there."""
    text = question(line)
    return None if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text) else text


def test_hostile_questions_are_refused_or_of_the_shadow_and_cost_nothing(
    wires: dict[str, Wired], clients: dict[str, Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    wired = wires["eve"]
    spent = wired.spent()
    called: list[object] = []
    monkeypatch.setattr(wired.host.cage, "_call", lambda *arguments, **more: called.append(arguments))
    sent = 0
    for line in lines("refuse"):
        text = sendable(line)
        if text is None:
            continue
        if len(text) > 200_000:  # more than a message may have ends the connection
            # of which the system may tell before the error
            with wired.login() as other, suppress(ConnectionResetError):
                assert seen(other, text)[1] == ("C", "54000"), line["id"]
            continue
        found = seen(clients["eve"], text)
        if found[0] == "empty":
            assert line["expected"]["code"] == "parse_error", line["id"]
        elif found[0] == "answered":  # of the empty catalogue, as tools need it
            assert (line["kind"], found[-1]) == ("sql_catalog", "catalogue"), (line["id"], found)
        else:
            told = dict(found[1:])
            assert told["C"] != INTERNAL, line["id"]
            assert told["H"].endswith("No budget was used."), line["id"]
        sent += 1
    assert sent > 100
    assert wired.spent() == spent
    assert not called


def test_benign_questions_are_answered_and_cost_what_they_should(
    wires: dict[str, Wired], clients: dict[str, Raw]
) -> None:
    for line in lines("answer"):
        found = seen(clients["eve"], question(line))
        assert found[0] == "answered", (line["id"], found)
        free = "free: only what is public was read", "catalogue"
        assert found[-1].startswith(("cost epsilon 0.1", "asked before") if line["expected"]["spends"] else free), line[
            "id"
        ]


def test_outcomes_are_the_same_on_neighbours(clients: dict[str, Raw]) -> None:
    """Whether one row makes the engine fail, refuse or hurry cannot be told from any of what comes back."""
    for line in lines("refuse_or_answer"):
        text = sendable(line)
        if text is None:
            continue
        outcomes = [seen(client, text) for client in clients.values()]
        assert outcomes[0] == outcomes[1] == outcomes[2], line["id"]
        assert outcomes[0][0] == "answered" or dict(outcomes[0][1:])["C"] != INTERNAL, line["id"]
