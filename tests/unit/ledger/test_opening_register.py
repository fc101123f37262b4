"""The budget belongs to the data: known again by path, inode or content, whichever project asks."""

import os
import shutil
import threading
from dataclasses import replace
from fractions import Fraction

import pytest

from obverse.core.errors import BudgetExceeded, LedgerError
from obverse.core.ledger import Budget, Caps, Stored
from obverse.ledger import sources
from obverse.ledger.home import Home
from obverse.ledger.opened import version_now
from obverse.ledger.opening import changed, open_dataset, private_here, publish
from obverse.ledger.sources import FileSource, ObjectSource


def code_of(action, *args, **kwargs):
    with pytest.raises(LedgerError) as caught:
        action(*args, **kwargs)
    return caught.value.code


def linked(path, target):
    target.symlink_to(path)


def copied(path, target):
    shutil.copy(path, target)


def renamed(path, target):
    path.rename(target)


def renamed_and_grown(path, target):
    path.rename(target)
    with open(target, "a") as file:
        file.write("2,43\n")


@pytest.mark.parametrize("again", [linked, os.link, copied, renamed, renamed_and_grown])
def test_the_same_data_elsewhere_spends_from_the_same_ledger(world, ask, again):
    path = world.file("people.csv")
    other = world.root / "again.csv"
    first = world.open(world.claimed("one", path))
    ask(first.ledger, "plan", "0.7")
    again(path, other)
    second = world.open(world.claimed("two", other))
    assert second.dataset.id == first.dataset.id
    assert second.dataset.ledger == first.dataset.ledger
    assert second.shared
    assert not first.shared
    assert second.ledger.spent().amount == Fraction(7, 10)
    with pytest.raises(BudgetExceeded):
        ask(second.ledger, "another plan", "0.4")


def test_a_second_project_cannot_bring_a_larger_budget(world, ask, pure_cap):
    path = world.file("people.csv")
    world.open(world.claimed("one", path))
    second = world.open(world.claimed("two", path, budget=Budget(Fraction(100))))
    with pytest.raises(BudgetExceeded):
        ask(second.ledger, "plan", "2", caps=Caps(pure_cap("100")))


def test_content_seen_once_at_a_path_is_known_for_ever(world):
    path = world.file("people.csv", "old\n")
    first = world.open(world.claimed("one", path))
    shutil.copy(path, world.root / "old copy.csv")
    path.write_text("new rows\n")
    world.open(world.claimed("one", path))
    shutil.copy(path, world.root / "new copy.csv")
    path.unlink()
    for name in ("old copy.csv", "new copy.csv"):
        assert world.open(world.claimed("two", world.root / name)).dataset.id == first.dataset.id


def test_a_part_of_a_known_folder_is_known_data(world):
    part = world.file("people/year=2000/part-0.csv")
    beside = world.file("beside.csv", "other rows\n")
    folder = FileSource("people", world.root / "people", folder=True)
    first = world.open(world.claimed("one", sources=(folder,)))
    assert private_here(world.home, (FileSource("table", part),))
    assert world.open(world.claimed("two", part)).dataset.id == first.dataset.id
    assert not private_here(world.home, (FileSource("table", beside),))
    assert world.open(world.claimed("three", beside)).dataset.id != first.dataset.id


def test_a_part_of_a_folder_of_growing_data_is_refused(world):
    """The same people would count in another partition of it, whose budget is not spent."""
    part = world.file("people/year=2000/part-0.csv")
    folder = FileSource("people", world.root / "people", folder=True)
    first = world.open(replace(world.claimed("one", sources=(folder,)), grown=True))
    with pytest.raises(LedgerError) as refused:
        world.open(replace(world.claimed("two", part), grown=True))
    assert refused.value.code == "part_of_data"
    assert world.open(replace(world.claimed("one", sources=(folder,)), grown=True)).dataset.id == first.dataset.id


def test_other_data_is_another_dataset_with_a_ledger_of_its_own(world, ask):
    first = world.open(world.claimed("one", world.file("people.csv", "a\n")))
    second = world.open(world.claimed("two", world.file("plants.csv", "b\n")))
    assert first.dataset.id != second.dataset.id
    ask(first.ledger, "plan", "1")
    ask(second.ledger, "plan", "1")


def test_a_number_of_an_inode_that_went_to_a_stranger_does_not_join_them(world, monkeypatch):
    path = world.file("people.csv", "a\n")
    stranger = world.file("plants.csv", "b\n")
    world.open(world.claimed("one", path))
    seen = f"{path.stat().st_dev}:{path.stat().st_ino}"
    os.replace(world.file("rewritten.csv", "a\n1\n"), path)
    assert f"{path.stat().st_dev}:{path.stat().st_ino}" != seen
    inode = sources._inode
    own = stranger.stat().st_ino
    monkeypatch.setattr(sources, "_inode", lambda there: seen if there.st_ino == own else inode(there))
    assert not world.open(world.claimed("two", stranger)).shared


def test_one_shared_source_among_several_is_enough(world):
    people, visits, plants = (world.file(f"{name}.csv", name) for name in ("people", "visits", "plants"))
    first = world.open(world.claimed("one", people, visits))
    second = world.open(world.claimed("two", plants, visits))
    assert second.dataset.id == first.dataset.id
    assert world.open(world.claimed("three", plants)).dataset.id == first.dataset.id


def test_joining_two_datasets_is_refused(world):
    people = world.file("people.csv", "a\n")
    plants = world.file("plants.csv", "b\n")
    world.open(world.claimed("one", people))
    world.open(world.claimed("two", plants))
    assert code_of(world.open, world.claimed("three", people, plants)) == "dataset_conflict"


