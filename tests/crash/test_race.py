"""Four processes of twenty-five threads each, all after the last of the budget; in PostgreSQL, on four machines."""

import os
import threading
from fractions import Fraction

import pytest

from obverse.core.errors import BudgetExceeded

PROCESSES = 4
THREADS = 25


def race(project, gate: int, process: int) -> int:
    """How many of this process's threads won their debit."""
    _, opened = project.open()
    os.read(gate, 1)  # ends when the parent lets go of the other end
    won: list[int] = []

    def one(thread: int) -> None:
        try:
            receipt = project.reserve(opened, f"question {process} {thread}", Fraction(1, 10))
        except BudgetExceeded:
            return
        opened.ledger.settle(receipt, b"answer")
        won.append(thread)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(won)


@pytest.mark.parametrize("store", ["project", "in_postgres"])
def test_exactly_the_affordable_number_wins(request, store):
    made = request.getfixturevalue(store)("1.75")
    home, opened = made.open()
    made.reserve(opened, "an earlier question", Fraction(45, 100))
    opened.ledger.close()
    home.close()
    gate, hold = os.pipe()
    children = []
    for process in range(PROCESSES):
        child = os.fork()
        if child == 0:
            os.close(hold)
            status = 99
            try:
                status = race(made.elsewhere(process), gate, process)
            finally:
                os._exit(status)
        children.append(child)
    os.close(hold)
    won = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    os.close(gate)
    assert sum(won) == 13, won
    home, opened = made.open()
    assert opened.ledger.spent().amount == Fraction(175, 100)
    assert opened.ledger.verify().count == 2 + 2 * 13
    opened.ledger.close()
    home.close()
