"""The wheel as users get it: built, installed into an empty environment away from the checkout, and run."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import obverse

ROOT = Path(__file__).parent.parent
MEGABYTES_MAX = 190
PACKAGES_MAX = 30
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth", "__pycache__")
pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the checkout")


def run(*args: str | Path, cwd: Path, **variables: str) -> str:
    """The command's stdout, with none of this checkout's paths in reach."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    }
    said = subprocess.run(
        [str(arg) for arg in args], capture_output=True, text=True, cwd=cwd, env={**kept, **variables}
    )
    assert said.returncode == 0, f"{args}\n{said.stdout}\n{said.stderr}"
    return said.stdout


def installed(work: Path) -> Path:
    """A folder of executables in an environment that holds the wheel and what it needs, and nothing else."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", work / "dist", ROOT, cwd=work)
    (wheel,) = (work / "dist").glob("obverse-*.whl")
    venv.create(work / "env", with_pip=True)
    executables = work / "env" / ("Scripts" if os.name == "nt" else "bin")
    lock = ROOT / "requirements" / "dev.txt"
    run(
        executables / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "-c",
        lock,
        wheel,
        cwd=work,
        PIP_DISABLE_PIP_VERSION_CHECK="1",
    )
    return executables


def test_the_wheel_installs_small_and_runs_away_from_the_checkout(tmp_path: Path) -> None:
    """One test, because the environment takes a while to make and is not shared between workers."""
    executables = installed(tmp_path)
    assert run(executables / "obverse", "--version", cwd=tmp_path) == f"obverse {obverse.__version__}\n"

    home = str(tmp_path / "home")
    said = run(executables / "obverse", "demo", "--out", "hospital", "--ask", cwd=tmp_path, OBVERSE_HOME=home)
    assert "about 39 more like this" in said
    assert (tmp_path / "hospital" / "people.parquet").exists()

    code = "import obverse, pathlib; p = pathlib.Path(obverse.__file__).parent; print(p, (p / 'py.typed').exists())"
    place, typed = run(executables / "python", "-c", code, cwd=tmp_path).rsplit(maxsplit=1)
    assert ROOT not in Path(place).parents
    assert typed == "True"
    assert (Path(place) / "collect" / "js" / "obverse-local.js").is_file()
    assert (Path(place) / "server" / "web" / "index.html").is_file()

    others = [entry for entry in Path(place).parent.iterdir() if entry.name.split("-")[0] not in NOT_OURS]
    files = [file for entry in others for file in ([entry] if entry.is_file() else entry.rglob("*")) if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= MEGABYTES_MAX * 10**6
    assert len([entry for entry in others if entry.name.endswith(".dist-info")]) <= PACKAGES_MAX