@pytest.mark.parametrize("terms", [{"accounting": "zcdp"}, {"unit": "household"}])
def test_other_terms_over_the_same_data_are_refused(world, terms):
    path = world.file("people.csv")
    world.open(world.claimed("one", path))
    assert code_of(world.open, world.claimed("two", path, **terms)) == "terms_conflict"


def test_a_ledger_of_other_data_is_not_taken_over(world, ask):
    people = world.file("people.csv", "a\n")
    plants = world.file("plants.csv", "b\n")
    world.open(world.claimed("one", people))
    assert code_of(world.open, world.claimed("one", plants)) == "ledger_taken"


def test_objects_are_known_by_project_and_name(world):
    one = (ObjectSource("people", world.root / "one"),)
    first = world.open(world.claimed("one", sources=one))
    assert world.open(world.claimed("one", sources=one)).dataset.id == first.dataset.id
    two = (ObjectSource("people", world.root / "two"),)
    assert world.open(world.claimed("two", sources=two)).dataset.id != first.dataset.id


def test_a_whole_project_that_was_moved_keeps_its_ledger(world, ask):
    path = world.file("one/people.csv")
    first = world.open(world.claimed("one", path))
    ask(first.ledger, "plan", "0.7")
    first.ledger.close()
    (world.root / "one").rename(world.root / "two")
    second = world.open(world.claimed("two", world.root / "two" / "people.csv"))
    assert second.dataset.ledger == world.root / "two" / "ledger.db"
    assert second.ledger.spent().amount == Fraction(7, 10)
    assert world.open(world.claimed("two", world.root / "two" / "people.csv")).dataset == second.dataset


def test_a_copied_project_keeps_to_the_first_ledger(world, ask):
    path = world.file("one/people.csv")
    first = world.open(world.claimed("one", path))
    ask(first.ledger, "plan", "0.7")
    first.ledger.close()
    shutil.copytree(world.root / "one", world.root / "two")
    second = world.open(world.claimed("two", world.root / "two" / "people.csv"))
    assert second.dataset.ledger == first.dataset.ledger


def test_a_project_that_brings_a_foreign_ledger_for_known_data_is_refused(world, ask):
    path = world.file("people.csv")
    elsewhere = Home(world.root / "other home")
    world.open(world.claimed("two", path), elsewhere).ledger.close()
    world.open(world.claimed("one", path))
    assert code_of(world.open, world.claimed("two", path)) == "dataset_conflict"


def test_registration_that_was_cut_short_is_taken_up_again(world):
    path = world.file("people.csv")

    def stop(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_dataset(world.home, world.claimed("one", path), step=stop)
    opened = world.open(world.claimed("elsewhere", path))
    assert opened.ledger.head().count == 1
    assert opened.dataset.ledger == world.root / "elsewhere" / "ledger.db"


def test_many_who_register_at_once_get_one_dataset(world):
    path = world.file("people.csv")
    found = []

    def one():
        home = Home(world.root / "home")
        found.append(world.open(world.claimed("one", path), home).dataset.id)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert world.open(world.claimed("one", path)).ledger.head().count == 1


def test_the_version_advances_only_by_publishing(world):
    path = world.file("people.csv")
    source = [FileSource("people", path)]
    opened = world.open(world.claimed("one", path))
    path.write_text("person,age\n1,42\n2,17\n")
    assert world.open(world.claimed("one", path)).dataset.version == opened.dataset.version
    assert changed(world.home, opened, source) == ("people",)
    version = publish(world.home, opened, source)
    assert version != opened.dataset.version
    assert version_now(opened) == version
    assert world.open(world.claimed("one", path)).dataset.version == version
    assert changed(world.home, opened, source) == ()


def test_rows_that_changed_without_publishing_change_nothing_that_an_analyst_sees(world, ask):
    path = world.file("people.csv")
    opened = world.open(world.claimed("one", path))
    ask(opened.ledger, "plan", answer=b"old answer")
    path.write_text("person,age\n1,42\n2,17\n")
    again = world.open(world.claimed("one", path))
    assert (again.dataset.id, again.dataset.version) == (opened.dataset.id, opened.dataset.version)
    assert isinstance(ask(again.ledger, "plan"), Stored)


def test_publishing_takes_new_files_into_the_dataset(world):
    path = world.file("people 2025.csv", "a\n")
    newer = world.file("people 2026.csv", "b\n")
    opened = world.open(world.claimed("one", path))
    assert code_of(world.open, world.claimed("one", newer)) == "ledger_taken"
    publish(world.home, opened, [FileSource("people", newer)])
    assert world.open(world.claimed("one", newer)).dataset.id == opened.dataset.id


def test_publishing_files_of_another_dataset_is_refused(world):
    people = world.file("people.csv", "a\n")
    plants = world.file("plants.csv", "b\n")
    opened = world.open(world.claimed("one", people))
    world.open(world.claimed("two", plants))
    assert code_of(publish, world.home, opened, [FileSource("plants", plants)]) == "dataset_conflict"
    assert opened.ledger.head().count == 1


def test_ids_and_versions_tell_nothing_of_the_data(tmp_path, world):
    path = world.file("people.csv")
    here = world.open(world.claimed("one", path)).dataset
    there = world.open(world.claimed("two", path), Home(tmp_path / "other home")).dataset
    assert here.id != there.id
    assert here.version != there.version
