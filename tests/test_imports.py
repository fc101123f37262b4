"""What is loaded when: a plain import and the help must stay light."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import obverse

HEAVY = (
    "duckdb",
    "sqlglot",
    "numpy",
    "pydantic",
    "fastapi",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "altair",
    "sqlite3",
    "cryptography",
)
STATEMENTS = {
    "import": "import obverse",
    "help": "import obverse.cli.main as m, sys; sys.argv = ['obverse', '--help']; run(m.main)",
    "version": "import obverse.cli.main as m, sys; sys.argv = ['obverse', '--version']; run(m.main)",
    "help of ask": "import obverse.cli.main as m, sys; sys.argv = ['obverse', 'ask', '--help']; run(m.main)",
    "help of attack": "import obverse.cli.main as m, sys; sys.argv = ['obverse', 'attack', '--help']; run(m.main)",
    "help of account": "import obverse.cli.main as m, sys; sys.argv = ['obverse', 'account', '--help']; run(m.main)",
    "help of verify": "import obverse.cli.main as m, sys; sys.argv = ['obverse', 'verify', '--help']; run(m.main)",
    "help of publish": "import obverse.cli.main as m, sys; sys.argv = ['obverse', 'publish', '--help']; run(m.main)",
    "help of explore": "import obverse.cli.main as m, sys; sys.argv = ['obverse', 'explore', '--help']; run(m.main)",
    "help of learn": "import obverse.cli.main as m, sys; sys.argv = ['obverse', 'learn', '--help']; run(m.main)",
    "help of serve": "import obverse.cli.main as m, sys; sys.argv = ['obverse', 'serve', '--help']; run(m.main)",
    "help of ledger": "import obverse.cli.main as m, sys; sys.argv = ['obverse', 'ledger', '--help']; run(m.main)",
}
RUN = """
import sys
def run(main):
    try:
        main()
    except SystemExit as exit:
        assert not exit.code, exit.code
"""


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_nothing_heavy_is_loaded(statement: str) -> None:
    code = f"{RUN}\n{statement}\nprint([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": str(Path(obverse.__file__).parent.parent)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert said.stderr.strip() == "[]"


def test_the_public_names_are_exactly_those_of_all() -> None:
    assert dir(obverse) == obverse.__all__
    for name in obverse.__all__:
        assert getattr(obverse, name) is not None
    with pytest.raises(AttributeError):
        _ = obverse.nothing  # type: ignore[attr-defined]
