"""A local Spark starts without a word, and says why where it does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from obverse.engines.spark_session import logs_of_their_own
from tests.servers import spark_session

TOML = """
[project]
name = "p"
[engine]
kind = "spark"
[budget]
epsilon = 4
[tables.people]
source = "people.parquet"
unit = "row"
"""


def asked(folder: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    pq.write_table(pa.table({"id": list(range(100))}), folder / "people.parquet")
    (folder / "obverse.toml").write_text(TOML)
    main = "from obverse.cli.main import main; main()"
    command = [sys.executable, "-c", main, "ask", "SELECT COUNT(*) FROM people", "--epsilon", "1"]
    return subprocess.run(command, cwd=folder, env=os.environ | changed, capture_output=True, text=True, timeout=300)


def test_nothing_of_spark_stands_beside_an_answer(tmp_path: Path) -> None:
    spark_session()  # what it needs, this needs
    done = asked(tmp_path)
    assert done.returncode == 0, done.stderr
    for said in ("WARN", "log4j", "log level", "spark"):
        assert said.lower() not in done.stderr.lower()
    assert done.stdout.strip()


def test_why_spark_does_not_start_is_shown(tmp_path: Path) -> None:
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "java").write_text("#!/bin/sh\necho this java is broken >&2\nexit 1\n")
    (broken / "java").chmod(0o755)
    done = asked(tmp_path, JAVA_HOME=str(tmp_path))
    assert done.returncode != 0
    assert "this java is broken" in done.stderr
    assert "Spark cannot be reached, or cannot be started" in done.stderr


@pytest.mark.parametrize("name", ["PYSPARK_SUBMIT_ARGS", "JDK_JAVA_OPTIONS"])
def test_whoever_chose_how_spark_logs_keeps_it(name: str, tmp_path: Path) -> None:
    assert logs_of_their_own({name: "-Dlog4j2.configurationFile=mine.xml"})
    assert not logs_of_their_own({name: "-Xmx1g", "SPARK_CONF_DIR": str(tmp_path), "SPARK_HOME": str(tmp_path)})
    (tmp_path / "log4j2.properties").touch()
    assert logs_of_their_own({"SPARK_CONF_DIR": str(tmp_path)})
    (tmp_path / "conf").mkdir()
    assert not logs_of_their_own({"SPARK_HOME": str(tmp_path)})
    (tmp_path / "conf" / "log4j2.xml").touch()
    assert logs_of_their_own({"SPARK_HOME": str(tmp_path)})
