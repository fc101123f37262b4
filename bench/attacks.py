"""Strength and cost of attacks: `python bench/attacks.py`. Ends with 1 where a bar is missed. CPU seconds, all
threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from obverse.attack.attacks import FuzzyLinkage, Linkage, Membership, Reconstruction
from obverse.attack.attacks.reconstruction import noisy_sums
from obverse.attack.examples import clues_about, film_ratings, masked, people_list, pick
from obverse.attack.finding import Finding
from obverse.attack.solvers import certain_bits

SEED = 20261116
# of n = 1,000, 4n answers, noise of 0.1 sqrt(n)
RATE_MIN = 1.0
CPU_S_MAX = 5.0


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement."""

    name: str
    rate: float
    control: float
    cpu_s: float


def measured(name: str, run: Callable[[], Finding]) -> Line:
    begun = time.process_time()
    found = run()
    cpu_s = time.process_time() - begun
    control = found.control if isinstance(found.control, float) else found.control.value
    line = Line(name, found.rate.value, control, cpu_s)
    print(f"{name:<62}{100 * line.rate:>8.1f} %{100 * control:>8.1f} %{cpu_s:>9.2f}", flush=True)
    return line


def reconstruction(people: int, each: int, noise: float, method: Any = "least-squares") -> Line:
    sums, truth = noisy_sums(np.random.default_rng(SEED), people, noise * people**0.5)
    attack = Reconstruction(method, queries=each * people, timeout_s=300)
    return measured(
        f"reconstruction, {method}, n {people:,}, {each}n, {noise:g} sqrt(n)", lambda: attack.run(sums, truth)
    )


def certificate(people: int, queries: int, error: float) -> None:
    """How many bits an integer program proves; not a rate, so it has a line of its own."""
    generator = np.random.default_rng(SEED)
    truth = generator.random(people) < 0.5
    subsets = generator.random((queries, people)) < 0.5
    answers = subsets @ truth.astype(float) + generator.uniform(-error, error, queries)
    begun = time.process_time()
    proof = certain_bits(subsets, answers, error, timeout_s=120)
    said = f"{int(proof.certain.sum())} of {people} proved, {'all decided' if proof.decided else 'time is up'}"
    print(
        f"certain bits, n {people}, {queries} answers within {error:g}: {said}, {time.process_time() - begun:.2f} s",
        flush=True,
    )


def linkage(people: int) -> None:
    generator = np.random.default_rng(SEED)
    everybody = people_list(generator, people, zips=50)
    inside = dict(pick(everybody, slice(0, people // 2)))
    on = ("zip", "birth", "sex")
    measured(
        f"linkage, {people:,} known, {people // 2:,} rows as they are",
        lambda: Linkage().run(inside, everybody, on, truth="id"),
    )
    general = {**inside, "zip": masked(inside["zip"], 4)}
    general["birth"] = np.array([birth[:7] for birth in inside["birth"]], dtype=object)
    measured(
        "linkage, the same with ZIP 0213* and month of birth", lambda: Linkage().run(general, everybody, on, truth="id")
    )


def ratings() -> None:
    generator = np.random.default_rng(SEED)
    made = film_ratings(generator, 6000, 10_000, 100)
    released = made.released(5000)
    for known, wrong, days, beyond in ((8, 2, 14, 0), (2, 0, 3, 0), (8, 2, None, 500)):
        setting: dict[str, Any] = {"known": known, "wrong": wrong, "days": days, "beyond": beyond}
        inside = [(p, clues_about(generator, made, p, **setting)) for p in range(300)]
        outside = [clues_about(generator, made, p, **setting) for p in range(5000, 6000)]
        when = "no dates" if days is None else f"{days} days"
        name = f"ratings, {known} known, {wrong} wrong, {when}{f', beyond the top {beyond}' if beyond else ''}"
        measured(name, lambda i=inside, o=outside: FuzzyLinkage().run(released, i, o))


def main() -> None:
    print(f"{'attack':<62}{'won':>10}{'control':>10}{'CPU s':>9}")
    bar = reconstruction(1000, 4, 0.1)
    for people, each, noise in ((1000, 4, 0.25), (1000, 10, 0.25), (1000, 10, 0.5), (1000, 4, 1.0), (2000, 4, 0.25)):
        reconstruction(people, each, noise)
    for noise in (0.1, 0.25, 0.5):
        reconstruction(200, 4, noise)
        reconstruction(200, 4, noise, "linear")
    certificate(50, 25, 0.4)
    certificate(40, 60, 1.0)
    linkage(100_000)
    ratings()
    measured("membership, 2,000 exact averages of 100 people", lambda: Membership.planted(np.random.default_rng(SEED)))
    measured("membership, the same at epsilon 1", lambda: Membership.honest(np.random.default_rng(SEED)))
    holds = bar.rate >= RATE_MIN and bar.cpu_s < CPU_S_MAX
    said = f"{100 * bar.rate:.1f} % in {bar.cpu_s:.2f} s of CPU (100 % in under 5 s)"
    print(f"\nbar: {bar.name}: {said}: {'holds' if holds else 'MISSED'}")
    raise SystemExit(0 if holds else 1)


if __name__ == "__main__":
    main()
