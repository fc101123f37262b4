"""An older, other, missing or unknown ledger opens only on the curator's word, and at the worst price."""

import os
import shutil
from fractions import Fraction

import pytest

from obverse.core.errors import BudgetExceeded, LedgerError, Refused
from obverse.core.ledger import Budget
from obverse.ledger.home import Home, Registry
from obverse.ledger.opening import acknowledge, open_dataset
from obverse.ledger.transfer import backup, move, restore


@pytest.fixture
def claimed(world):
    return world.claimed("one", world.file("people.csv"))


@pytest.fixture
def taken_up(world):
    def go_on(claimed, home=None):
        opened = acknowledge(home or world.home, claimed, "the disk broke")
        world.opened.append(opened)
        return opened

    return go_on


def code_of(action, *args, **kwargs):
    with pytest.raises(LedgerError) as caught:
        action(*args, **kwargs)
    return caught.value.code


def put_back(opened, copy):
    """As a careless hand would: the old file in place of the new one."""
    opened.ledger.close()
    for suffix in ("-wal", "-shm"):
        opened.ledger.path.with_name(opened.ledger.path.name + suffix).unlink(missing_ok=True)
    shutil.copy(copy, opened.ledger.path)


def test_yesterdays_backup_is_noticed_and_costs_what_was_spent_since(world, claimed, ask, taken_up):
    opened = world.open(claimed)
    ask(opened.ledger, "monday", "0.2")
    backup(opened.ledger, world.root / "backup.db")
    ask(opened.ledger, "tuesday", "0.3", delta="1/10000000")
    put_back(opened, world.root / "backup.db")
    assert code_of(world.open, claimed) == "ledger_rolled_back"
    again = taken_up(claimed)
    assert again.ledger.spent().amount == Fraction(1, 2)
    assert again.ledger.spent().delta == Fraction(1, 10**7)
    assert world.open(claimed).ledger.verify() == again.ledger.head()
    with pytest.raises(BudgetExceeded):
        ask(again.ledger, "wednesday", "0.6")


def test_a_rollback_under_a_running_process_stops_its_next_debit(world, claimed, ask):
    opened = world.open(claimed)
    backup(opened.ledger, world.root / "backup.db")
    ask(opened.ledger, "plan", "0.3")
    restore(world.root / "backup.db", opened.ledger.path)
    assert code_of(ask, opened.ledger, "another") == "ledger_rolled_back"
    assert code_of(opened.ledger.spent) == "ledger_rolled_back"
    assert code_of(opened.ledger.verify) == "ledger_rolled_back"


def test_a_second_rollback_to_the_same_backup_is_charged_again_in_full(world, claimed, ask, taken_up):
    opened = world.open(claimed)
    backup(opened.ledger, world.root / "backup.db")
    for round_ in range(2):
        ask(opened.ledger, f"plan {round_}", "0.2")
        put_back(opened, world.root / "backup.db")
        opened = taken_up(claimed)
    assert opened.ledger.spent().amount == Fraction(4, 10)


def test_a_ledger_that_went_another_way_is_charged_for_both_ways(world, claimed, ask, taken_up):
    opened = world.open(claimed)
    ask(opened.ledger, "common", "0.1")
    backup(opened.ledger, world.root / "fork.db")
    shutil.copytree(world.home.folder, world.root / "other home")
    ask(opened.ledger, "this way", "0.3")
    ask(opened.ledger, "this way too", "0.1")
    put_back(opened, world.root / "fork.db")
    elsewhere = world.open(claimed, Home(world.root / "other home"))
    ask(elsewhere.ledger, "that way", "0.2")
    elsewhere.ledger.close()
    assert code_of(world.open, claimed) == "ledger_rolled_back"
    assert taken_up(claimed).ledger.spent().amount == Fraction(1 + 3 + 1 + 2, 10)


def test_acknowledging_charges_nothing_twice_when_it_was_cut_short(world, claimed, ask, monkeypatch, taken_up):
    opened = world.open(claimed)
    backup(opened.ledger, world.root / "backup.db")
    ask(opened.ledger, "plan", "0.3")
    put_back(opened, world.root / "backup.db")

    def interrupted(self, path, state):
        raise KeyboardInterrupt

    monkeypatch.setattr(Registry, "put_ledger", interrupted)
    with pytest.raises(KeyboardInterrupt):
        taken_up(claimed)
    monkeypatch.undo()
    assert code_of(world.open, claimed) == "ledger_rolled_back"
    assert taken_up(claimed).ledger.spent().amount == Fraction(3, 10)


def test_a_cap_lowered_since_the_backup_stays_lowered_and_a_grant_is_forgotten(world, claimed, taken_up):
    opened = world.open(claimed)
    backup(opened.ledger, world.root / "backup.db")
    opened.ledger.lower(Budget(Fraction(1, 2), Fraction(1, 10**6)), "careful")
    put_back(opened, world.root / "backup.db")
    again = taken_up(claimed)
    assert again.ledger.budget().epsilon == Fraction(1, 2)
    backup(again.ledger, world.root / "backup 2.db")
    again.ledger.grant(Fraction(5), Fraction(0), "generous")
    put_back(again, world.root / "backup 2.db")
    assert taken_up(claimed).ledger.budget().epsilon == Fraction(1, 2)


