"""What a hostile review of the whole found once, and must never be found again."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.core.errors import CatalogError, LedgerError, ObverseError, Refused
from obverse.curator.check import check
from obverse.demo.project import write_demo

ROWS = """
[project]
name = "rows"
[privacy]
neighbours = "{neighbours}"
accounting = "{accounting}"
epsilon = 0.5
delta = 1e-8
[budget]
epsilon = 3
delta = 1e-3
[tables.t]
source = "{source}"
unit = "row"
[tables.t.columns]
h = {{ type = "integer", bounds = [0, 96] }}
note = {{ type = "text", hidden = true }}
"""


def project(
    folder: Path, content: bytes, source: str = "t.csv", neighbours: str = "add-remove", accounting: str = "pure"
) -> Path:
    folder.mkdir(parents=True)
    (folder / source).write_bytes(content)
    (folder / "obverse.toml").write_text(ROWS.format(source=source, neighbours=neighbours, accounting=accounting))
    return folder


GOOD = b"h,note\n" + b"".join(b"%d,ok\n" % (i % 90) for i in range(300))


@pytest.mark.parametrize(
    "row",
    [
        b"60,a\rb\r61,c\n",
        b'60,"zoe\n',
        b'60,"zoe\n61,"bob"\n',
        b"60\n",
        b"60,a,b\n",
        b"60,\xff\n",
        b"60,a\r61,b\n",
        b'60,e"v"e"\n60,"\n',
    ],
    ids=repr,
)
def test_a_csv_file_in_which_one_text_could_make_or_swallow_records_is_refused(tmp_path: Path, row: bytes) -> None:
    folder = project(tmp_path / "p", GOOD + row + GOOD.split(b"\n", 1)[1])
    with pytest.raises(CatalogError) as refused:
        obverse.open(folder)
    assert refused.value.code == "source_unreadable"
    assert "zoe" not in str(refused.value)
    assert [f.level for f in check(folder) if f.error is not None] == ["error"]


@pytest.mark.parametrize(
    "row",
    [b'60,"a\nb"\n', b'60,"a\r\nb"\n', b'60,"a ""b"" c"\n', b'60,"x,y"\n', b"60,\n", b",\n", b"60,caf\xc3\xa9\n"],
    ids=repr,
)
def test_a_well_formed_csv_record_is_one_record(tmp_path: Path, row: bytes) -> None:
    with obverse.open(project(tmp_path / "p", GOOD + row)) as session:
        answer = session.ask("SELECT COUNT(*) FROM t", epsilon=Fraction(3))
        assert abs(int(str(answer.value)) - 301) < 60  # false alarm below exp(-180)


def parquet(path: Path, sql: str) -> None:
    import duckdb

    duckdb.connect().execute(f"COPY ({sql}) TO '{path}'")


def test_a_parquet_value_that_the_engine_cannot_read_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    times = pyarrow.array([0, 1, 2**61], pyarrow.int64()).view(pyarrow.timestamp("ms"))
    folder = tmp_path / "p"
    folder.mkdir()
    writer.write_table(pyarrow.table({"h": [1, 2, 3], "note": times}), folder / "t.parquet", coerce_timestamps=None)
    (folder / "obverse.toml").write_text(ROWS.format(source="t.parquet", neighbours="add-remove", accounting="pure"))
    with pytest.raises(CatalogError) as refused:
        obverse.open(folder)
    assert refused.value.code == "source_unreadable"


@pytest.mark.parametrize("odd", ["zoe", 2**70, b"x", [1], float("nan"), None])
def test_a_frame_of_python_objects_is_read_as_text_whatever_one_value_is(tmp_path: Path, odd: Any) -> None:
    pandas = pytest.importorskip("pandas")
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "obverse.toml").write_text(ROWS.format(source="python", neighbours="add-remove", accounting="pure"))
    frame = pandas.DataFrame({"h": pandas.Series([*range(90), odd], dtype=object), "note": ["n"] * 91})
    with obverse.open(folder, tables={"t": frame}) as session:
        answer = session.ask("SELECT COUNT(h) FROM t", epsilon=Fraction(3))
        assert abs(int(str(answer.value)) - 90) < 60  # false alarm below exp(-170)


def test_a_path_that_the_engine_would_read_as_a_pattern_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError) as refused:
        obverse.open(project(tmp_path / "p[12]", GOOD))
    assert refused.value.code == "bad_source"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t WHERE CLAMP(h, CASE WHEN h > 0 THEN 0 END, 10) > 5",
        "SELECT SUM(CLAMP(h, 0, CASE WHEN h < 3 THEN 0 END)) FROM t",
        "SELECT SUM(ROUND(h * 1.5, CASE WHEN h > 1 THEN 2 END)) FROM t",
    ],
)
def test_a_limit_that_may_be_null_is_no_limit(tmp_path: Path, sql: str) -> None:
    with obverse.open(project(tmp_path / "p", GOOD)) as session, pytest.raises(Refused) as refused:
        session.explain(sql)
    assert refused.value.code == "type_error"


def test_nested_functions_cannot_blow_up_the_engine_text(tmp_path: Path) -> None:
    nested = "h"
    for _ in range(40):
        nested = f"CLAMP({nested}, 0, 90)"
    with obverse.open(project(tmp_path / "p", GOOD)) as session, pytest.raises(Refused) as refused:
        session.explain(f"SELECT SUM({nested}) FROM t")
    assert refused.value.code == "too_complex"


@pytest.mark.parametrize("literal", ["'nan'", "'1e400'", "'inf'", "'-Infinity'"])
def test_a_text_that_reads_as_no_finite_number_is_refused(tmp_path: Path, literal: str) -> None:
    with obverse.open(project(tmp_path / "p", GOOD)) as session, pytest.raises(Refused) as refused:
        session.ask(f"SELECT COUNT(*) FROM t WHERE h > {literal}")
    assert refused.value.code == "type_error"


def test_half_a_character_is_refused_before_the_ledger_sees_it(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p", GOOD)) as session, pytest.raises(Refused) as refused:
        session.ask("SELECT COUNT(*) FROM t WHERE '\ud800' = 'a'")
    assert refused.value.code == "parse_error"


def test_under_zcdp_a_batch_states_epsilon_at_the_delta_beside_it(tmp_path: Path) -> None:
    from obverse.accounting import zcdp

    with obverse.open(project(tmp_path / "p", GOOD, accounting="zcdp")) as session:
        before = session.ledger.spent().amount
        answers = session.ask_all(["SELECT COUNT(*) FROM t", "SELECT SUM(h) FROM t"])
        rho = session.ledger.spent().amount - before
    claimed = answers[0].claim
    assert Fraction(claimed.epsilon) >= zcdp.epsilon_of(rho, Fraction(claimed.delta)) * Fraction(999999, 1000000)


def test_a_tight_batch_is_exceeded_with_probability_at_most_delta() -> None:
    pytest.importorskip("dp_accounting")
    from math import comb, exp

    from obverse.accounting.pld import certain
    from obverse.core.loss import PureLoss

    times = 40
    delta = Fraction(1, 10**6)
    found = certain([PureLoss(Fraction(1, 10))] * times, delta)
    truth = exp(0.1) / (1 + exp(0.1))  # the worst epsilon-DP mechanism: losses of +-0.1, + with this probability
    over = sum(
        comb(times, k) * truth**k * (1 - truth) ** (times - k)
        for k in range(times + 1)
        if 0.1 * (2 * k - times) > found.epsilon
    )
    assert over <= delta
    assert found.epsilon < Fraction(4)


def test_a_sample_written_over_deleted_real_data_resets_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    write_demo(folder)
    for name in ("people.parquet", "visits.parquet", "manifest.json"):
        (folder / name).unlink()
    parquet(
        folder / "people.parquet",
        "SELECT 1 AS person_id, 'a' AS name, 30 AS age, 'z' AS zip, 'F' AS sex, 1.0 AS salary, true AS hiv, "
        "DATE '2020-01-01' AS joined",
    )
    parquet(
        folder / "visits.parquet",
        "SELECT 1 AS visit_id, 1 AS person_id, 'x' AS clinic, 1.0 AS cost, TIMESTAMP '2020-01-01' AS at",
    )
    with obverse.open(folder) as session:
        session.ask("SELECT COUNT(*) FROM people", epsilon=4)
    real = (folder / "people.parquet").read_bytes()
    shutil.rmtree(folder / ".obverse")
    for name in ("people.parquet", "visits.parquet"):
        (folder / name).unlink()
    write_demo(folder)
    (folder / "people.parquet").write_bytes(real)
    with pytest.raises(LedgerError) as refused:
        obverse.open(folder)
    assert refused.value.code == "ledger_missing"


def test_a_sample_written_anew_where_one_was_deleted_has_a_budget_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    for _ in range(2):
        write_demo(folder)
        with obverse.open(folder) as session:
            assert session.ask("SELECT COUNT(*) FROM people").remaining.epsilon == "3.9"
        shutil.rmtree(folder)


def test_projects_that_name_one_dataset_spend_one_budget(tmp_path: Path) -> None:
    left = []
    for name in ("a", "b"):
        folder = project(tmp_path / name, GOOD + name.encode() * 3 + b",x\n")
        toml = (folder / "obverse.toml").read_text()
        (folder / "obverse.toml").write_text(toml.replace('name = "rows"', 'name = "rows"\ndataset = "hospital"'))
        with obverse.open(folder) as session:
            left.append(session.ask("SELECT COUNT(*) FROM t", epsilon=1).remaining.epsilon)
    assert left == ["2", "1"]


def test_what_is_known_as_private_cannot_be_declared_public(tmp_path: Path) -> None:
    folder = project(tmp_path / "p", GOOD)
    obverse.open(folder).close()
    (tmp_path / "q").mkdir()
    shutil.copy(folder / "t.csv", tmp_path / "q" / "copy.csv")
    (tmp_path / "q" / "obverse.toml").write_text(
        '[project]\nname = "q"\n[tables.t]\nsource = "copy.csv"\npublic = true\n'
    )
    with pytest.raises(CatalogError) as refused:
        obverse.open(tmp_path / "q")
    assert refused.value.code == "public_is_private"


def test_rows_cannot_be_said_to_belong_to_other_units_once_losses_were_counted(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    write_demo(folder)
    obverse.open(folder).close()
    toml = (folder / "obverse.toml").read_text()
    (folder / "obverse.toml").write_text(toml.replace('unit = "person_id -> people', 'unit = "visit_id -> people'))
    with pytest.raises(ObverseError) as refused:
        obverse.open(folder)
    assert refused.value.code in ("terms_conflict", "bad_unit")


def test_the_type_of_the_units_key_cannot_change_once_losses_were_counted(tmp_path: Path) -> None:
    folder = project(tmp_path / "p", b"h,note\n1,a\n01,b\n")
    toml = (folder / "obverse.toml").read_text().replace('unit = "row"', 'unit = "h"')
    (folder / "obverse.toml").write_text(toml)
    obverse.open(folder).close()
    (folder / "obverse.toml").write_text(
        toml.replace('h = { type = "integer", bounds = [0, 96] }', 'h = { type = "text" }')
    )
    with pytest.raises(ObverseError) as refused:
        obverse.open(folder)
    assert refused.value.code == "terms_conflict"
    assert "(integer)" in refused.value.fix
