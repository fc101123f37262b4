"""The pytest plug-in: a test says `assert not refutes(mechanism, epsilon)` and fails where the claim is false."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import obverse
from obverse.attack.lower_bound.trial import pairs
from obverse.testing.plugin import refute

TESTS = """
import numpy as np
random = np.random.default_rng(1)

def noise(given, n):
    return given + np.rint(random.laplace(0, 1, n) * 1024) / 1024

def test_stands(refutes):
    assert not refutes(noise, 1.0, samples=20_000)

def test_falls(refutes):
    assert not refutes(noise, 0.5, samples=20_000)
"""


def test_the_fixture_fails_a_test_whose_claim_is_false_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS)
    environment = {**os.environ, "PYTHONPATH": str(Path(obverse.__file__).parent.parent)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "obverse.testing.plugin",
        "-p",
        "no:cacheprovider",
        "-q",
        str(tmp_path),
    ]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert "1 failed, 1 passed" in found.stdout, found.stdout + found.stderr
    assert "Refuted: the claim of epsilon 0.5 is false" in found.stdout


def test_lists_and_deltas_are_taken() -> None:
    random = np.random.default_rng(2)

    def noise(given, n):
        return np.asarray(given) + np.rint(random.normal(0, 10, (n, len(given))) * 1024) / 1024

    found = refute(noise, 1.0, pairs=pairs(3), delta=1e-5, samples=4_000)
    assert not found
    assert "not refuted" in repr(found)
