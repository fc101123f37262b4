"""What children of a service need is there before they are forked, and costs none of them anything."""

from __future__ import annotations

import datetime as dt
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from obverse.session.planning import Wish, plan, read
from obverse.session.project import load_project
from tests import served

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
QUESTIONS = (
    "SELECT COUNT(*) FROM people",
    "SELECT sex, AVG(age), MEDIAN(born) FROM people GROUP BY sex",
    "SELECT town, COUNT(*) FROM people GROUP BY town",
    "SELECT clinic, SUM(cost), COUNT(DISTINCT person_id) FROM visits GROUP BY clinic",
)
CHILD = """
import pickle, sys
from obverse.server.sandbox import zygote
catalog = pickle.loads(open(sys.argv[1], "rb").read())
zygote._preload("duckdb")
before = set(sys.modules)
from obverse.core.rng import Rng
from obverse.server.sandbox import protocol
from obverse.server.sandbox.worker import Inside
from obverse.session.execution import released
from obverse.session.project import engine_of
engine = engine_of(Inside(catalog, 1000, 1).limited())
for costed, sql in pickle.loads(open(sys.argv[2], "rb").read()):
    protocol.finished_bytes(released(costed, sql, engine, Rng()))
print(sorted(set(sys.modules) - before))
"""


def test_a_child_imports_nothing_to_answer(tmp_path: Path) -> None:
    project = load_project(served.project(tmp_path / "p"))
    now = dt.datetime.now()
    planned = [plan(sql, read(sql, project.catalog, now), project.catalog, Wish(), sql) for sql in QUESTIONS]  # type: ignore[arg-type]
    places = tmp_path / "catalog", tmp_path / "questions"
    places[0].write_bytes(pickle.dumps(project.catalog))
    places[1].write_bytes(pickle.dumps([(one.costed, one.sql) for one in planned]))
    project.engine.close()
    assert _said(CHILD, *map(str, places)) == "[]"


ALONE = """
import os
from obverse.engines import base as ahead
{change}
ahead.ready("duckdb")
print(compiled, len(os.listdir("/proc/self/task")))
"""
AS_IT_IS = """
compiled, real = 0, ahead._grammar
def counted():
    global compiled
    compiled += 1
    real()
ahead._grammar = counted
"""
WITH_A_CONNECTION = """
compiled = 0
def opening():
    global compiled
    compiled += 1
    import duckdb
    opening.held = duckdb.connect(":memory:")
ahead._grammar = opening
"""
FAILING = """
compiled = 0
def failing():
    raise RuntimeError
ahead._grammar = failing
"""


@pytest.mark.parametrize(("change", "compiled"), [(AS_IT_IS, 1), (WITH_A_CONNECTION, 0), (FAILING, 0)])
def test_the_grammar_is_compiled_ahead_where_that_opens_no_connection(change: str, compiled: int) -> None:
    """With this release of DuckDB it does not; with one that did, or that has no such call, children compile it
    themselves.
    """
    assert _said(ALONE.format(change=change)) == f"{compiled} 1"


def _said(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # as a cage has it
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=alone).stdout.strip()
