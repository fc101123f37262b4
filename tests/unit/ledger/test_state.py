"""An account over partitions counts as if each partition had a sum of its own."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.accounting.belief import grouped
from obverse.core.ledger import Partitions, Spent
from obverse.ledger.state import LossAccount

LAST = 9
ranges = st.tuples(st.integers(0, LAST), st.integers(0, LAST)).map(lambda ends: Partitions(min(ends), max(ends)))
charges = st.tuples(st.integers(0, 5), st.integers(0, 2)).map(
    lambda n: Spent("pure", Fraction(n[0], 3), Fraction(n[1], 100))
)


@given(st.lists(st.tuples(charges, st.none() | ranges), max_size=12), st.none() | ranges)
@settings(max_examples=300, deadline=None)
def test_the_largest_sum_of_any_partition_is_told(
    debits: list[tuple[Spent, Partitions | None]], asked: Partitions | None
) -> None:
    # the last one is touched by no range
    account = LossAccount(Spent("pure"))
    each = [Spent("pure") for _ in range(LAST + 2)]
    for charge, where in debits:
        told = account.after(charge, where)
        account.add(charge, where)
        assert account.most() == told
        for n in range(LAST + 2):
            if where is None or where.first <= n <= where.last:
                each[n] = each[n].plus(charge)
    chosen = each if asked is None else each[asked.first : asked.last + 1]
    assert account.most(asked) == Spent("pure", max(s.amount for s in chosen), max(s.delta for s in chosen))


def test_a_loss_about_several_units_of_one_person() -> None:
    assert grouped(Spent("pure", Fraction(1, 2)), 3) == Spent("pure", Fraction(3, 2))
    assert grouped(Spent("zcdp", Fraction(1, 2)), 3) == Spent("zcdp", Fraction(9, 2))
    assert grouped(Spent("zcdp", Fraction(1, 2), Fraction(1, 9)), 1) == Spent("zcdp", Fraction(1, 2), Fraction(1, 9))
    assert grouped(Spent("zcdp", Fraction(1, 2), Fraction(1, 9)), 2).delta == 1
    delta = grouped(Spent("pure", Fraction(1), Fraction(1, 10**6)), 3).delta
    assert 3 * 2.718281**2 / 10**6 < delta < 3 * 2.718282**2 / 10**6
