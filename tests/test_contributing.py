"""The worked example of CONTRIBUTING.md, performed: a file and its lines in a copy of the source, and the suite run
on it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
ASKED = """
import sys
from ast import literal_eval
from pathlib import Path
import obverse
from obverse.testing import noiseless
with noiseless(Path(sys.argv[1])) as session:
    print(session.ask("SELECT SUM(HEAVISIDE(age - 64)) AS older, COUNT(*) FILTER (WHERE age > 64) AS counted FROM \
people").rows)
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def patched(path: Path, diff: str) -> None:
    """Lines that begin with - are replaced by the + lines after them; a + line with no - goes among the imports."""
    text = path.read_text()
    gone = ""
    for line in diff.splitlines():
        if line.startswith("-"):
            gone = line[1:]
            assert text.count(gone) == 1, "the line that is changed is there once"
        elif gone:
            text = text.replace(gone, line[1:])
            gone = ""
        else:
            first = text.index("from obverse.plan.functions.text")
            text = f"{text[:first]}{line[1:]}\n{text[first:]}"
    path.write_text(text)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source with the function in it."""
    copy = tmp_path_factory.mktemp("contributed")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (code,) = blocks("python")
    registry, spelling = blocks("diff")
    folder = copy / "src" / "obverse"
    (folder / "plan" / "functions" / "steps.py").write_text(code)
    patched(folder / "plan" / "functions" / "__init__.py", registry)
    patched(folder / "sql" / "functions.py", spelling)
    return copy


def run(grown: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": f"{grown / 'src'}{os.pathsep}{ROOT}"}
    return subprocess.run([sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)


SUITE = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "tests/conformance/test_functions.py")
ON_DUCKDB = "test_a_function_is_total_within_its_facts_and_equal_to_its_reference[heaviside]"


def test_the_function_of_the_guide_passes_the_suite(grown: Path) -> None:
    found = run(grown, *SUITE, "-k", ON_DUCKDB.replace("[", " and ").rstrip("]"))
    assert found.returncode == 0, found.stdout
    assert "1 passed" in found.stdout or found.stdout.startswith("."), found.stdout


def test_the_suite_notices_bounds_that_are_wrong(grown: Path) -> None:
    path = grown / "src" / "obverse" / "plan" / "functions" / "steps.py"
    good = path.read_text()
    path.write_text(good.replace("Interval(Fraction(0), Fraction(1))", "Interval(Fraction(0), Fraction(0))"))
    try:
        found = run(grown, *SUITE, "-k", ON_DUCKDB.replace("[", " and ").rstrip("]"))
    finally:
        path.write_text(good)
    assert found.returncode == 1, found.stdout


def test_the_function_of_the_guide_can_be_asked_for(grown: Path, tmp_path: Path) -> None:
    made = run(grown, "-m", "obverse", "demo", "--out", str(tmp_path / "hospital"))
    assert made.returncode == 0, made.stderr
    found = run(grown, "-c", ASKED, str(tmp_path / "hospital"))
    assert found.returncode == 0, found.stderr
    ((older, counted),) = literal_eval(found.stdout)
    assert older == counted > 0
