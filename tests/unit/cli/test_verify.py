"""obverse verify: callables, names of ours and SQL; what it cannot refute, it does not call verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from obverse.cli.main import cli
from obverse.testing.verify import TOML

NOISE = """
import numpy as np
random = np.random.default_rng(1)
def laplace(given, n):
    return np.asarray(given) + random.laplace(0, 1, (n, np.size(given)))
number = 3
"""


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["verify", *args])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "noise_on_trial.py").write_text(NOISE)
    (tmp_path / "obverse.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_callable_that_keeps_its_claim_is_not_refuted_and_not_called_verified(folder: Path) -> None:
    found = run("noise_on_trial:laplace", "--epsilon", "1", "--samples", "20000", "--confidence", "0.999999")
    assert found.exit_code == 0
    assert "is not refuted" in found.stdout
    assert "verified" not in found.stdout


def test_a_claim_that_is_too_small_is_refuted_and_the_exit_says_so(folder: Path) -> None:
    found = run("noise_on_trial:laplace", "--epsilon", "0.5", "--samples", "20000", "--json")
    told = json.loads(found.stdout)
    assert (found.exit_code, told["refuted"]) == (5, True)
    assert told["epsilon_at_least"] > 0.5


def test_bad_neighbours_are_searched_among_lists(folder: Path) -> None:
    """Noise for one number, where four may move."""
    found = run("noise_on_trial:laplace", "--epsilon", "1", "--length", "4", "--samples", "20000", "--json")
    assert found.exit_code == 5
    assert json.loads(found.stdout)["pairs"] > 3
    assert run("noise_on_trial:laplace", "--epsilon", "1", "--left", "[0]", "--right", "[3]").exit_code == 5


@pytest.mark.parametrize("settings", [(), ("--with", "sensitivity=1", "--with", "scale=1/2")])
def test_a_mechanism_of_ours_by_name(settings: tuple[str, ...]) -> None:
    found = run("discrete_laplace", *settings, "--samples", "20000", "--confidence", "0.999999", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["claimed"] == (2 if settings else 1)


@pytest.mark.parametrize("name", ["sparse_vector", "key_threshold", "exponential", "discrete_gaussian", "randomized_response"])
def test_every_kind_of_mechanism_can_be_named(name: str) -> None:
    assert run(name, "--samples", "4000", "--confidence", "0.999999").exit_code == 0


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sparse_vector", "sensitivity=1 epsilon=1 threshold=5 first=1 monotone=true"),
        ("key_threshold", "groups=1 epsilon=1 delta=0.01 reach=1"),
        ("exponential", "sensitivity=1 epsilon=1"),
        ("randomized_response", "categories=3 truth=0.5"),
        ("direct", "size=5 epsilon=2"),
    ],
)
def test_parameters_are_those_of_the_mechanism_or_size_and_epsilon_of_a_protocol(name: str, settings: str) -> None:
    options = [part for setting in settings.split() for part in ("--with", setting)]
    found = run(name, *options, "--samples", "4000", "--confidence", "0.999999")
    assert found.exit_code == 0, found.output


def test_a_question_is_tried_on_made_up_neighbours_and_opens_no_file(folder: Path) -> None:
    found = run("SELECT s, COUNT(*) AS n FROM t GROUP BY s", "--epsilon", "1", "--confidence", "0.999999", "--json")
    told = json.loads(found.stdout)
    assert (found.exit_code, told["claimed"], told["refuted"]) == (0, 1.0, False)
    assert 0.5 < told["epsilon_at_least"] <= 1
    assert "without that unit" in told["inputs"]
    keys = run("SELECT x, COUNT(*) FROM t GROUP BY x", "--epsilon", "1", "--delta", "0.001", "--samples", "300")
    assert keys.exit_code == 0, keys.output


def test_under_replace_the_neighbours_have_as_many_rows(folder: Path) -> None:
    (folder / "obverse.toml").write_text(
        TOML.replace("[budget]", '[privacy]\nneighbours = "replace"\n[budget]').replace('unit = "u"', 'unit = "row"\nsize = 5')
    )
    told = json.loads(run("SELECT SUM(x) FROM t", "--epsilon", "1", "--samples", "4000", "--json").stdout)
    assert "without that unit" not in told["inputs"]


def test_what_is_no_target_is_refused_with_a_suggestion(folder: Path) -> None:
    found = run("discrete_laplac", "--json")
    assert json.loads(found.stdout)["error"]["code"] == "no_target"
    assert "Did you mean 'discrete_laplace'?" in found.stdout
    for target in ("noise_on_trial:nothing", "noise_on_trial:number", "nowhere.at:all", "SELECT s FROM t GROUP BY s"):
        assert run(target).exit_code == 3
    found = run("discrete_laplace", "--with", "colour=3", "--json")
    assert json.loads(found.stdout)["error"]["code"] == "bad_parameter"
    assert run("discrete_laplace", "--with", "scale").exit_code == 2
    assert run("discrete_laplace", "--left", "[0]").exit_code == 2
    assert run("discrete_laplace", "--left", "x", "--right", "y").exit_code == 2