def test_a_missing_ledger_is_made_anew_with_all_that_was_spent(world, claimed, ask, taken_up):
    opened = world.open(claimed)
    ask(opened.ledger, "plan", "0.7", delta="1/10000000")
    opened.ledger.close()
    opened.ledger.path.unlink()
    assert code_of(world.open, claimed) == "ledger_missing"
    again = taken_up(claimed)
    assert again.dataset.id == opened.dataset.id
    assert (again.ledger.spent().amount, again.ledger.spent().delta) == (Fraction(7, 10), Fraction(1, 10**7))
    assert world.open(claimed).ledger.verify() == again.ledger.head()


def test_an_emptied_ledger_is_as_good_as_missing(world, claimed, ask, taken_up):
    opened = world.open(claimed)
    ask(opened.ledger, "plan", "0.7")
    opened.ledger.close()
    opened.ledger.path.write_bytes(b"")
    assert code_of(world.open, claimed) == "ledger_rolled_back"
    assert taken_up(claimed).ledger.spent().amount == Fraction(7, 10)


def test_a_ledger_gone_with_its_project_is_made_anew_where_the_data_is_asked_of(world, ask, taken_up):
    path = world.file("people.csv")
    opened = world.open(world.claimed("one", path))
    ask(opened.ledger, "plan", "0.7")
    opened.ledger.close()
    shutil.rmtree(world.root / "one")
    two = world.claimed("two", path)
    assert code_of(world.open, two) == "ledger_missing"
    again = taken_up(two)
    assert again.dataset.ledger == world.root / "two" / "ledger.db"
    assert again.ledger.spent().amount == Fraction(7, 10)


def test_a_ledger_from_an_unknown_machine_costs_all_that_is_left(world, claimed, ask, taken_up):
    opened = world.open(claimed)
    ask(opened.ledger, "plan", "0.1")
    opened.ledger.close()
    elsewhere = Home(world.root / "other home")
    assert code_of(world.open, claimed, elsewhere) == "ledger_unknown"
    again = taken_up(claimed, elsewhere)
    assert again.dataset.id == opened.dataset.id
    assert (again.ledger.spent().amount, again.ledger.spent().delta) == (1, Fraction(1, 10**6))
    with pytest.raises(BudgetExceeded):
        ask(again.ledger, "another", "0.01")
    again.ledger.grant(Fraction(1), Fraction(0), "the owner's word")
    ask(again.ledger, "another", "0.5")


def test_a_ledger_of_another_dataset_is_not_acknowledged_away(world, ask, taken_up):
    one = world.claimed("one", world.file("a.csv", "a\n"))
    two = world.claimed("two", world.file("b.csv", "b\n"))
    first = world.open(one)
    second = world.open(two)
    ask(first.ledger, "plan")
    second.ledger.close()
    first.ledger.close()
    os.replace(second.ledger.path, first.ledger.path)
    assert code_of(taken_up, one) == "dataset_conflict"


def test_a_closed_ledger_that_is_brought_back_costs_all_that_is_left(world, claimed, ask, taken_up):
    opened = world.open(claimed)
    ask(opened.ledger, "plan", "0.1")
    move(opened.ledger, world.root / "moved.db")
    again = taken_up(claimed)
    assert again.ledger.spent().amount == 1


def test_a_backup_from_before_the_move_does_not_spend_again(world, claimed, ask, taken_up):
    opened = world.open(claimed)
    ask(opened.ledger, "plan", "0.1")
    backup(opened.ledger, world.root / "backup.db")
    move(opened.ledger, world.root / "moved.db")
    put_back(opened, world.root / "backup.db")
    assert code_of(world.open, claimed) == "ledger_rolled_back"
    assert taken_up(claimed).ledger.spent().amount == 1


def test_where_nothing_is_in_doubt_nothing_is_acknowledged(world, claimed):
    world.open(claimed)
    with pytest.raises(Refused) as caught:
        acknowledge(world.home, claimed, "to be sure")
    assert caught.value.code == "nothing_to_acknowledge"


def test_a_damaged_ledger_is_not_acknowledged_but_restored(world, claimed, ask, taken_up):
    opened = world.open(claimed)
    backup(opened.ledger, world.root / "backup.db")
    ask(opened.ledger, "plan", "0.3")
    opened.ledger.close()
    opened.ledger.path.write_bytes(b"\x00scribble" * 2000)
    assert code_of(taken_up, claimed) == "ledger_damaged"
    restore(world.root / "backup.db", opened.ledger.path)
    assert taken_up(claimed).ledger.spent().amount == Fraction(3, 10)
    assert open_dataset(world.home, claimed).ledger.spent().amount == Fraction(3, 10)
