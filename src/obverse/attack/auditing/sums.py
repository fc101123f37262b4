"""What is audited, and what is found: sums over sets of secrets, and the secrets that they determine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from obverse.core.errors import Refused, invariant

SECRETS_MAX = 100_000
Way = Literal["linear algebra", "satisfiability"]


@dataclass(frozen=True, slots=True)
class Sum:
    """One question: the secrets that it adds up, by number, and the answer where it is known."""

    of: frozenset[int]
    answer: int | Fraction | None = None

    def __post_init__(self) -> None:
        invariant(
            all(0 <= place < SECRETS_MAX for place in self.of), f"secrets have numbers from 0 to {SECRETS_MAX - 1}"
        )


@dataclass(frozen=True, slots=True)
class Determined:
    """A secret that the answers give away, its value where answers are known, and the questions that do it.

    `minimal`: none of these questions can be left out.
    """

    secret: int
    value: int | Fraction | None
    questions: tuple[int, ...]
    by: Way
    minimal: bool = True


@dataclass(frozen=True, slots=True)
class Audited:
    """Every secret is determined, free (two databases that answer alike differ in it), or undecided in the time
    given.
    """

    secrets: int
    questions: int
    determined: tuple[Determined, ...]
    undecided: tuple[int, ...] = ()

    @property
    def free(self) -> int:
        return self.secrets - len(self.determined) - len(self.undecided)

    @property
    def sentence(self) -> str:
        told = f"The answers determine {len(self.determined):,} of {self.secrets:,} secrets"
        left = f"; {len(self.undecided):,} are undecided in the time given" if self.undecided else ""
        return f"{told}, and leave {self.free:,} open{left}."

    def as_json(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        called: Sequence[Any] = range(self.secrets) if names is None else names
        return {
            "secrets": self.secrets,
            "questions": self.questions,
            "determined": [
                {
                    "secret": called[one.secret],
                    "value": float(one.value) if isinstance(one.value, Fraction) else one.value,
                    "questions": list(one.questions),
                    "by": one.by,
                    "minimal": one.minimal,
                }
                for one in self.determined
            ],
            "undecided": [called[i] for i in self.undecided],
            "free": self.free,
            "sentence": self.sentence,
        }


def checked(secrets: int, asked: Sequence[Sum]) -> None:
    """Refuses questions about secrets that are not there."""
    if not 1 <= secrets <= SECRETS_MAX or any(place >= secrets for one in asked for place in one.of):
        raise Refused("bad_sums", f"questions are about secrets 0 to {secrets - 1}.", fix="Count from zero.")


def inconsistent(questions: Sequence[int]) -> Refused:
    return Refused(
        "inconsistent_sums",
        f"no secrets have these answers: questions {', '.join(map(str, questions))} contradict each other.",
        fix="Check the sets and the sums; a yes counts as 1, a no as 0.",
    )
