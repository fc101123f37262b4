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
    return np.asarray(given) + np.rint(1024 * random.laplace(0, 1, (n, np.size(given)))) / 1024
def textbook(given, n):
    return given + random.laplace(0, 1, n)
number = 3
def broken(given, n):
    raise ValueError('no noise today')
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


def test_noise_in_floating_point_is_refuted_by_its_last_bits(folder: Path) -> None:
    found = run("noise_on_trial:textbook", "--epsilon", "1", "--samples", "9900", "--json")
    told = json.loads(found.stdout)
    assert (found.exit_code, told["refuted"]) == (5, True)
    assert "multiple of 2^" in told["event"] or "reaches the output" in told["event"]


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


@pytest.mark.parametrize(
    "name", ["sparse_vector", "key_threshold", "exponential", "discrete_gaussian", "randomized_response"]
)
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
    sure = ("--samples", "300", "--confidence", "0.999999")
    keys = run("SELECT x, COUNT(*) FROM t GROUP BY x", "--epsilon", "1", "--delta", "0.001", *sure)
    assert keys.exit_code == 0, keys.output


def test_under_replace_the_neighbours_have_as_many_rows(folder: Path) -> None:
    (folder / "obverse.toml").write_text(
        TOML.replace("[budget]", '[privacy]\nneighbours = "replace"\n[budget]').replace(
            'unit = "u"', 'unit = "row"\nsize = 5'
        )
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


def test_a_function_that_fails_is_told_in_a_sentence_with_its_line(folder: Path) -> None:
    error = json.loads(run("noise_on_trial:broken", "--epsilon", "1", "--json").stdout)["error"]
    assert error["code"] == "target_failed"
    assert "ValueError: no noise today" in error["message"]
    line = NOISE.splitlines().index("    raise ValueError('no noise today')") + 1
    assert f"noise_on_trial.py, line {line}" in error["why"]
    (folder / "half_written.py").write_text("def f(given, n:\n")
    assert json.loads(run("half_written:f", "--json").stdout)["error"]["code"] == "no_target"


@pytest.mark.parametrize(
    ("name", "left", "right", "code"),
    [
        ("discrete_laplace", '"a"', '"b"', "bad_parameter"),
        ("discrete_laplace", "[1, 2]", "[1]", "bad_outputs"),
        ("discrete_gaussian", "[]", "[]", "bad_outputs"),
        ("exponential", "[1, 2]", "[1, null]", "bad_parameter"),
        ("ladder", "[1, 2, 3]", "[1]", "bad_parameter"),
        ("direct", "9", "1", "bad_parameter"),
        ("noise_on_trial:laplace", "[1, 2]", "[1]", "bad_outputs"),
    ],
)
def test_inputs_that_cannot_be_taken_are_refused(folder: Path, name: str, left: str, right: str, code: str) -> None:
    said = run(name, "--left", left, "--right", right, "--samples", "200", "--json")
    assert (said.exit_code, json.loads(said.stdout)["error"]["code"]) == (3, code)


def test_parameters_that_are_missing_are_named(folder: Path) -> None:
    error = json.loads(run("discrete_laplace", "--with", "scale=1", "--json").stdout)["error"]
    assert "__init__" not in error["message"]
    assert "sensitivity, scale" in error["fix"]


@pytest.mark.parametrize("claim", [("--epsilon", "-1"), ("--delta", "-0.5"), ("--delta", "1")])
def test_a_claim_that_is_none_is_refused_and_not_refuted(folder: Path, claim: tuple[str, str]) -> None:
    """A delta below zero would have added to what was counted."""
    found = run("noise_on_trial:laplace", "--samples", "2000", "--epsilon", "5", *claim, "--json")
    assert (found.exit_code, json.loads(found.stdout)["error"]["code"]) == (3, "bad_parameter")


def test_what_moves_nothing_is_tried_on_inputs_that_are_the_same() -> None:
    """False alarm: at most 1e-6."""
    sure = ("--samples", "2000", "--confidence", "0.999999")
    found = run("discrete_laplace", "--with", "sensitivity=0", "--with", "scale=1", *sure, "--json")
    told = json.loads(found.stdout)
    assert (told["claimed"], told["refuted"], told["inputs"][0]) == (0, False, told["inputs"][1])


@pytest.fixture
def assessed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that can be assessed: its rows need not be there."""
    monkeypatch.setenv("OBVERSE_HOME", str(folder / "home"))
    return folder


REPORT = ("--report", "--samples", "400", "--confidence", "0.999999")


def test_a_report_says_the_same_in_the_terminal_as_json_markdown_and_html(assessed: Path) -> None:
    shown = run(*REPORT)
    assert shown.exit_code == 0, shown.output
    assert "verified" not in shown.stdout.lower()
    told = json.loads(run(*REPORT, "--json").stdout)
    titles = [section["title"] for section in told["sections"]]
    assert len(titles) == 10
    for name in ("report.html", "report.md"):
        wrote = run(*REPORT, "--quick", "--out", str(assessed / name))
        assert wrote.exit_code == 0, wrote.output
        text = (assessed / name).read_text()
        assert all(title in shown.stdout and title in text for title in titles)
        assert "verified" not in text.lower()
        assert "<script" not in text


def test_what_speaks_against_a_project_ends_with_5(assessed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from obverse.review import assessment
    from obverse.review.assessment import Point

    monkeypatch.setattr(assessment, "tried", lambda wanted, alpha, progress: [Point("a", "refuted", "b")] * len(wanted))
    assert run(*REPORT).exit_code == 5


@pytest.mark.parametrize(
    "args", [("--report", "discrete_laplace"), ("--report", "--epsilon", "1"), ("discrete_laplace", "--quick"), ()]
)
def test_a_report_takes_no_claim_and_everything_else_takes_one(args: tuple[str, ...]) -> None:
    assert run(*args).exit_code == 2


def test_a_report_of_another_kind_is_refused_before_it_is_made(assessed: Path) -> None:
    found = run("--report", "--out", "report.pdf", "--json")
    assert json.loads(found.stdout)["error"]["code"] == "bad_plot"
    found = run(*REPORT, "--out", str(assessed / "none" / "report.md"), "--json")
    assert json.loads(found.stdout)["error"]["code"] == "cannot_write"
