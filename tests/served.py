"""A small hospital to be served, with neighbours, and the accounts that reach it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from obverse.curator import accounts

TOML = """
[project]
name = "hospital"
[privacy]
epsilon = 0.1
delta = 1e-8
[budget]
epsilon = 50
delta = 1e-6
[analysts.ana]
[analysts.ben]
epsilon = 1
purposes = ["quality"]
[purposes.quality]
epsilon = 40
[purposes.research]
epsilon = 40
[tables.people]
source = "people.parquet"
unit = "person_id"
rows_about = 1000
[tables.people.columns]
age = { type = "integer", bounds = [0, 120] }
sex = { type = "text", values = ["F", "M"] }
town = { type = "text" }
born = { type = "date", bounds = ["1900-01-01", "2030-01-01"] }
[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = { rows = 5, groups = 3 }
rows_about = 5000
[tables.visits.columns]
clinic = { type = "text", values = "clinics.clinic" }
cost = { type = "double", bounds = [0, 1000], grid = 0.01 }
[tables.trials]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = { rows = 5 }
rows_about = 5000
purposes = ["research"]
[tables.trials.columns]
cost = { type = "double", bounds = [0, 1000], grid = 0.01 }
[tables.clinics]
source = "clinics.csv"
public = true
[tables.clinics.columns]
clinic = { type = "text" }
"""
PEOPLE = 500


def project(folder: Path, toml: str = TOML, *, people: int = PEOPLE, without: Sequence[int] = ()) -> Path:
    """A project folder: `people` persons of whom some are left out, with three visits each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "obverse.toml").write_text(toml)
    left_out = ", ".join(map(str, (-1, *without)))
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (SELECT i AS person_id, (i * 7) % 90 AS age, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
                         'town ' || (i % 5) AS town, DATE '1950-01-01' + CAST(i % 900 AS INTEGER) AS born
                  FROM range({people}) AS r(i) WHERE i NOT IN ({left_out})) TO '{folder}/people.parquet'""")
        connection.execute(f"""
            COPY (SELECT i AS visit_id, i // 3 AS person_id, ['Cardiology', 'Oncology', 'Surgery'][1 + i % 3] AS clinic,
                         (i % 100) * 1.5 AS cost
                  FROM range({3 * people}) AS r(i) WHERE i // 3 NOT IN ({left_out})) TO '{folder}/visits.parquet'""")
    (folder / "clinics.csv").write_text("clinic\nCardiology\nOncology\nSurgery\n")
    return folder


def tokens(folder: Path) -> dict[str, str]:
    """A token of one account of each role, and of a second analyst."""
    names = {"ana": "analyst", "ben": "analyst", "cora": "curator", "rita": "reviewer"}
    return {name: accounts.issue(folder, name, role).token for name, role in names.items()}  # type: ignore[arg-type]
