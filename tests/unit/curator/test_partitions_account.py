"""A model of growing data: whatever is published, asked, deleted, left out, lifted and retired, no unit loses more than
is
counted, and a version is refused exactly where somebody who is not left out has other rows than they had."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.core.errors import BudgetExceeded, Refused
from obverse.curator.partitions import publish_data, retire_data
from obverse.curator.rights import requests
from obverse.curator.rights.export import matched
from tests.unit.curator.test_partitions import TOML, write

PEOPLE = 6
LAST = 9
STEPS = 40
CHOICES = (
    ("ask",) * 5 + ("publish",) * 3 + ("delete", "late", "suppress", "suppress", "lift", "erased", "erased", "retire")
)


class Model:
    """The rows as they lie, those that partitions were published with, and what was truly lost about each unit."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.dice = random.Random(seed)
        (folder / "obverse.toml").write_text(TOML.replace("epsilon = 1", "epsilon = 2"))
        self.rows = Counter(
            (who, wave) for who in range(PEOPLE) for wave in range(1, LAST + 1) if self.dice.random() < 0.5
        )
        self.published: Counter[tuple[int, int]] = Counter()
        self.through = 0
        self.retired = 0
        self.loss: Counter[int] = Counter()
        self.acts: dict[int, str] = {}  # who is left out, by which act
        self.waits: set[int] = set()  # lifted, and left out until a version compares rows
        self.away: set[int] = set()  # lifted without a row
        self.changed = False  # without a word, and not yet put right
        self.mixed = False  # something was asked in the meantime
        self.exact = True  # never were partitions retired whose rows had gone
        self.write()

    def write(self) -> None:
        write(self.folder, sorted(self.rows.elements()))

    def own(self, who: int, rows: Counter[tuple[int, int]], first: int, last: int) -> Counter[int]:
        return Counter({wave: n for (one, wave), n in rows.items() if one == who and first <= wave <= last})

    def lawful(self, through: int) -> bool:
        """Whether everybody who is not left out has the rows that they had, or was left out and has none."""
        first = self.retired + 1
        for who in range(PEOPLE):
            now, was = (self.own(who, rows, first, self.through) for rows in (self.rows, self.published))
            gone = who in self.away | self.waits and not self.own(who, self.rows, first, through)
            if who not in self.acts and now != was and not gone:
                return False
        return True

    def publish(self) -> None:
        through = min(self.through + self.dice.choice((0, 0, 1, 2)), LAST)
        if through <= self.retired or through == 0:
            return
        lawful = self.lawful(through)
        assert refusal(lambda: publish_data(self.folder, str(through))) == ("" if lawful else "partition_changed")
        if not lawful:
            self.mend()
            return
        for who in range(PEOPLE):
            if who in self.waits | self.away:
                rows = self.own(who, self.rows, self.retired + 1, through)
                absent = not rows and self.own(who, self.published, self.retired + 1, LAST)
                self.away = self.away | {who} if absent else self.away - {who}
        self.published += Counter({at: n for at, n in self.rows.items() if self.through < at[1] <= through})
        self.through = through
        self.waits = set()

    def mend(self) -> None:
        """The rows come back, or their partitions are retired for all that was ever asked."""
        if (self.dice.random() < 0.5 and not self.mixed) or self.through == self.retired:
            for who in range(PEOPLE):
                if who not in self.acts:
                    for wave in range(self.retired + 1, self.through + 1):
                        self.rows[who, wave] = self.published[who, wave]
                    if who in self.away:
                        self.rows = Counter({at: n for at, n in self.rows.items() if at[0] != who})
            self.rows = +self.rows
            self.write()
        else:
            retire_data(self.folder, str(self.through), "they are gone", gone=True)
            self.retired = self.through
            self.exact = False
        self.changed = self.mixed = False

    def ask(self) -> None:
        first = self.dice.randint(1, max(self.through, 1))
        last = self.dice.randint(first, max(self.through, 1))
        epsilon = self.dice.choice((Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)))
        question = f"SELECT COUNT(*) AS n FROM answers WHERE wave BETWEEN {first} AND {last}"
        answers: list[Any] = []
        with obverse.open(self.folder) as session:
            refused = refusal(lambda: answers.append(session.ask(question, epsilon=epsilon)))
        assert refused in ("", "budget_exhausted", "nothing_published", "all_retired")
        if refused or answers[0].price.stored:
            return
        self.mixed |= self.changed
        for who in range(PEOPLE):
            waves = self.own(who, self.rows, self.retired + 1, self.through)
            if waves and who not in self.acts and who not in self.waits and first <= min(waves) <= last:
                self.loss[who] += epsilon
        self.check()

    def delete(self) -> None:
        """A partition, or a row of one, goes without a word."""
        if not self.changed and self.through > self.retired:
            wave = self.dice.randint(self.retired + 1, self.through)
            of_it = [at for at in sorted(self.rows) if at[1] == wave and at[0] not in self.acts]
            for at in of_it if self.dice.random() < 0.5 else of_it[:1]:
                del self.rows[at]
                self.changed = True
            self.write()
            if self.changed and self.dice.random() < 0.5:
                self.mend_at_once()

    def mend_at_once(self) -> None:
        assert not self.lawful(self.through)
        with pytest.raises(Refused):
            publish_data(self.folder, str(self.through))
        self.mend()

    def late(self) -> None:
        """A row comes, late or in time."""
        wave = self.dice.randint(self.retired + 1, LAST) if self.retired < LAST else LAST
        who = self.dice.randrange(PEOPLE)
        if wave > self.through or not self.changed:
            self.rows[who, wave] += 1
            self.changed |= wave <= self.through and who not in self.acts
            self.write()

    def suppress(self) -> None:
        who = self.dice.randrange(PEOPLE)
        if not self.changed and who not in self.acts and who not in self.waits and self.through:
            with requests.kept(self.folder) as keeper:
                done = requests.suppress(keeper, who, "objection")
            matched(self.folder, done.right)
            self.acts[who] = done.right

    def erased(self) -> None:
        """Some rows of somebody who is left out go; perhaps they are left out no more."""
        if self.acts:
            who = self.dice.choice(sorted(self.acts))
            first, last = self.dice.choice(((LAST, 0), (1, LAST), (self.through, LAST), (1, self.through)))
            self.rows = Counter({at: n for at, n in self.rows.items() if at[0] != who or not first <= at[1] <= last})
            self.write()
            if self.dice.random() < 0.5:
                self.let_in(who)
                self.publish()

    def lift(self) -> None:
        if self.acts:
            self.let_in(self.dice.choice(sorted(self.acts)))

    def let_in(self, who: int) -> None:
        with requests.kept(self.folder) as keeper:
            requests.lift(keeper, self.acts.pop(who), "consent was given again")
        self.waits.add(who)

    def retire(self) -> None:
        if self.through > self.retired and not self.changed and not self.waits:
            self.retired = self.dice.randint(self.retired + 1, self.through)
            retire_data(self.folder, str(self.retired), "kept for a year")
            self.rows = Counter({at: n for at, n in self.rows.items() if at[1] > self.retired})
            self.write()

    def check(self) -> None:
        with obverse.open(self.folder) as session:
            spent = session.ledger.spent().amount
        assert max(self.loss.values(), default=0) <= spent or self.changed
        assert spent <= 2 or not self.exact


def refusal(act: Callable[[], object]) -> str:
    """The code it is refused with; empty where it is done."""
    try:
        act()
    except BudgetExceeded:
        return "budget_exhausted"
    except Refused as refused:
        return refused.code
    return ""


@pytest.mark.parametrize("seed", [1, 4])
def test_no_units_loss_passes_what_is_counted(tmp_path: Path, seed: int) -> None:
    model = Model(tmp_path, seed)
    for _ in range(STEPS):
        getattr(model, model.dice.choice(CHOICES))()
    assert model.loss
