"""Losses to bytes and back; bytes once written are read for ever."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.core.canonical import canonical
from obverse.core.errors import LedgerError
from obverse.core.loss import NO_LOSS, ApproxLoss, BoundedRangeLoss, Composed, PureLoss, Repeated, ZcdpLoss
from obverse.ledger.chain import decode, encode, fraction_of, fraction_text

# Never edit these lines; add below them.
GOLDEN = {
    b'{"loss":{"epsilon":"1/10","kind":"pure"},"v":1}': PureLoss(Fraction(1, 10)),
    b'{"loss":{"kind":"zcdp","rho":"3/800"},"v":1}': ZcdpLoss(Fraction(3, 800)),
    b'{"loss":{"epsilon":"2/1","kind":"bounded_range"},"v":1}': BoundedRangeLoss(Fraction(2)),
    b'{"loss":{"delta":"1/100000000","epsilon":"1/3","kind":"approx"},"v":1}': ApproxLoss(
        Fraction(1, 3), Fraction(1, 10**8)
    ),
    b'{"loss":{"kind":"repeated","loss":{"epsilon":"1/10","kind":"pure"},"times":7},"v":1}': Repeated(
        PureLoss(Fraction(1, 10)), 7
    ),
    b'{"loss":{"kind":"composed","losses":[{"epsilon":"0/1","kind":"pure"},{"kind":"composed","losses":[]}]},"v":1}': (
        Composed((PureLoss(Fraction(0)), NO_LOSS))
    ),
}
numbers = st.fractions(min_value=0, max_value=10**9)
losses = st.recursive(
    st.one_of(
        st.builds(PureLoss, numbers),
        st.builds(ZcdpLoss, numbers),
        st.builds(BoundedRangeLoss, numbers),
        st.builds(ApproxLoss, numbers, st.fractions(min_value=0, max_value=Fraction(1, 2))),
    ),
    lambda inner: st.one_of(
        st.builds(Repeated, inner, st.integers(0, 10**9)), st.lists(inner, max_size=4).map(lambda x: Composed(tuple(x)))
    ),
    max_leaves=10,
)


@given(losses)
def test_every_loss_comes_back_as_it_went_and_has_one_spelling(loss):
    assert decode(encode(loss)) == loss
    assert encode(decode(encode(loss))) == encode(loss)


@pytest.mark.parametrize(("written", "loss"), GOLDEN.items())
def test_old_bytes_still_decode_and_are_still_written_so(written, loss):
    assert decode(written) == loss
    assert encode(loss) == written


@given(st.fractions())
def test_fractions_come_back_exactly(number):
    assert fraction_of(fraction_text(number)) == number


def test_canonical_fields_do_not_depend_on_their_order():
    assert canonical({"b": 1, "a": "é"}) == canonical({"a": "é", "b": 1}) == b'{"a":"\\u00e9","b":1}'


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"[]",
        b'{"loss":{"epsilon":"1/10","kind":"pure"},"v":2}',
        b'{"loss":{"epsilon":"1/10","kind":"renyi"},"v":1}',
        b'{"loss":{"epsilon":"0.1","kind":"pure"},"v":1}',
        b'{"loss":{"epsilon":"1/0","kind":"pure"},"v":1}',
        b'{"loss":{"epsilon":"-1/10","kind":"pure"},"v":1}',
        b'{"loss":{"kind":"pure"},"v":1}',
        b'{"loss":{"kind":"composed","losses":3},"v":1}',
    ],
)
def test_what_is_not_a_loss_is_refused(bad):
    with pytest.raises(LedgerError) as caught:
        decode(bad)
    assert caught.value.code == "loss_unreadable"
