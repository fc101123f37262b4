"""People's rights over HTTP: the curator's acts move later answers, and nobody else sees who they were about."""

from __future__ import annotations

import importlib.util
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import obverse.server
from obverse.curator.rights import requests
from obverse.server.project import MODULE
from tests.http_services import Running, running, write_project

SUM = "SELECT COUNT(*) AS n FROM people"


@pytest.fixture(scope="module")
def desk(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of its own: versions of the data begin here."""
    folder = write_project(tmp_path_factory.mktemp("rights") / "hospital", people=401)
    with running(folder) as started:
        yield started


def count(desk: Running) -> float:
    """The truth: at epsilon 15 a count has noise in one answer of 1.6 million.

    Six are asked in this file: 4e-6 in all.
    """
    reply = desk.ask(SUM, epsilon=15)
    assert reply.status_code == 200, reply.text
    return float(reply.json()["rows"][0][0])


def test_a_suppressed_person_is_in_no_later_answer_of_a_service(desk: Running) -> None:
    assert count(desk) == 401
    told = desk.post("/v1/hospital/rights/suppress", "cora", {"person": 17, "reason": "objection"}).json()
    assert told["data_version"]
    assert count(desk) == 400
    gone = desk.post("/v1/hospital/rights/erase", "cora", {"person": "18", "reason": "withdrawn", "later": True}).json()
    assert gone["data_version"] is None
    assert gone["procedure"]
    assert count(desk) == 400
    lifted = desk.post("/v1/hospital/rights/lift", "cora", {"right": told["right"], "reason": "again"}).json()
    assert lifted["act"] == "lift"
    assert count(desk) == 400  # the one came back, and the other's act was waiting for this version
    listed = desk.get("/v1/hospital/rights", "cora").json()
    assert [(act["act"], act["state"], act["by"]) for act in listed["acts"]] == [
        ("suppress", "lifted", "cora"), ("erase", "in force", "cora"), ("lift", "done", "cora"),
    ]  # fmt: skip


def test_an_act_that_no_record_knows_is_told_and_lifted(desk: Running) -> None:
    with requests.kept(desk.folder) as keeper, keeper.opened.registered.exclusive() as datasets:
        content = requests.content_of("suppress", 19)
        requests.ledger_rights.put(datasets, keeper.opened.dataset.id, [("f" * 32, content)])
    act = desk.get("/v1/hospital/rights", "cora").json()["acts"][-1]
    assert (act["record"], act["act"], act["state"], act["by"]) == (None, "suppress", "not recorded", "")
    assert (
        desk.post("/v1/hospital/rights/lift", "cora", {"right": act["right"], "reason": "a crash"}).status_code == 200
    )
    assert "not recorded" not in desk.get("/v1/hospital/rights", "cora").text


def test_a_correction_is_read_by_the_next_question(desk: Running) -> None:
    body = {"person": 30, "table": "people", "set": {"age": 119}, "reason": "wrong year"}
    oldest = "SELECT COUNT(*) AS n FROM people WHERE age = 119"
    assert round(float(desk.ask(oldest, epsilon=15).json()["rows"][0][0])) == 0
    assert desk.post("/v1/hospital/rights/correct", "cora", body).status_code == 200
    assert round(float(desk.ask(oldest, epsilon=15).json()["rows"][0][0])) == 1


def test_an_act_over_http_says_how_many_rows_it_is_about(desk: Running) -> None:
    """To the curator, in the reply alone: what is on the record is the same."""
    before = len(desk.get("/v1/hospital/rights", "cora").json()["acts"])
    body = {"person": 99_999, "reason": "objection"}
    assert desk.post("/v1/hospital/rights/suppress", "cora", body).json()["matches"] == {"people": 0}
    there = desk.post("/v1/hospital/rights/erase", "cora", {"person": 31, "reason": "objection"}).json()
    assert there["matches"] == {"people": 1}
    first, second = desk.get("/v1/hospital/rights", "cora").json()["acts"][before:]
    assert {key for key in first if first[key] != second[key]} <= {"record", "time", "act", "person", "right"}
    for right in (first["right"], second["right"]):
        lifted = desk.post("/v1/hospital/rights/lift", "cora", {"right": right, "reason": "again"})
        assert (lifted.status_code, lifted.json()["matches"]) == (200, None)
    assert desk.get("/v1/hospital/ledger", "cora").text.count("matches") == 0


def test_rows_are_exported_for_the_curator_in_both_forms(desk: Running) -> None:
    body = {"person": 20, "reason": "access request"}
    told = desk.post("/v1/hospital/rights/export", "cora", body).json()
    assert told["tables"][0]["rows"] == [["20", "40", "F"]]
    packed = desk.post("/v1/hospital/rights/export", "cora", {**body, "format": "csv"})
    assert packed.headers["content-type"] == "application/zip"
    files = zipfile.ZipFile(io.BytesIO(packed.content))
    assert files.read("people.csv").decode().splitlines() == ["person_id,age,sex", "20,40,F"]
    last = desk.get("/v1/hospital/rights", "cora").json()["acts"][-1]
    assert (last["act"], last["by"], last["tables"]) == ("export", "cora", ["people"])


def test_a_refusal_of_the_errand_is_told_as_it_is(desk: Running) -> None:
    reply = desk.post("/v1/hospital/rights/export", "cora", {"person": "", "reason": "access request"})
    assert (reply.status_code, reply.json()["code"]) == (422, "bad_person")


def test_the_record_of_processing_is_told_in_data_and_for_people(desk: Running) -> None:
    count(desk)
    record = desk.get("/v1/hospital/rights/record", "cora").json()
    assert record["project"] == "hospital"
    assert record["processing"][0]["kind"] == "question"
    text = desk.get("/v1/hospital/rights/record.md", "cora")
    assert text.headers["content-type"].startswith("text/markdown")
    assert text.text.startswith("# Record of processing: hospital")


def test_no_log_and_no_page_of_an_analyst_tells_of_a_person(desk: Running) -> None:
    before = [
        desk.post("/v1/hospital/explain", "ana", {"sql": SUM}).json(),
        desk.get("/v1/hospital/tables", "ana").json(),
    ]
    desk.post("/v1/hospital/rights/suppress", "cora", {"person": 377, "reason": "objection"})
    after = [
        desk.post("/v1/hospital/explain", "ana", {"sql": SUM}).json(),
        desk.get("/v1/hospital/tables", "ana").json(),
    ]
    assert before == after
    assert not any(b"377" in line.split(b'"request"')[0] for line in desk.lines)
    for path in ("/rights", "/rights/record", "/rights/record.md"):
        assert desk.get(f"/v1/hospital{path}", "ana").status_code == 403


def test_only_the_errand_of_the_curators_route_names_the_door() -> None:
    """A service has no module that reads rows; it starts a process that has, from one place."""
    root = Path(obverse.server.__file__).parent
    readers = ("session.custody", "curator.rights.export")
    texts = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.py")}
    assert {path for path, text in texts.items() if any(reader in text for reader in readers)} == {"project.py"}
    assert "session.custody" not in texts["project.py"]
    assert texts["project.py"].count("curator.rights.export") == 1  # the process's name, not an import
    assert all(importlib.util.find_spec(f"obverse.{reader}") for reader in readers)
    assert MODULE == "obverse.curator.rights.export"
