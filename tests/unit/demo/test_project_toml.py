from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from obverse.catalog.identity import fingerprint
from obverse.catalog.load import loads
from obverse.core.ledger import Budget
from obverse.demo.project import PROJECT_TOML

BARE = """
[project]
name = "hospital"
[privacy]
epsilon = 0.1
delta = 1e-8
[budget]
epsilon = 4.0
delta = 1e-6
[tables.people]
source = "people.parquet"
unit = "person_id"
[tables.people.columns]
name = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
zip = { type = "text" }
sex = { type = "text", values = ["F", "M", "X"] }
salary = { type = "double", bounds = [0, 500000], grid = 0.01 }
hiv = { type = "boolean" }
joined = { type = "date", bounds = ["2010-01-01", "2030-12-31"] }
[tables.visits]
source = "visits.parquet"
unit = "person_id -> people.person_id"
limits = { rows = 20, groups = 5 }
[tables.visits.columns]
visit_id = { type = "integer" }
clinic = { type = "text", values = "clinics.clinic" }
cost = { type = "double", bounds = [0, 10000], grid = 0.01 }
at = { type = "timestamp", bounds = ["2015-01-01", "2030-12-31"] }
[tables.clinics]
source = "clinics.csv"
public = true
"""


def test_the_sample_declares_what_the_corpus_declares_and_analysts_sizes_and_a_survey_besides() -> None:
    root = Path("/project")
    sample = loads(PROJECT_TOML, root)
    corpus = loads(BARE, root)
    tables = {name: replace(table, rows_about=None) for name, table in sample.tables.items()}
    assert replace(sample, analysts={}, purposes={}, surveys={}, tables=tables, version=1) == corpus
    assert fingerprint(sample) == fingerprint(corpus)
    assert sample.analysts["ana"].budget is None
    assert sample.analysts["ben"].budget == Budget(Fraction(1), Fraction(1, 10**6))
