"""The promises of core's Ledger, held by the ledger in memory, the one on disk and the one in PostgreSQL alike."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from obverse.core.errors import BudgetExceeded, Failed, InvariantBroken, LedgerError, Refused
from obverse.core.ledger import Budget, Caps, Fingerprint, Former, Receipt, Scope, Spent, Stored, Terms
from obverse.core.loss import NO_LOSS, Composed, PureLoss, Repeated, ZcdpLoss
from obverse.core.units import Neighbours
from obverse.ledger.memory import MemoryLedger

TERMS = Terms("pure", Neighbours.ADD_REMOVE, "person")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request, world):
    if request.param == "memory":
        return MemoryLedger("data", TERMS, Budget(Fraction(1), Fraction(1, 10**6)))
    if request.param == "postgres":
        request.getfixturevalue("database")
    return world.open(world.claimed("one", world.file("people.csv"))).ledger


def refused(code, action, *args, **kwargs):
    with pytest.raises((Refused, LedgerError, BudgetExceeded, Failed)) as caught:
        action(*args, **kwargs)
    assert caught.value.code == code
    return caught.value


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ana", "bob"]),
            st.fractions(min_value=0, max_value=Fraction(1, 2), max_denominator=50),
            st.integers(0, 5),
            st.booleans(),
        ),
        max_size=25,
    )
)
def test_no_schedule_spends_more_than_any_cap_or_releases_what_was_not_charged(ask, pure_cap, schedule):
    ledger = MemoryLedger("data", TERMS, Budget(Fraction(1), Fraction(0)))
    caps = Caps(pure_cap("9/10", "0"), analyst=pure_cap("2/3", "0"))
    released = Fraction(0)
    for analyst, epsilon, plan, settles in schedule:
        try:
            given_back = ask(
                ledger,
                f"{plan} at {epsilon}",
                str(epsilon),
                analyst=analyst,
                caps=caps,
                answer=b"x" if settles else None,
            )
        except BudgetExceeded:
            continue
        if isinstance(given_back, Receipt) and settles:
            released += epsilon
    charged = [entry.fields for entry in ledger.entries() if entry.kind == "charge"]
    assert sum(Fraction(fields["amount"]) for fields in charged) == ledger.spent().amount
    assert released <= ledger.spent().amount <= Fraction(9, 10)
    assert all(ledger.spent(analyst=name).amount <= Fraction(2, 3) for name in ("ana", "bob"))


@given(st.integers(0, 12))
def test_a_repeated_loss_is_charged_as_its_composition(times):
    caps = Caps(MemoryLedger("data", TERMS, Budget(Fraction(2))).cap())
    spent = []
    for loss in (Repeated(PureLoss(Fraction(1, 7)), times), Composed((PureLoss(Fraction(1, 7)),) * times)):
        ledger = MemoryLedger("data", TERMS, Budget(Fraction(2)))
        ledger.reserve(Scope("data"), loss, Fingerprint("p"), key="", caps=caps)
        spent.append(ledger.spent())
    assert spent[0] == spent[1]


def test_ten_debits_of_a_tenth_fit_into_one_and_the_eleventh_is_refused(ledger, ask):
    for n in range(10):
        assert isinstance(ask(ledger, f"plan {n}"), Receipt)
    error = refused("budget_exhausted", ask, ledger, "plan 10")
    assert not error.charged
    assert ledger.spent() == Spent("pure", Fraction(1))


def test_the_refusal_names_the_price_and_what_is_left(ledger, ask):
    ask(ledger, "first", "0.99")
    error = refused("budget_exhausted", ask, ledger, "second", "0.02")
    assert "epsilon 0.02" in error.message
    assert "epsilon 0.01" in error.message


def test_deltas_are_capped_too(ledger, ask):
    ask(ledger, "first", delta="4/10000000")
    ask(ledger, "second", delta="6/10000000")
    refused("budget_exhausted", ask, ledger, "third", delta="1/1000000000")
    assert ledger.spent().delta == Fraction(1, 10**6)


def test_ten_colluding_analysts_with_a_cap_of_one_share_the_datasets_cap_of_three(ask, pure_cap):
    ledger = MemoryLedger("data", TERMS, Budget(Fraction(3)))
    caps = Caps(pure_cap("10"), analyst=pure_cap("1"))
    answered = 0
    for n in range(10):
        try:
            ask(ledger, "the same question", "1", analyst=f"analyst {n}", caps=caps)
            answered += 1
        except BudgetExceeded:
            pass
    assert answered == 3
    assert ledger.spent().amount == 3


def test_the_projects_present_cap_binds_when_it_is_lower_than_the_ledgers(ledger, ask, pure_cap):
    refused("budget_exhausted", ask, ledger, "plan", "0.6", caps=Caps(pure_cap("0.5")))
    ask(ledger, "plan", "0.5", caps=Caps(pure_cap("0.5")))


def test_a_project_cannot_raise_the_ledgers_cap(ledger, ask, pure_cap):
    refused("budget_exhausted", ask, ledger, "plan", "1.1", caps=Caps(pure_cap("100")))


def test_caps_of_analyst_and_purpose_bind_apart(ledger, ask, pure_cap):
    caps = Caps(ledger.cap(), analyst=pure_cap("0.3"), purpose=pure_cap("0.4"))
    ask(ledger, "a", "0.3", analyst="ana", purpose="quality", caps=caps)
    assert "analyst 'ana'" in refused("budget_exhausted", ask, ledger, "b", analyst="ana", caps=caps).message
    error = refused("budget_exhausted", ask, ledger, "c", "0.2", analyst="bob", purpose="quality", caps=caps)
    assert "purpose 'quality'" in error.message
    ask(ledger, "d", "0.1", analyst="bob", purpose="quality", caps=caps)
    assert ledger.spent(analyst="ana").amount == Fraction(3, 10)
    assert ledger.spent(purpose="quality").amount == Fraction(4, 10)
    assert ledger.spent(analyst="bob", purpose="quality").amount == Fraction(1, 10)
    assert ledger.spent(analyst="eve").amount == 0


def test_the_same_question_in_the_same_scope_is_answered_from_store_byte_for_byte_and_free(ledger, ask):
    first = ask(ledger, "plan", analyst="ana", answer=b"\x00answer\xff")
    again = ask(ledger, "plan", analyst="ana")
    assert again == Stored(b"\x00answer\xff", first)
    assert ledger.spent().amount == Fraction(1, 10)


def test_another_analyst_purpose_or_plan_is_a_new_debit(ledger, ask):
    ask(ledger, "plan", analyst="ana")
    for changed in ({"analyst": "bob"}, {"analyst": "ana", "purpose": "quality"}):
        assert isinstance(ask(ledger, "plan", **changed), Receipt)
    assert isinstance(ask(ledger, "plan 2", analyst="ana"), Receipt)
    assert ledger.spent().amount == Fraction(4, 10)


def test_a_question_that_was_never_settled_is_a_new_debit(ledger, ask):
    ask(ledger, "plan", answer=None)
    assert isinstance(ask(ledger, "plan"), Receipt)
    assert ledger.spent().amount == Fraction(2, 10)
    assert isinstance(ask(ledger, "plan"), Stored)


def test_a_stored_answer_is_given_even_when_the_budget_is_gone(ledger, ask):
    ask(ledger, "plan", "1", key="k")
    assert isinstance(ask(ledger, "plan", "1"), Stored)
    assert isinstance(ask(ledger, "plan", "1", key="k"), Stored)


def test_a_repeated_request_id_gives_the_stored_bytes(ledger, ask):
    first = ask(ledger, "plan", key="request 1", answer=b"bytes")
    assert ask(ledger, "plan", key="request 1") == Stored(b"bytes", first)


def test_a_request_id_outlives_a_new_version_of_the_data_when_the_question_is_named(ledger, ask):
    first = ask(ledger, "plan on version 1", key="request 1", question="plan", answer=b"bytes")
    assert ask(ledger, "plan on version 2", key="request 1", question="plan") == Stored(b"bytes", first)


def test_a_request_id_is_not_shared_among_analysts(ledger, ask):
    ask(ledger, "plan", key="request 1", analyst="ana")
    assert isinstance(ask(ledger, "another", key="request 1", analyst="bob"), Receipt)


@pytest.mark.parametrize(("plan", "purpose"), [("another", ""), ("plan", "quality")])
def test_a_request_id_used_for_another_question_or_scope_is_refused(ledger, ask, plan, purpose):
    ask(ledger, "plan", key="request 1")
    refused("idempotency_conflict", ask, ledger, plan, key="request 1", purpose=purpose)
    assert ledger.spent().amount == Fraction(1, 10)


def test_a_request_whose_answer_was_lost_is_told_so_and_not_charged_again(ledger, ask):
    ask(ledger, "plan", key="request 1", answer=None)
    error = refused("answer_lost", ask, ledger, "plan", key="request 1")
    assert error.charged
    assert ledger.spent().amount == Fraction(1, 10)


def test_a_request_id_has_a_bounded_length(ledger, ask):
    refused("bad_parameter", ask, ledger, "plan", key="k" * 201)


def test_settling_twice_with_the_same_bytes_changes_nothing(ledger, ask):
    receipt = ask(ledger, "plan", answer=b"one")
    count = ledger.head().count
    ledger.settle(receipt, b"one")
    assert ledger.head().count == count


def test_settling_twice_with_other_bytes_is_refused(ledger, ask):
    receipt = ask(ledger, "plan", answer=b"one")
    assert refused("already_settled", ledger.settle, receipt, b"two").charged
    assert ask(ledger, "plan") == Stored(b"one", receipt)


@pytest.mark.parametrize("forged", [Receipt("x", 2, "y"), Receipt("x", 999, "y")])
def test_an_answer_without_its_debit_is_not_stored(ledger, ask, forged):
    ask(ledger, "plan", answer=None)
    assert refused("unknown_receipt", ledger.settle, forged, b"one").charged


def test_a_scope_of_another_dataset_is_refused(ledger):
    scope = Scope("another")
    caps = Caps(ledger.cap())
    refused("wrong_dataset", ledger.reserve, scope, NO_LOSS, Fingerprint("p"), key="", caps=caps)


def test_a_zcdp_loss_does_not_enter_a_pure_ledger(ledger, ask):
    refused("wrong_accounting", ask, ledger, "plan", loss=ZcdpLoss(Fraction(1, 100)))
    assert ledger.head().count == 1


def test_a_zcdp_ledger_counts_rho_and_halves_of_delta(ask):
    terms = Terms("zcdp", Neighbours.REPLACE, "person")
    ledger = MemoryLedger("data", terms, Budget(Fraction(4), Fraction(1, 10**6)))
    ask(ledger, "plan", loss=Composed((ZcdpLoss(Fraction(1, 10)), PureLoss(Fraction(1, 10)))))
    assert ledger.spent() == Spent("zcdp", Fraction(1, 10) + Fraction(1, 200))
    refused("budget_exhausted", ask, ledger, "too much", loss=ZcdpLoss(Fraction(1, 4)))
    refused("budget_exhausted", ask, ledger, "too often", "1/1000", delta="6/10000000")


def test_a_grant_raises_the_cap_and_a_second_run_of_the_same_grant_does_not(ledger, ask):
    ask(ledger, "plan", "1")
    for _ in range(2):
        ledger.grant(Fraction(1, 2), Fraction(0), "a new year", key="2027")
    assert ledger.budget() == Budget(Fraction(3, 2), Fraction(1, 10**6))
    ask(ledger, "plan 2", "0.5")
    refused("budget_exhausted", ask, ledger, "plan 3", "0.01")


def test_a_lowered_cap_binds_every_later_debit(ledger, ask):
    ask(ledger, "plan", "0.5")
    ledger.lower(Budget(Fraction(4, 10), Fraction(0)), "too generous")
    refused("budget_exhausted", ask, ledger, "plan 2", "0.01")
    assert ledger.spent().amount == Fraction(1, 2)


def test_lowering_does_not_raise_and_granting_does_not_lower(ledger):
    refused("bad_parameter", ledger.lower, Budget(Fraction(2), Fraction(0)), "why not")
    refused("bad_parameter", ledger.grant, Fraction(-1), Fraction(0), "why not")


def test_changes_of_catalog_and_data_are_records_too(ledger):
    ledger.record_catalog("abc")
    ledger.record_version("v2")
    assert [(entry.kind, entry.number) for entry in ledger.entries()] == [("open", 1), ("catalog", 2), ("version", 3)]


def test_the_question_is_kept_for_the_owner_and_is_not_in_the_records(ledger, ask):
    receipt = ask(ledger, "plan", note="SELECT secret")
    assert ledger.note(receipt.number) == "SELECT secret"
    assert ledger.note(1) == ""
    assert all("secret" not in str(dict(entry.fields)) for entry in ledger.entries())


def test_the_head_moves_with_every_record_and_a_receipt_shows_it(ledger, ask):
    before = ledger.head()
    receipt = ask(ledger, "plan", answer=None)
    assert (receipt.number, receipt.head) == (before.count + 1, ledger.head().hash)


def test_a_scope_names_its_dataset():
    with pytest.raises(InvariantBroken):
        Scope("")


@pytest.mark.parametrize("year", ["1970", "2026", "9999"])
def test_the_clock_does_not_matter_to_what_is_spent(ask, year):
    ledger = MemoryLedger("data", TERMS, Budget(Fraction(1)), clock=lambda: f"{year}-01-01T00:00:00Z")
    ask(ledger, "plan", "1")
    refused("budget_exhausted", ask, ledger, "plan 2", "0.1")


def test_two_versions_at_one_ledger_charge_once(ledger, pure_cap):
    """An earlier version knows a debit by its former name alone, this one by both: each finds what the other stored."""
    caps = Caps(pure_cap("1", "0"))
    scope = Scope(ledger.dataset(), "ana")
    loss = PureLoss(Fraction(1, 10))
    former = Former(Fingerprint("former plan"), Fingerprint("former question"))

    def earlier(plan: str, question: str, key: str = "") -> Receipt | Stored:
        return ledger.reserve(scope, loss, Fingerprint(plan), key=key, caps=caps, question=question)

    def later(plan: str, question: str, former: Former | None, key: str = "") -> Receipt | Stored:
        return ledger.reserve(scope, loss, Fingerprint(plan), key=key, caps=caps, question=question, former=former)

    receipt = earlier("former plan", "former question", "k")
    assert isinstance(receipt, Receipt)
    ledger.settle(receipt, b"answered before")
    for key in ("", "k"):
        found = later("plan", "question", former, key)
        assert isinstance(found, Stored)
        assert found.answer == b"answered before"
    other = Former(Fingerprint("former other"), Fingerprint("former other question"))
    receipt = later("other", "other question", other, "j")
    assert isinstance(receipt, Receipt)
    ledger.settle(receipt, b"answered after")
    for found in (
        earlier("former other", "former other question", "j"),
        earlier("former other", "former other question"),
    ):
        assert isinstance(found, Stored)
        assert found.answer == b"answered after"
    assert isinstance(later("other", "other question", None), Stored)  # by its canonical name alone
    refused("idempotency_conflict", later, "third", "third question", None, "k")
    assert ledger.spent().amount == Fraction(2, 10)
