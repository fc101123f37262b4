"""Killed with signal 9 at every step: what was released was charged, and a retry never pays twice."""

import os
import signal
from fractions import Fraction

import pytest

from obverse.core.errors import Failed
from obverse.core.ledger import Receipt, Stored

STEPS = [
    *(f"reserve: {step}" for step in ("begin", "decided", "written", "committed", "anchored")),
    "engine",
    *(f"settle: {step}" for step in ("begin", "decided", "written", "committed", "anchored")),
    "released",
]
REGISTERING = [
    "register: committed",
    *(f"open: {step}" for step in ("begin", "decided", "written", "committed", "anchored")),
]
TENTH = Fraction(1, 10)


def life(project, name, step) -> int:
    """What a question does, from its debit to its release; the child may die at any step."""
    _, opened = project.open(step)
    receipt = project.reserve(opened, name, TENTH)
    step("engine")
    opened.ledger.settle(receipt, b"answer to " + name.encode())
    with open(project.root / "released", "ab", buffering=0) as released:
        released.write(name.encode() + b"\n")
    step("released")
    return 0


def after(project, name, step) -> None:
    """Open again, as anybody would after a crash, and look."""
    home, opened = project.open()
    ledger = opened.ledger
    assert ledger.verify() == ledger.head()
    released = (project.root / "released").read_text().split() if (project.root / "released").exists() else []
    before = ledger.spent().amount
    assert before >= TENTH * len(released)
    charged = STEPS.index(step) >= STEPS.index("reserve: committed")
    settled = STEPS.index(step) >= STEPS.index("settle: committed")
    if settled:
        again = project.reserve(opened, name, TENTH)
        assert isinstance(again, Stored)
        assert again.answer == b"answer to " + name.encode()
    elif charged:
        with pytest.raises(Failed) as caught:
            project.reserve(opened, name, TENTH)
        assert caught.value.code == "answer_lost"
    else:
        assert isinstance(project.reserve(opened, name, TENTH), Receipt)
    assert ledger.spent().amount == before + (0 if charged else TENTH)
    ledger.close()
    home.close()


def repeatedly(project, killed, step, times):
    made = project()
    for n in range(times):
        name = f"question-{n}"
        assert killed(step, lambda die, name=name: life(made, name, die)) == -signal.SIGKILL
        after(made, name, step)


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_twenty_times(project, killed, step):
    repeatedly(project, killed, step, 20)


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_with_the_ledger_in_postgres(in_postgres, killed, step):
    repeatedly(in_postgres, killed, step, 2)


@pytest.mark.soak
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_two_hundred_times(project, killed, step):
    repeatedly(project, killed, step, 200)


def taken_up(made, killed, step):
    def registering(die):
        made.open(die)
        return 0

    assert killed(step, registering) == -signal.SIGKILL
    home, opened = made.open()
    assert opened.ledger.verify().count == 1
    assert isinstance(made.reserve(opened, "question", TENTH), Receipt)
    opened.ledger.close()
    home.close()


@pytest.mark.parametrize("step", REGISTERING)
def test_killed_while_registering_the_dataset_is_taken_up_again(project, killed, step):
    for n in range(5):
        taken_up(project(name=f"project-{n}"), killed, step)


@pytest.mark.parametrize("step", ["register: committed", "register: seen"])
def test_killed_while_registering_in_postgres_is_taken_up_again(in_postgres, killed, step):
    taken_up(in_postgres(), killed, step)


def test_a_child_that_is_not_killed_answers(project, killed):
    made = project()
    assert killed("never", lambda die: life(made, "question", die)) == 0
    assert os.path.getsize(made.root / "released") > 0
