"""Words that nobody listed: which of them reports tell, how surely, and how many people it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.collect.protocols import WordProtocol
from obverse.collect.spec import Spec
from obverse.collect.tally import Tally
from obverse.core.errors import Refused
from obverse.core.numbers import several

if TYPE_CHECKING:
    from obverse.collect.protocols.words import Discovered

MISSED = 0.05
USUAL = 0.01  # a share for which the people are told that it takes
PEOPLE_MAX = 10**15


@dataclass(frozen=True, slots=True)
class Discovery:
    """How words were found, and what could have been."""

    found: int
    tested: int  # whole words, in the last step
    false_alarm: float  # the chance that one which nobody sent is among them
    visible: float  # the least share that is nearly always found, among so many reports
    needed: int  # people, for a share of USUAL
    full: bool

    def as_json(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self.__slots__}

    def words(self) -> tuple[tuple[str, str], ...]:
        """The same for people: titles and sentences."""
        alarm = f"one that nobody sent is among them with a chance of at most {100 * self.false_alarm:.3g} %"
        found = f"{several(self.found, 'word')} of {self.tested:,} tested; {alarm}" if self.found else "no word stands out"
        seen = f"of so many reports a word of share {self.visible:.2g} is found 19 times in 20" if self.visible < 1 else (
            "so few reports find no word"
        )  # fmt: skip
        told = (("Found", found), ("Power", f"{seen}; a share of {USUAL:.0%} takes {self.needed:,} people"))
        return (*told, ("Full", "more stood out than are followed; there may be others")) if self.full else told


def discover(spec: Spec, tally: Tally, false_alarm: float) -> tuple[Discovered, Discovery]:
    """The words that stand out among all reports."""
    protocol = spec.protocol
    if not isinstance(protocol, WordProtocol):
        raise Refused("no_items", "any text may have been sent.", fix="Name the texts whose shares you want: --items FILE.")
    found = protocol.discover(tally.counts, tally.n, false_alarm)
    visible = protocol.visible(tally.n, false_alarm, MISSED)
    told = Discovery(len(found.codes), found.tested, false_alarm, visible, people_for(protocol, USUAL), found.full)
    return found, told


def people_for(protocol: WordProtocol, share: float, false_alarm: float = MISSED) -> int:
    """How many people it takes to find a word of this share, with one chance in twenty of missing it."""
    low, high = 1, PEOPLE_MAX
    while low < high:
        middle = (low + high) // 2
        if protocol.visible(middle, false_alarm, MISSED) <= share:
            high = middle
        else:
            low = middle + 1
    return low
