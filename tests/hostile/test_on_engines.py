"""The SQL of the corpus on every engine: the verdicts, words and prices of DuckDB, and answers where it answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.core.types import Type
from obverse.testing import synthetic
from obverse.testing.synthetic import kind_of
from tests.hostile.conftest import ROOMY, Hospital, hospital_with
from tests.hostile.test_corpus import LINES, assert_untouched, question
from tests.servers import postgres_address, spark_session

READER = "corpus_reader"
DSN = "OBVERSE_TESTS_CORPUS"
TYPES = {Type.INTEGER: "BIGINT", Type.DOUBLE: "DOUBLE PRECISION"}
PLANTED = {"eve": ("eve",), "nobody": (), "mallory": ("eve", "mallory")}


def on_spark(tables: dict[str, Any], folder: Path) -> Path:
    spark_session()  # the small one of the tests, which the engine finds
    toml = ROOMY.replace('kind = "duckdb"', 'kind = "spark"').replace("clinics.csv", "clinics.parquet")
    return synthetic(tables, toml, folder)


def on_postgres(tables: dict[str, Any], folder: Path) -> Path:
    import psycopg

    address = postgres_address()
    variable = f"{DSN}_{folder.name}"
    os.environ[variable] = address.replace("postgres:@", f"{READER}@")
    with psycopg.connect(address, autocommit=True) as owner:
        if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (READER,)).fetchone():
            owner.execute(f"CREATE ROLE {READER} LOGIN")
        owner.execute(f"CREATE SCHEMA clinic; GRANT USAGE ON SCHEMA clinic TO {READER}")
        for name, columns in tables.items():
            kinds = {column: kind_of(values) for column, values in columns.items()}
            listed = ", ".join(f'"{column}" {TYPES.get(kind, kind.value.upper())}' for column, kind in kinds.items())
            owner.execute(f"CREATE TABLE clinic.{name} ({listed}); GRANT SELECT ON clinic.{name} TO {READER}")
            with owner.cursor().copy(f"COPY clinic.{name} FROM STDIN") as copy:
                for row in zip(*columns.values()):
                    copy.write_row(row)
    toml = ROOMY.replace('kind = "duckdb"', f'kind = "postgres"\ndsn_env = "{variable}"')
    for name in tables:
        toml = toml.replace(f'"{name}.parquet"', f'"clinic.{name}"').replace(f'"{name}.csv"', f'"clinic.{name}"')
    (folder / "obverse.toml").write_text(toml)
    return folder


MADE = {"postgres": on_postgres, "spark": on_spark}
DATABASES = {"postgres": ("eve", "nobody", "mallory"), "spark": ("mallory",)}  # the last has all that could go wrong


@pytest.fixture(scope="module")
def others(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Hospital]]]:
    """The corpus's databases on the other engines, each made when it is first asked for."""
    opened: dict[str, dict[str, Hospital]] = Made(tmp_path_factory)
    yield opened
    for each in opened.values():
        for one in each.values():
            one.session.close()


class Made(dict[str, dict[str, Hospital]]):
    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self.folders = folders

    def __missing__(self, kind: str) -> dict[str, Hospital]:
        projects = {
            name: MADE[kind](hospital_with(*PLANTED[name]), self.folders.mktemp(name)) for name in DATABASES[kind]
        }
        self[kind] = {name: Hospital(obverse.open(folder)) for name, folder in projects.items()}
        return self[kind]


def verdicts(*wanted: str) -> list[dict[str, Any]]:
    return [line for line in LINES if line["expected"]["verdict"] in wanted]


@pytest.mark.parametrize("kind", MADE)
def test_what_is_refused_is_refused_in_the_same_words_before_an_engine_is_asked(
    kind: str, others: dict[str, dict[str, Hospital]], with_eve: Hospital
) -> None:
    here = others[kind][DATABASES[kind][0]]
    for line in verdicts("refuse"):
        asked = here.ask(question(line))
        assert_untouched(asked)
        assert asked.words == with_eve.ask(question(line)).words, line["id"]


@pytest.mark.parametrize("kind", MADE)
def test_what_is_answered_is_answered_and_charged(
    kind: str, others: dict[str, dict[str, Hospital]], hospitals: dict[str, Hospital]
) -> None:
    here = others[kind]
    name = DATABASES[kind][-1]
    for line in verdicts("answer", "invariant"):
        asked = here[name].ask(question(line))
        assert asked.outcome == "answer", (line["id"], asked.words)
        same = hospitals[name].ask(question(line))
        assert (asked.shape[0], asked.shape[2:]) == (same.shape[0], same.shape[2:]), line["id"]
        assert asked.charges in (("charge", "settle"), ()), line["id"]
        assert asked.answer is not None
        if line["expected"]["spends"] is False:  # public tables alone
            assert sorted(asked.answer.rows) == sorted(same.answer.rows), line["id"]
        else:
            assert asked.charges or asked.answer.price.stored, line["id"]


@pytest.mark.parametrize("kind", MADE)
def test_either_verdict_is_that_of_duckdb_on_every_neighbour(
    kind: str, others: dict[str, dict[str, Hospital]], hospitals: dict[str, Hospital]
) -> None:
    for line in verdicts("refuse_or_answer"):
        seen = {one.ask(question(line)).seen for one in (*others[kind].values(), hospitals["eve"])}
        assert len(seen) == 1, line["id"]
