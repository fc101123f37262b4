from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Obverse = Callable[..., Result]
Spent = Callable[[], str]
COUNT = "SELECT COUNT(*) AS n FROM people"


def head(obverse: Obverse) -> str:
    told: str = json.loads(obverse("ledger", "head", "--json").stdout)["head"]
    return told


def test_verify_tells_records_and_head(obverse: Obverse) -> None:
    obverse("ask", COUNT)
    said = obverse("ledger", "verify")
    assert said.exit_code == 0
    assert " records, chain unbroken" in said.stdout
    assert head(obverse) in said.stdout


def test_an_export_is_verified_without_a_project(obverse: Obverse, project: Path, tmp_path: Path) -> None:
    obverse("ask", COUNT)
    obverse("ledger", "export", "records.jsonl")
    copy = str(project / "records.jsonl")
    assert obverse("ledger", "verify", copy, "-p", str(tmp_path), "--head", head(obverse)[:12]).exit_code == 0
    assert obverse("ledger", "verify", copy, "--head", "0123456789ab").exit_code == 3
    text = Path(copy).read_text(encoding="utf-8")
    Path(copy).write_text(text.replace('"amount":"1/10"', '"amount":"1/20"'), encoding="utf-8")
    assert obverse("ledger", "verify", copy).exit_code == 3


def test_a_folder_that_is_not_there_is_told_and_not_traced(obverse: Obverse) -> None:
    obverse("ask", COUNT)
    said = obverse("ledger", "export", "nowhere/records.jsonl")
    assert (said.exit_code, said.stderr.startswith("[cannot_write]")) == (3, True)
    assert "nowhere/records.jsonl" in said.stderr


def test_a_file_that_is_no_ledger_is_refused(obverse: Obverse) -> None:
    for name in ("obverse.toml", "people.csv", "nowhere"):
        assert obverse("ledger", "verify", name).exit_code == 3


def test_a_flipped_byte_is_noticed(obverse: Obverse, project: Path) -> None:
    obverse("ask", COUNT)
    obverse("ledger", "backup", "copy.db")
    raw = bytearray((project / "copy.db").read_bytes())
    raw[raw.index(b'"amount"') + 11] ^= 1
    (project / "copy.db").write_bytes(raw)
    assert obverse("ledger", "verify", "copy.db").exit_code == 3


def test_an_older_backup_opens_only_when_acknowledged(obverse: Obverse, spent: Spent) -> None:
    obverse("ask", COUNT)
    assert obverse("ledger", "backup", "copy.db").exit_code == 0
    obverse("ask", "SELECT SUM(age) FROM people", "--epsilon", "0.3")
    said = obverse("ledger", "restore", "copy.db")
    assert said.exit_code == 0
    assert "ledger acknowledge" in said.stdout
    refused = obverse("ask", COUNT, "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["error"]["code"]) == (3, "ledger_rolled_back")
    assert obverse("ledger", "acknowledge", "--reason", "the disk failed").exit_code == 0
    assert spent() == "0.4"


def test_a_newest_backup_is_restored_without_a_doubt(obverse: Obverse, project: Path, spent: Spent) -> None:
    obverse("ask", COUNT)
    obverse("ledger", "backup", "copy.db")
    (project / ".obverse" / "ledger.db").write_bytes(b"rubbish")
    said = obverse("ledger", "restore", "copy.db", "--json")
    assert "doubt" not in json.loads(said.stdout)
    assert spent() == "0.1"


def test_a_moved_ledger_is_closed_here(obverse: Obverse, project: Path) -> None:
    obverse("ask", COUNT)
    assert obverse("ledger", "move", "onward.db").exit_code == 0
    said = obverse("ask", "SELECT SUM(age) FROM people", "--json")
    assert (said.exit_code, json.loads(said.stdout)["error"]["code"]) == (3, "ledger_closed")
    assert obverse("check").exit_code == 3
    assert (project / "onward.db").exists()


def test_nothing_is_overwritten_and_nothing_acknowledged_without_need(obverse: Obverse) -> None:
    obverse("ask", COUNT)
    assert obverse("ledger", "export", "people.csv").exit_code == 3
    assert obverse("ledger", "backup", "people.csv").exit_code == 3
    assert obverse("ledger", "acknowledge", "--reason", "why not").exit_code == 3
    assert obverse("ledger", "acknowledge", "--reason", "").exit_code == 3


def test_a_project_of_public_tables_has_no_ledger(obverse: Obverse, project: Path) -> None:
    (project / "obverse.toml").write_text(
        '[project]\nname = "open"\n[tables.clinics]\nsource = "clinics.csv"\npublic = true\n', encoding="utf-8"
    )
    said = obverse("ledger", "head", "--json")
    assert (said.exit_code, json.loads(said.stdout)["error"]["code"]) == (3, "no_private_table")
    assert obverse("ask", "SELECT city FROM clinics").exit_code == 0
