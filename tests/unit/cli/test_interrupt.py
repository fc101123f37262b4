from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from obverse.engines.duckdb import DuckDBEngine
from obverse.ledger.sqlite import SqliteLedger
from obverse.session import session

Obverse = Callable[..., Result]
Spent = Callable[[], str]
COUNT = "SELECT COUNT(*) AS n FROM people"


def interrupt(*args: Any, **options: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("stage", ["read", "plan"])
def test_ctrl_c_before_the_debit_is_free_and_says_so(
    obverse: Obverse, spent: Spent, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setattr(session, stage, interrupt)
    said = obverse("ask", COUNT)
    assert said.exit_code == 130
    assert "nothing was spent" in said.stderr
    assert spent() == "0"


def test_ctrl_c_after_the_debit_keeps_the_charge_and_says_so(
    obverse: Obverse, spent: Spent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DuckDBEngine, "run", interrupt)
    said = obverse("ask", COUNT)
    assert said.exit_code == 130
    assert "the charge stays" in said.stderr
    assert "Nothing was spent" not in said.stderr
    assert spent() == "0.1"


def test_ctrl_c_after_a_record_that_is_no_debit_is_free(
    obverse: Obverse, spent: Spent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteLedger, "reserve", interrupt)
    said = obverse("ask", COUNT)
    assert (said.exit_code, "nothing was spent" in said.stderr) == (130, True)
    assert spent() == "0"


def test_ctrl_c_between_the_debit_and_its_receipt_is_not_called_free(
    obverse: Obverse, spent: Spent, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = SqliteLedger.reserve

    def reserve(self: SqliteLedger, *args: Any, **options: Any) -> Any:
        whole(self, *args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(SqliteLedger, "reserve", reserve)
    said = obverse("ask", COUNT, "--json")
    assert (said.exit_code, json.loads(said.stdout)["charged"]) == (130, True)
    assert spent() == "0.1"


def test_a_failure_after_the_debit_is_exit_code_one(
    obverse: Obverse, spent: Spent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **options: Any) -> Any:
        raise ValueError("Ann Smith earns 1234")

    monkeypatch.setattr(DuckDBEngine, "run", fail)
    said = obverse("ask", COUNT, "--json")
    told = json.loads(said.stdout)
    assert (said.exit_code, told["charged"], told["error"]["code"]) == (1, True, "engine_failure")
    assert "Ann" not in said.output
    assert spent() == "0.1"


def test_an_answer_that_cannot_be_written_after_all_is_in_store(
    obverse: Obverse, spent: Spent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("obverse.cli.output.files._whole", full)
    said = obverse("ask", COUNT, "--out", "a.csv")
    assert said.exit_code == 1
    assert "that is free" in said.stderr
    monkeypatch.undo()


def test_ctrl_c_elsewhere_costs_nothing(obverse: Obverse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.curator.check.check", interrupt)
    said = obverse("check")
    assert (said.exit_code, "nothing was spent" in said.stderr) == (130, True)
