"""Killed while somebody is left out, or let back: nobody comes back by a crash, and what was left behind can be
lifted.
"""

import signal

import pytest

from obverse.core.errors import Refused
from obverse.curator.rights import requests
from obverse.curator.rights.requests import acts_told
from obverse.ledger.rights import put
from obverse.session.overlay import content_of, overlay_now

TOML = """
[project]
name = "clinic"
[budget]
epsilon = 10
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
id = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
"""
AT = [f"version: {step}" for step in ("begin", "decided", "written", "committed", "anchored")]


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / "home"))
    (tmp_path / "people.csv").write_text("id,age\nann,30\nbob,41\n")
    (tmp_path / "obverse.toml").write_text(TOML)
    return tmp_path


def acted(clinic, die, act, *args, **more) -> int:
    with requests.kept(clinic) as keeper:
        keeper.opened.ledger._step = die
        act(keeper, *args, **more)
    return 0


def looked_at(clinic):
    """Who is left out, and every act with its state."""
    with requests.kept(clinic) as keeper:
        assert keeper.opened.ledger.verify() == keeper.opened.ledger.head()
        return overlay_now(keeper.opened, keeper.catalog).left_out, [
            (one["act"], one["state"]) for one in acts_told(keeper)
        ]


def lifted(clinic, right, **more):
    with requests.kept(clinic) as keeper:
        return requests.lift(keeper, right, "a reason", **more)


@pytest.mark.parametrize("step", AT)
def test_killed_while_a_person_is_left_out_they_are_left_out_and_can_be_let_back(clinic, killed, step):
    assert killed(step, lambda die: acted(clinic, die, requests.suppress, "bob", "a reason")) == -signal.SIGKILL
    written = AT.index(step) >= AT.index("version: committed")
    assert looked_at(clinic) == ({"bob"}, [("suppress", "in force" if written else "not recorded")])
    with requests.kept(clinic) as keeper:
        (one,) = acts_told(keeper)
        assert one["person"] == keeper.hashed("bob")
        assert (one["record"] is not None) == written
    lifted(clinic, one["right"])
    assert looked_at(clinic) == (frozenset(), [("suppress", "lifted"), ("lift", "done")])
    with requests.kept(clinic) as keeper:
        assert keeper.contents() == {}, "what is lifted is forgotten"


@pytest.mark.parametrize("step", ["rights: begin", "rights: decided", "rights: written", "rights: committed"])
def test_killed_while_an_act_is_to_wait_it_waits_or_is_in_force_early(clinic, killed, step):
    child = killed(step, lambda die: acted(clinic, die, requests.suppress, "bob", "a reason", later=True))
    assert child == -signal.SIGKILL
    early = ({"bob"}, [("suppress", "not recorded")])
    assert looked_at(clinic) == ((frozenset(), [("suppress", "waits")]) if step == "rights: committed" else early)


@pytest.fixture
def unrecorded(clinic) -> str:
    """An act that is kept, and that no record knows."""
    with requests.kept(clinic) as keeper, keeper.opened.registered.exclusive() as datasets:
        put(datasets, keeper.opened.dataset.id, [("f" * 32, content_of("suppress", "bob"))])
    return "f" * 32


@pytest.mark.parametrize("step", AT)
def test_killed_while_an_act_without_a_record_is_lifted_it_is_in_force_or_lifted(clinic, unrecorded, killed, step):
    assert killed(step, lambda die: acted(clinic, die, requests.lift, unrecorded, "a reason")) == -signal.SIGKILL
    if AT.index(step) >= AT.index("version: committed"):
        assert looked_at(clinic) == (frozenset(), [("suppress", "lifted"), ("lift", "done")])
        with pytest.raises(Refused, match="no_such_right"):
            lifted(clinic, unrecorded)
    else:
        assert looked_at(clinic) == ({"bob"}, [("suppress", "not recorded")])
        assert lifted(clinic, unrecorded).record == 3
        assert looked_at(clinic)[0] == frozenset()


def test_an_act_without_a_record_is_never_lifted_later_for_no_version_began_it(clinic, unrecorded):
    with pytest.raises(Refused, match="at once"):
        lifted(clinic, unrecorded, later=True)
    assert looked_at(clinic) == ({"bob"}, [("suppress", "not recorded")])


def test_an_act_that_is_lifted_while_it_is_being_written_is_refused_and_harms_no_ledger(clinic):
    with requests.kept(clinic) as keeper:
        lifting = [""]

        def between(step):
            if step == "version: begin" and not lifting[0]:
                lifting[0] = next(iter(keeper.contents()))
                lifted(clinic, lifting[0])

        keeper.opened.ledger._step = between
        with pytest.raises(Refused, match="right_changed"):
            requests.suppress(keeper, "bob", "a reason")
    assert looked_at(clinic) == (frozenset(), [("suppress", "lifted"), ("lift", "done")])
