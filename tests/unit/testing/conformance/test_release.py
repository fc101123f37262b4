"""Release methods on trial: running sums under Gaussian noise, and courses on several paths; with less noise they
fail.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.catalog.load import load
from obverse.plan.sensitivity import limit
from obverse.plan.strategy.pricing import roomy, weigh
from obverse.publish.method import Terms
from obverse.publish.quantiles.method import Quantiles
from obverse.publish.tables.request import Wanted, asked
from obverse.testing.conformance.release import TOML, CourseOnTrial, MethodOnTrial, course_over
from obverse.testing.noiseless import SeededRng
from obverse.testing.verify import methods


@pytest.mark.parametrize("name", ["groups:sums", "groups:tree2.1"])
def test_quantiles_under_gaussian_noise_keep_their_claim_and_half_of_the_noise_does_not(
    tmp_path: Path, name: str
) -> None:
    """Each verdict has a false-alarm rate of 1e-6; numbers come from a seed, so that a failure is a change of the
    code.
    """
    (tmp_path / "obverse.toml").write_text(TOML, encoding="utf-8")
    catalog = load(tmp_path)
    workload, question = asked(catalog, Wanted("t", (("x",),), {}))
    method = Quantiles.example(workload)
    terms = Terms("zcdp", catalog.neighbours)
    names = [name] if name == "groups:sums" else ["groups:tree2.0", name, "groups:tree2.2"]
    draft = method.weighted(terms, dict.fromkeys(names, Fraction(1)))
    annotated = roomy(limit(replace(question, sets=draft.sets), catalog), draft.strategy.blocks)
    costed = weigh(annotated, draft.strategy, Fraction(1), Fraction(1, 100), "zcdp")
    (honest,) = methods([MethodOnTrial("quantiles", costed)], SeededRng(11))
    (weak,) = methods([MethodOnTrial("weak", costed, Fraction(1, 2))], SeededRng(12))
    assert not (found := honest.verdict(20_000)).refuted, found.sentence
    assert (found := weak.verdict(20_000)).refuted, found.sentence


ROWS = (900, 30, 20, 800, 30, 700, 600, 40, 500, 20, 30, 700)  # three columns that hang together


def test_no_path_of_a_course_tells_more_of_a_unit_than_its_claim_and_a_tenth_less_noise_does(tmp_path: Path) -> None:
    """Exactly, at epsilon 1: the worst outputs of all steps, for one unit more in each cell, on twelve paths of
    different
    choices. False alarm: none, as nothing is drawn but the paths, from seeds."""
    (tmp_path / "obverse.toml").write_text(TOML, encoding="utf-8")
    costed = course_over(load(tmp_path), ("x", "s", "w"))
    taken = set()
    weak = []
    for path in range(12):
        course = CourseOnTrial("synthetic", costed, ROWS, path=path)
        taken.add(tuple(map(len, course.walked().taken)))
        assert 0.9 < course.loss() <= 1
        weak.append(replace(course, noise=Fraction(9, 10)).loss())
    assert min(weak) > 1
    assert len(taken) > 2
