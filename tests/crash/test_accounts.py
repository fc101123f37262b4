"""Killed while tokens are exchanged: the old ones hold, or the new one alone; never both, never none."""

import signal
import time

import pytest

from obverse.curator.accounts import issue_in, rotate_in

AT = [f"account: {step}" for step in ("begin", "decided", "written", "committed", "anchored")]


def rotated(made, step) -> int:
    _, opened = made.open(step)
    rotate_in(opened.ledger, "rita", 1, "curator")
    return 0


def exchanged(made, killed, step):
    home, opened = made.open()
    old = [issue_in(opened.ledger, "rita", "reviewer", 1, "curator") for _ in range(3)]
    assert killed(step, lambda die: rotated(made, die)) == -signal.SIGKILL
    ledger = opened.ledger
    assert ledger.verify() == ledger.head()
    account = ledger.accounts()["rita"]
    now_s = time.time()
    held = [bool(account.held(one.token, now_s)) for one in old]
    if AT.index(step) >= AT.index("account: committed"):
        assert held == [False] * 3
        assert len(account.tokens) == 1  # it was shown to nobody; the curator rotates once more
    else:
        assert held == [True] * 3
        assert len(account.tokens) == 3
    fresh = rotate_in(ledger, "rita", 1, "curator")
    assert set(ledger.accounts()["rita"].tokens) == {fresh.id}
    ledger.close()
    home.close()


@pytest.mark.parametrize("step", AT)
def test_killed_while_rotating_all_old_tokens_hold_or_none_does(project, killed, step):
    exchanged(project(), killed, step)


@pytest.mark.parametrize("step", AT)
def test_killed_while_rotating_with_the_ledger_in_postgres(in_postgres, killed, step):
    exchanged(in_postgres(), killed, step)


def test_a_rotation_is_written_at_once_and_voids_what_others_issued_meanwhile(project):
    made = project()
    steps = []
    home, opened = made.open()
    issue_in(opened.ledger, "rita", "reviewer", 1, "curator")

    def watched(step):
        if step == "account: begin" and step not in steps:
            # by somebody else, after the account was looked at
            issue_in(opened.ledger, "rita", "reviewer", 1, "curator")
        steps.append(step)

    other_home, other = made.open(watched)
    fresh = rotate_in(other.ledger, "rita", 1, "curator")
    assert set(opened.ledger.accounts()["rita"].tokens) == {fresh.id}
    assert steps.count("account: committed") == 1
    for one in (opened.ledger, other.ledger, home, other_home):
        one.close()
