"""Each right from end to end, over files and over a PostgreSQL server, where rows are only ever read."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.core.errors import LedgerError, Refused
from obverse.curator.ledger import verify_ledger
from obverse.curator.partitions import publish_data
from obverse.curator.rights import requests
from obverse.curator.rights.export import export, keep, restore
from obverse.curator.rights.register import markdown, record_of
from obverse.ledger.home import Home, default_home
from obverse.session.custody import collapsed, counted
from obverse.session.overlay import overlay_now
from obverse.session.project import load_project, open_ledger
from obverse.session.session import Session
from obverse.testing.noiseless import noiseless_gateway
from tests.servers import postgres_address

NUMBERS = itertools.count()
TOML = """
[project]
name = "clinic"
[engine]
{engine}
[budget]
epsilon = 10
delta = 1e-3
[purposes.quality]
epsilon = 5
[policy]
apart = [["payroll", "visits"]]
[tables.people]
source = "{people}"
unit = "id"
basis = "consent"
purposes = ["quality"]
[tables.people.columns]
id = {{ type = "text" }}
age = {{ type = "integer", bounds = [0, 120] }}
sex = {{ type = "text", values = ["f", "m"] }}
[tables.visits]
source = "{visits}"
unit = "id -> people.id"
limits = {{ rows = 5 }}
[tables.visits.columns]
visit = {{ type = "integer" }}
cost = {{ type = "double", bounds = [0, 1000], grid = 0.01 }}
[tables.labs]
source = "{labs}"
unit = "visit -> visits.visit -> people.id"
limits = {{ rows = 5 }}
[tables.labs.columns]
visit = {{ type = "integer" }}
level = {{ type = "integer", bounds = [0, 100] }}
[tables.payroll]
source = "{payroll}"
unit = "id -> people.id"
limits = {{ rows = 1 }}
retain_until = {until}
[tables.payroll.columns]
pay = {{ type = "integer", bounds = [0, 9000] }}
"""
ROWS = {
    "people": ("id,age,sex,secret", [("ann", 30, "f", "s1"), ("bob", 41, "m", "s2"), ("o'k", 52, "f", "s3")]),
    "visits": ("visit,id,cost", [(1, "ann", 10.5), (2, "ann", 20), (3, "bob", 30), (4, "o'k", 40), (4, "bob", 1)]),
    "labs": ("visit,level", [(1, 11), (1, 12), (3, 31), (4, 41), (9, 91)]),
    "payroll": ("id,pay", [("ann", 100), ("bob", 200)]),
}
QUESTIONS = (
    "SELECT sex, COUNT(*) AS n, SUM(age) AS a FROM people GROUP BY sex",
    "SELECT COUNT(*) AS n, SUM(cost) AS c FROM visits",
    "SELECT COUNT(*) AS n, SUM(level) AS l FROM labs",
    "SELECT MAX(age) AS m FROM people JOIN visits ON people.id = visits.id WHERE cost > 5",
)


@dataclass
class Clinic:
    """A project, and a way to write to its source as its owner does."""

    folder: Path
    change: Callable[[str, str], None]  # a table, and what is to be true of the rows that go

    def exact(self, *questions: str, meanwhile: Callable[[], object] = lambda: None) -> list[Any]:
        """Answers without noise, under whatever is in force. `meanwhile`: what happens right before each debit."""
        loaded = load_project(self.folder)
        home, opened = open_ledger(loaded)
        noiseless = noiseless_gateway(loaded.catalog, lambda planned: planned)

        def door(*asked: Any, **more: Any) -> Any:
            meanwhile()
            return noiseless(*asked, **more)

        with Session(
            loaded, opened.ledger, purpose="quality", dataset=opened.dataset.id, gateway=door,
            overlay=lambda: overlay_now(opened, loaded.catalog),
            version=lambda: str(next(NUMBERS)),  # asked anew each time
        ) as session:  # fmt: skip
            found = [session.ask(text).rows for text in questions or QUESTIONS]
        opened.ledger.close()
        home.close()
        return found

    def records(self) -> list[dict[str, Any]]:
        with obverse.open(self.folder) as session:
            return [{"kind": entry.kind, **entry.fields} for entry in session.ledger.entries()]

    def act(self, act: Callable[..., requests.Done], *args: Any, **more: Any) -> requests.Done:
        with requests.kept(self.folder) as keeper:
            return act(keeper, *args, **more)


def _files(folder: Path) -> Clinic:
    for name, (head, rows) in ROWS.items():
        lines = [",".join(str(value) for value in row) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join([head, *lines, ""]))
    places = {name: f"{name}.csv" for name in ROWS}
    (folder / "obverse.toml").write_text(TOML.format(engine='kind = "duckdb"', until="2999-12-31", **places))

    def change(table: str, gone: str) -> None:
        file = folder / f"{table}.csv"
        head, *rows = file.read_text().splitlines()
        column, value = gone.split("=")
        place = head.split(",").index(column)
        file.write_text("\n".join([head, *(row for row in rows if row.split(",")[place] != value), ""]))

    return Clinic(folder, change)


def _server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Clinic:
    import psycopg

    address = postgres_address()
    owner = psycopg.connect(address, autocommit=True)
    if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'rights_reader'").fetchone():
        owner.execute("CREATE ROLE rights_reader LOGIN")
    owner.execute("CREATE SCHEMA c; GRANT USAGE ON SCHEMA c TO rights_reader")
    types = {"age": "smallint", "visit": "bigint", "cost": "numeric(10,2)", "level": "integer", "pay": "integer"}
    for name, (head, rows) in ROWS.items():
        columns = ", ".join(f"{column} {types.get(column, 'varchar(20)')}" for column in head.split(","))
        owner.execute(f"CREATE TABLE c.{name} ({columns}); GRANT SELECT ON c.{name} TO rights_reader")
        for row in rows:
            owner.execute(f"INSERT INTO c.{name} VALUES ({', '.join(['%s'] * len(row))})", row)
    monkeypatch.setenv("OBVERSE_TEST_RIGHTS", address.replace("postgres:@", "rights_reader@"))
    places = {name: f"c.{name}" for name in ROWS}
    engine = 'kind = "postgres"\ndsn_env = "OBVERSE_TEST_RIGHTS"'
    (folder / "obverse.toml").write_text(TOML.format(engine=engine, until='"2999-12-31"', **places))

    def change(table: str, gone: str) -> None:
        column, value = gone.split("=")
        owner.execute(f"DELETE FROM c.{table} WHERE {column} = %s", (value,))

    return Clinic(folder, change)


@pytest.fixture(params=["duckdb", "postgres"])
def clinic(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clinic:
    return _files(tmp_path) if request.param == "duckdb" else _server(tmp_path, monkeypatch)


@pytest.fixture
def files(tmp_path: Path) -> Clinic:
    return _files(tmp_path)


@pytest.fixture
def code() -> Callable[..., str]:
    def code_of(call: Callable[..., object], *args: Any, **more: Any) -> str:
        with pytest.raises(obverse.ObverseError) as refused:
            call(*args, **more)
        assert not refused.value.charged
        return refused.value.code

    return code_of


def test_a_suppressed_person_moves_no_later_answer_and_comes_back_when_it_is_lifted(clinic: Clinic) -> None:
    before = clinic.exact()
    done = clinic.act(requests.suppress, "bob", "objection of 3 May")
    without = clinic.exact()
    assert without == [
        (("f", 2, 82), ("m", 0, 0)),
        ((3, 70.5),),
        ((3, 64),),  # 4 is the visit of two people, of whom one is there
        ((52,),),
    ]
    assert before[:3] == [(("f", 2, 82), ("m", 1, 41)), ((5, 101.5),), ((5, 136),)]
    for table, gone in (("people", "id=bob"), ("visits", "id=bob")):
        clinic.change(table, gone)
    publish_data(clinic.folder)
    assert clinic.exact() == without  # the same as if the rows were not there
    clinic.act(requests.lift, done.right, "the rows are deleted")
    assert clinic.exact() == without
    verify_ledger(clinic.folder)


def test_a_question_that_is_charged_after_the_act_leaves_the_person_out_however_early_it_was_read(
    files: Clinic,
) -> None:
    acts = iter([lambda: files.act(requests.suppress, "bob", "objection")])
    assert files.exact(QUESTIONS[1], meanwhile=lambda: next(acts)()) == [((3, 70.5),)]


def test_the_ledger_knows_a_person_by_a_keyed_hash_alone(clinic: Clinic) -> None:
    done = clinic.act(requests.suppress, "o'k", "consent withdrawn")
    clinic.act(requests.lift, done.right, "consent given again")
    export(clinic.folder, "o'k", "access request")
    told = [r for r in clinic.records() if r["kind"] == "rights"]
    assert [r["act"] for r in told] == ["suppress", "lift", "export"]
    assert len({r["person"] for r in told}) == 1
    assert len(told[0]["person"]) == 64
    assert {r["by"] for r in told} == {"curator"}
    assert "o'k" not in json.dumps(clinic.records())
    for file in (*clinic.folder.rglob(".obverse/*"), *default_home().rglob("*")):
        if file.is_file():
            assert b"o'k" not in file.read_bytes(), file.name  # forgotten once it was lifted


def test_an_act_waits_for_the_next_version_of_the_data_where_it_is_told_to(clinic: Clinic) -> None:
    before = clinic.exact()
    done = clinic.act(requests.suppress, "ann", "objection", later=True)
    assert done.data_version is None
    assert clinic.exact() == before
    publish_data(clinic.folder)
    assert clinic.exact()[1] == ((3, 71.0),)
    clinic.act(requests.lift, done.right, "consent given again", later=True)
    assert clinic.exact()[1] == ((3, 71.0),)
    publish_data(clinic.folder)
    assert clinic.exact() == before


def test_a_correction_is_read_in_place_of_the_source(clinic: Clinic) -> None:
    done = clinic.act(requests.correct, "ann", "people", {"age": "33", "sex": "m"}, "wrong in the file")
    clinic.act(requests.correct, "ann", "visits", {"cost": 99.5}, "wrong bill", where={"visit": 2})
    found = clinic.exact()
    assert found[0] == (("f", 1, 52), ("m", 2, 74))
    assert found[1] == ((5, 181.0),)
    clinic.act(requests.lift, done.right, "mended in the source")
    assert clinic.exact()[0] == (("f", 2, 82), ("m", 1, 41))
    held = export(clinic.folder, "ann", "access request")
    assert [(one["act"], one["tables"], one["state"]) for one in held.standing] == [("correct", ["visits"], "in force")]


def test_a_correction_to_a_value_that_could_not_count_is_refused_and_says_what_is_declared(files: Clinic) -> None:
    said = []
    for table, values in (
        ("people", {"age": 121}), ("people", {"age": "-1"}), ("people", {"sex": "x"}), ("visits", {"cost": 1000.01}),
    ):  # fmt: skip
        with pytest.raises(Refused) as refused:
            files.act(requests.correct, "ann", table, values, "wrong in the file", later=True)
        assert refused.value.code == "value_not_declared"
        assert "obverse.toml" in (refused.value.fix or "")
        said.append(f"{refused.value.message} {refused.value.why}")
    assert "people.age is declared within [0, 120]" in said[0]
    assert "count as the nearest bound" in said[0]
    assert "people.sex has a declared list of values" in said[2]
    assert "in no answer over sex" in said[2]
    with requests.kept(files.folder) as keeper:
        assert keeper.contents() == {}
    for values in ({"age": 0}, {"age": 120}, {"sex": "m"}, {"age": None}):
        files.act(requests.correct, "ann", "people", values, "wrong in the file", later=True)
    # as it lies
    files.act(requests.correct, "ann", "visits", {"cost": 1}, "wrong bill", where={"cost": -7}, later=True)


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_days_and_moments_are_held_to_their_bounds_too(tmp_path: Path, kind: str, code: Callable[..., str]) -> None:
    (tmp_path / "t.csv").write_text("id,at\n1,2020-02-02\n")
    (tmp_path / "obverse.toml").write_text(
        '[project]\nname = "t"\n[budget]\nepsilon = 1\n[tables.t]\nsource = "t.csv"\nunit = "id"\n[tables.t.columns]\n'
        f'id = {{ type = "integer" }}\nat = {{ type = "{kind}", bounds = ["2020-01-01", "2020-12-31"] }}\n'
    )
    clinic = Clinic(tmp_path, lambda table, gone: None)
    for value in ("2019-12-31", "2021-01-01"):
        assert code(clinic.act, requests.correct, 1, "t", {"at": value}, "wrong day") == "value_not_declared"
    for value in ("2020-01-01", "2020-12-31"):
        clinic.act(requests.correct, 1, "t", {"at": value}, "wrong day", later=True)


@pytest.mark.parametrize("told", [{"values": {"cost": 99.5}}, {"values": {"visit": 7}, "where": {"cost": 20}}])
def test_what_an_act_told_in_another_type_than_is_declared_now_never_counts_as_missing(
    files: Clinic, code: Callable[..., str], told: dict[str, Any]
) -> None:
    file = files.folder / "obverse.toml"
    text = file.read_text().split("[tables.labs]")[0].replace('"payroll"', '"people"')
    file.write_text(text)
    files.act(requests.correct, "ann", "visits", told["values"], "wrong bill", where=told.get("where"))
    file.write_text(text.replace('cost = { type = "double"', 'cost = { type = "integer"').replace(", grid = 0.01", ""))
    with obverse.open(files.folder) as session:
        assert code(session.ask, "SELECT SUM(cost) FROM visits", epsilon=1) == "rights_unfit"
        assert session.ledger.spent().amount == 0


def test_a_person_gets_all_their_rows_with_every_column_by_whatever_path(clinic: Clinic) -> None:
    held = export(clinic.folder, "bob", "access request")
    told = {table["name"]: table for table in held.as_json()["tables"]}
    assert told["people"]["columns"] == ["id", "age", "sex", "secret"]
    assert [[str(v) for v in row] for row in told["people"]["rows"]] == [["bob", "41", "m", "s2"]]
    assert sorted(str(row[0]) for row in told["visits"]["rows"]) == ["3", "4"]
    assert sorted(str(row[1]) for row in told["labs"]["rows"]) == ["31", "41"]
    assert told["people"]["basis"] == "consent"
    assert told["people"]["purposes"] == ["quality"]
    packed = zipfile.ZipFile(io.BytesIO(held.as_zip()))
    assert sorted(packed.namelist()) == ["about.json", "labs.csv", "payroll.csv", "people.csv", "visits.csv"]
    assert packed.read("people.csv").decode().splitlines() == ["id,age,sex,secret", "bob,41,m,s2"]
    assert held.as_zip() == held.as_zip()
    assert export(clinic.folder, "nobody", "access request").as_json()["tables"][0]["rows"] == []


def test_erasing_says_what_is_to_be_deleted_and_what_cannot_be_undone(clinic: Clinic) -> None:
    done = clinic.act(requests.erase, "ann", "consent withdrawn")
    assert clinic.exact()[2] == ((3, 113),)
    assert [step.split(" (")[0] for step in done.procedure[:4]] == [
        f"delete the rows of {table}" for table in ("people", "visits", "labs", "payroll")
    ]
    assert "a visit of this person's rows of visits" in done.procedure[2]
    assert "stays published" in done.cannot_undo
    assert "ann" not in json.dumps(done.as_json()).replace("cannot", "")


def test_neither_price_nor_plan_nor_text_tells_that_somebody_is_left_out(clinic: Clinic) -> None:
    def seen() -> list[Any]:
        with obverse.open(clinic.folder, purpose="quality") as session:
            told = [session.explain(text) for text in QUESTIONS]
            asked = session.tables(), session.budget().as_json()["lines"][0]["cap"]
        return [(one.as_json(), one.engine_sql, one.price) for one in told] + [asked]

    before = seen()
    clinic.act(requests.suppress, "ann", "objection")
    clinic.act(requests.correct, "bob", "people", {"age": 42}, "wrong")
    assert seen() == before


def test_the_curators_own_door_leaves_people_out_as_answers_do(clinic: Clinic) -> None:
    clinic.act(requests.suppress, "ann", "objection")
    clinic.act(requests.correct, "bob", "people", {"age": 44}, "wrong")

    def rows(table: str, *columns: str) -> list[Any]:
        found = collapsed(clinic.folder, table, columns, what="anonymize", reason="a table for the board")
        return sorted(zip(*found.columns.values(), found.counts.tolist()), key=str)

    assert rows("people", "age", "sex") == [(44, "m", 1), (52, "f", 1)]
    assert rows("labs", "level") == [(31, 1), (41, 1), (91, 1)]


def test_an_undeclared_column_cannot_be_asked_about(clinic: Clinic, code: Callable[..., str]) -> None:
    """Data minimisation: what the curator did not declare does not exist for an analyst."""
    with obverse.open(clinic.folder, purpose="quality") as session:
        assert code(session.explain, "SELECT COUNT(*) FROM people WHERE secret = 's1'") == "column_not_declared"
        assert "secret" not in repr(session.tables())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits JOIN payroll ON visits.id = payroll.id",
        "SELECT COUNT(*) FROM visits WHERE id IN (SELECT id FROM payroll)",
        "WITH p AS (SELECT id FROM payroll) SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM p WHERE p.id = "
        "visits.id)",
        "SELECT COUNT(DISTINCT id) FROM (SELECT id FROM visits UNION ALL SELECT id FROM payroll) AS b",
        # units of labs are found through visits
        "SELECT SUM(v) FROM (SELECT level AS v FROM labs UNION ALL SELECT pay AS v FROM payroll) AS b",
    ],
)
def test_tables_that_are_kept_apart_are_brought_together_by_no_question(
    files: Clinic, text: str, code: Callable[..., str]
) -> None:
    with obverse.open(files.folder) as session:
        assert code(session.explain, text) == "tables_apart"
        assert code(session.ask, text) == "tables_apart"
        assert session.ledger.spent().amount == 0
        assert session.ask("SELECT COUNT(*) FROM visits", epsilon=1).price.epsilon == "1"


def test_a_table_past_its_last_day_refuses(
    files: Clinic, code: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SELECT SUM(pay) FROM payroll"
    with obverse.open(files.folder) as session:
        prepared = session.prepare(text, obverse.session.planning.Wish())
        monkeypatch.setattr("obverse.session.authorization.today", lambda: dt.date(2999, 12, 31))
        session.explain(text)
        monkeypatch.setattr("obverse.session.authorization.today", lambda: dt.date(3000, 1, 1))
        assert code(session.ask, text) == "retention_over"
        assert code(session.explain, text) == "retention_over"
        assert code(session.answer, prepared) == "retention_over"
        assert code(session.ask_all, [text]) == "retention_over"
        session.explain("SELECT COUNT(*) FROM visits")
    monkeypatch.setattr("obverse.session.custody.today", lambda: dt.date(3000, 1, 1))
    assert code(collapsed, files.folder, "payroll", ["pay"], what="anonymize", reason="x") == "retention_over"
    with obverse.open(files.folder) as session:
        told = {"what": "publish report", "reason": "x"}
        assert (
            code(counted, session, "payroll", ["pay"], "SELECT COUNT(*) AS m FROM payroll", **told) == "retention_over"
        )
    assert export(files.folder, "ann", "access request").tables[3]["rows"]  # what is there, its person may see


def test_a_table_past_its_last_day_leads_to_nobody_either(
    files: Clinic, code: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = files.folder / "obverse.toml"
    table = "[tables.visits.columns]"
    file.write_text(file.read_text().replace(table, f"retain_until = 2999-12-31\n{table}"))
    monkeypatch.setattr("obverse.session.authorization.today", lambda: dt.date(3000, 1, 1))
    with obverse.open(files.folder) as session:
        assert code(session.ask, "SELECT COUNT(*) FROM labs") == "retention_over"  # whose units are found in visits
        assert session.ledger.spent().amount == 0


def test_a_table_that_is_kept_for_a_purpose_leads_to_nobody_for_another(
    files: Clinic, code: Callable[..., str]
) -> None:
    file = files.folder / "obverse.toml"
    table = "[tables.visits.columns]"
    file.write_text(file.read_text().replace(table, f'purposes = ["quality"]\n{table}'))
    with obverse.open(files.folder) as session:
        # whose units are found in visits
        assert code(session.ask, "SELECT COUNT(*) FROM labs") == "purpose_not_allowed"
        assert session.ledger.spent().amount == 0
    with obverse.open(files.folder, purpose="quality") as session:
        assert session.ask("SELECT COUNT(*) FROM labs", epsilon=1).price.epsilon == "1"


def test_the_record_of_processing_has_every_debit_and_nobodys_name(files: Clinic) -> None:
    with obverse.open(files.folder, purpose="quality") as session:
        session.ask("SELECT COUNT(*) FROM people", epsilon=0.5)
        session.ask("SELECT COUNT(*) FROM people WHERE id = 'ann'", epsilon=0.25)
        session.ask_all(["SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM labs"], epsilon=0.25)
    files.act(requests.suppress, "bob", "objection | of <3 May>")
    collapsed(files.folder, "visits", ["cost"], what="anonymize", reason="for | the board")
    loaded = load_project(files.folder)
    home, opened = open_ledger(loaded)
    record = record_of(loaded.catalog, opened.ledger)
    for one in (opened.ledger, home, loaded.engine):
        one.close()
    assert [(p["kind"], p["purpose"], p["count"], p["epsilon"]) for p in record["processing"]] == [
        ("batch", "quality", 1, "0.5"), ("question", "quality", 2, "0.75"),
    ]  # fmt: skip
    assert record["budget"]["epsilon_spent"] == "1.25"
    assert record["rights"] == [{"act": "suppress", "count": 1}]
    assert record["apart"] == [["payroll", "visits"]]
    text = markdown(record)
    assert "| people | consent | quality | no day declared |" in text
    assert "for \\| the board" in text
    assert not {"ann", "bob"} & set(text.replace("|", " ").split())


def test_a_ledger_whose_list_of_people_is_missing_answers_nothing(files: Clinic, code: Callable[..., str]) -> None:
    done = files.act(requests.suppress, "bob", "objection")
    kept = files.folder / "kept.json"
    assert keep(files.folder, kept) == 1
    assert kept.stat().st_mode & 0o77 == 0
    home = Home(default_home())
    with home.exclusive() as registry:
        registry.statements.execute("DELETE FROM rights")
    with obverse.open(files.folder, purpose="quality") as session:
        session.explain(QUESTIONS[0])
        assert code(session.ask, QUESTIONS[0]) == "rights_missing"
        assert session.ledger.spent().amount == 0
    changed = json.loads(kept.read_text())
    changed["contents"][done.right] = changed["contents"][done.right].replace("bob", "ann")
    (files.folder / "forged.json").write_text(json.dumps(changed))
    assert code(restore, files.folder, files.folder / "forged.json") == "not_kept_here"
    assert code(keep, files.folder, kept) == "file_exists"
    assert code(restore, files.folder, files.folder / "none.json") == "no_such_file"
    assert restore(files.folder, kept) == 1
    assert files.exact()[1] == ((3, 70.5),)
    home.close()


def test_a_person_whose_act_the_ledger_forgot_stays_left_out(files: Clinic) -> None:
    """As after a backup was restored: what no record knows of is in force."""
    with requests.kept(files.folder) as keeper, keeper.opened.registered.exclusive() as datasets:
        content = requests.content_of("suppress", "bob")
        requests.ledger_rights.put(datasets, keeper.opened.dataset.id, [("f" * 32, content)])
    assert files.exact()[1] == ((3, 70.5),)


def test_what_is_wrong_is_refused_before_anything_is_written(files: Clinic, code: Callable[..., str]) -> None:
    before = len(files.records())
    refused = [
        (requests.suppress, ("bob", " "), "no_reason"),
        (requests.suppress, ("bob", "letter of bob, 3 May"), "reason_names_person"),
        (requests.suppress, ("bob", "a letter by bob."), "reason_names_person"),
        (requests.suppress, ("bob", "BOB's own wish"), "reason_names_person"),
        (requests.suppress, ("o'k", "letter of o'k"), "reason_names_person"),
        (requests.suppress, ("Ann Lee", "ann lee, on the phone"), "reason_names_person"),
        (requests.suppress, ("Jos\u00e9", "letter of Jose\u0301"), "reason_names_person"),
        (requests.suppress, (" bob ", "letter of bob"), "reason_names_person"),
        (requests.suppress, ("bob", "letter_bob.pdf"), "reason_names_person"),
        (requests.suppress, ("4711", "letter no. 4,711"), "reason_names_person"),
        (requests.suppress, ("-4711", "letter 04711 of 3 May"), "reason_names_person"),
        (requests.suppress, ("bob", "objection \ud800"), "no_reason"),
        (requests.suppress, ("", "x"), "bad_person"),
        (requests.suppress, ("half \ud800", "x"), "bad_person"),
        (requests.suppress, (None, "x"), "bad_person"),
        (requests.suppress, (1.5, "x"), "bad_person"),
        (requests.correct, ("bob", "people", {"sex": "\udfff"}, "x"), "bad_parameter"),
        (requests.correct, ("bob", "people", {"age": "[" * 100_000}, "x"), "bad_parameter"),
        (requests.lift, ("0" * 32, "x"), "no_such_right"),
        (requests.correct, ("bob", "peple", {"age": 1}, "x"), "unknown_table"),
        (requests.correct, ("bob", "people", {"agee": 1}, "x"), "unknown_column"),
        (requests.correct, ("bob", "people", {"age": "old"}, "x"), "bad_parameter"),
        (requests.correct, ("bob", "people", {}, "x"), "no_columns"),
        (requests.correct, ("bob", "people", {"id": "ann"}, "x"), "correct_at_source"),
        (requests.correct, ("bob", "visits", {"visit": 1}, "x"), "correct_at_source"),
        (requests.correct, ("bob", "labs", {"level": 1}, "x"), "correct_at_source"),
    ]
    for act, args, expected in refused:
        assert code(files.act, act, *args) == expected
    assert len(files.records()) == before
    with requests.kept(files.folder) as keeper:
        assert keeper.contents() == {}
    files.act(requests.suppress, "bob", "objection; a bobsleigh")
    assert code(files.act, requests.erase, "bob", "objection") == "already_left_out"


@pytest.mark.parametrize(
    ("privacy", "unit", "expected"), [("replace", "id", "number_is_public"), ("add-remove", "row", "rows_are_units")]
)
def test_nobody_is_left_out_where_that_would_show_or_nobody_can_be_told(
    tmp_path: Path, privacy: str, unit: str, expected: str, code: Callable[..., str]
) -> None:
    (tmp_path / "t.csv").write_text("id,x\n1,2\n")
    (tmp_path / "obverse.toml").write_text(
        f'[project]\nname = "t"\n[privacy]\nneighbours = "{privacy}"\n[budget]\nepsilon = 1\n[tables.t]\nsource = '
        '"t.csv"\n'
        f'unit = "{unit}"\n[tables.t.columns]\nx = {{ type = "integer", bounds = [0, 9] }}\nid = {{ type = "integer" '
        f"}}\n"
    )
    clinic = Clinic(tmp_path, lambda table, gone: None)
    assert code(clinic.act, requests.suppress, 1, "objection") == expected


def test_a_person_is_named_by_a_key_of_its_type(files: Clinic) -> None:
    with requests.kept(files.folder) as keeper:
        assert requests.person_of(keeper.catalog, 5) == "5"
        with pytest.raises(Refused):
            requests.person_of(keeper.catalog, "x" * 1001)


def test_a_content_that_was_changed_is_missing(files: Clinic) -> None:
    with requests.kept(files.folder) as keeper:
        requests.suppress(keeper, "bob", "objection")
        with keeper.opened.registered.exclusive() as datasets:
            datasets.statements.execute("UPDATE rights SET content = '{}'")
        with pytest.raises(LedgerError) as refused:
            overlay_now(keeper.opened, keeper.catalog)
        assert refused.value.code == "rights_missing"


def test_whom_one_machine_leaves_out_all_machines_do_that_share_the_ledger(
    files: Clinic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBVERSE_TEST_LEDGER", postgres_address())
    toml = files.folder / "obverse.toml"
    shared = '[ledger]\nkind = "postgres"\ndsn_env = "OBVERSE_TEST_LEDGER"\n[engine]'
    toml.write_text(toml.read_text().replace('"clinic"', '"clinic"\ndataset = "clinic"').replace("[engine]", shared))
    homes = [tmp_path / "one", tmp_path / "two"]
    found = []
    for home in homes:
        monkeypatch.setenv("OBVERSE_HOME", str(home))
        found.append(files.exact()[1])
    done = files.act(requests.suppress, "bob", "objection")
    for home in homes:
        monkeypatch.setenv("OBVERSE_HOME", str(home))
        found.append(files.exact()[1])
    files.act(requests.lift, done.right, "given again")
    monkeypatch.setenv("OBVERSE_HOME", str(homes[0]))
    found.append(files.exact()[1])
    assert found == [((5, 101.5),)] * 2 + [((3, 70.5),)] * 2 + [((5, 101.5),)]
