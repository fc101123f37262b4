"""Reports that carry no answer, because their device had spent the lifetime's epsilon: how many there may be, and shares
among the others.

Nobody can tell which reports these are. Of fresh coins a device sends its answer `min(reports, lifetime / epsilon)` times and
then a report of no answer, to the end of the schedule; so their share is known where every device sent all of its reports,
and bounded where some stopped. Of permanent answers it depends on how often answers change, and is bounded only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from obverse.collect.protocols import Loloha
from obverse.collect.spec import Spec
from obverse.core.errors import Refused

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Doubles, Estimated


@dataclass(frozen=True, slots=True)
class Uninformative:
    """The least and the greatest share of reports that may carry no answer, and the one that values suppose."""

    least: float = 0.0
    most: float = 0.0
    supposed: float = 0.0

    @property
    def known(self) -> bool:
        return self.least == self.most

    def informed(self, values: Doubles, towards: Doubles | float) -> Doubles:
        """Shares among reports that carry an answer, by shares of all reports, at the share that is supposed."""
        return (values - self.supposed * towards) / (1 - self.supposed)

    def interval(self, low: Doubles, high: Doubles, towards: Doubles | float) -> tuple[Doubles, Doubles]:
        """The same of an interval: all of it, at every share that may be.

        Claim:   where [low, high] holds the share of all reports, this holds the one among reports that carry an answer.
        Proof:   with s the share of reports that carry none, of which `towards` are of the item, all reports have a share
                 (1 - s) f + s towards. Solved for f it rises with the share of all reports, and is monotone in s: the ends
                 of both intervals bound it.
        Assumes: s lies between `least` and `most`.
        """
        import numpy as np

        ends = [(s, 1 - s) for s in (self.least, self.most)]
        lows, highs = ([(end - s * towards) / left for s, left in ends] for end in (low, high))
        return np.minimum(*lows), np.maximum(*highs)

    def noise(self, towards: Doubles | float, n: int, each: int) -> Doubles | float:
        """The variance of the share of all `n` reports which items drawn at random add.

        Claim:   at least that of the reports that carry no answer, whose items are coins of chance `towards`.
        Proof:   there are s n of them. Those of fresh coins are independent; a device of permanent answers draws one item for
                 all of its own, `each` at most, so that the squares of these numbers add up to s n each.
        Assumes: s is at most `most`.
        """
        return self.most * towards * (1 - towards) * each / n


def uninformative(
    spec: Spec, n: int, *, share: float | None = None, each: int | None = None, people: int | None = None, gone: int = 0
) -> Uninformative:
    """Of n reports. `share`: the curator knows it. `each`: no device sent more of them. `people`: no more devices took part.
    `gone`: so many more were sent, and are deleted with their counts.

    Claim:   the share lies between `least` and `most`. They are equal if `people` devices sent `each` reports.
    Proof:   a device of k reports sends at least `telling(k)[0]` of its answer, if it sends so many, and at most
             `telling(k)[1]`; both rise with k and by no more than one for each report. So of n + gone reports at most
             (n + gone) (1 - telling(each)[0] / each) carry none, all of which may be among the n; and all but
             people * telling(each)[1] carry none.
    Assumes: devices keep their schedule, nothing that they sent was lost on the way, and nobody whose answer is permanent
             withdraws consent and gives it again.
    """
    asked, lasting = spec.survey, spec.lasting is not None
    if share is not None:
        return _sure(share)
    each = min(each or asked.reports, asked.reports, n + gone)
    if people is not None and people * each < n:
        raise Refused(
            "bad_parameter",
            f"{n:,} reports are more than {people:,} people sent.",
            why=f"nobody sent more than {each:,}.",
            fix="Give the number of all people who took part, or leave --people away.",
        )
    fewest, most = telling(spec, each)
    greatest = min((1 - Fraction(fewest, each)) * (n + gone) / n, Fraction(1))
    if gone and greatest == 1:
        raise Refused(
            "too_few_reports",
            f"perhaps none of these {n:,} reports carries an answer, so nothing is estimated.",
            why=f"{gone:,} others were deleted, too few at a time for their counts to stay, and may have spent the lifetimes.",
            fix="Give the share that carries none as --beyond, if you know it; ask the next time with a longer retention_days.",
        )
    least = 0.0 if people is None else max(1 - Fraction(people * most, n), Fraction(0))
    usual = scheduled_share(spec, each) if lasting else greatest
    found = Uninformative(float(least), float(greatest), float(min(max(usual, least), greatest)))
    return _sure(found.most) if found.least >= 1 or found.most >= 1 else found


def telling(spec: Spec, reports: int) -> tuple[int, int]:
    """Of so many reports of one device, how many carry its answer: at least, and at most.

    Claim:   as `client.next_step` charges them.
    Proof:   of fresh coins each report costs its loss until one more would exceed the lifetime. A permanent answer costs
             `first` when it is used, and `again` when it is used once more; after that nothing. Answers that change as is most
             costly use a new one and use it again, in turn, or all new ones first, whichever costs more; a device that never
             changes its answer pays for one.
    Assumes: of permanent answers, no consent is withdrawn and given again, which pays for them anew.
    """
    lifetime, permanent = spec.survey.lifetime, spec.permanent
    if permanent is None:
        number = min(reports, int(lifetime / spec.loss))
        return number, number
    first = min(spec.loss, permanent)
    fewest = bisect_left(range(1, reports + 1), True, key=lambda sent: dearest(spec, sent) > lifetime)
    most = reports if lifetime >= permanent else min(reports, int(lifetime / first))
    return fewest, most


def dearest(spec: Spec, sent: int) -> Fraction:
    """The most that so many reports of permanent answers cost one device, however its answers change."""
    permanent = spec.permanent or spec.loss
    first = min(spec.loss, permanent)
    again, kinds = permanent - first, _kinds(spec, sent)
    if again >= first:
        pairs, odd = divmod(min(sent, 2 * kinds), 2)
        return pairs * permanent + odd * first
    new = min(sent, kinds)
    return new * first + min(sent - new, new) * again


def scheduled_share(spec: Spec, reports: int | None = None) -> Fraction:
    """The share of reports that carry no answer, once everybody has sent all of theirs; of people whose answer stays."""
    reports = spec.survey.reports if reports is None else reports
    fewest, most = telling(spec, reports)
    if spec.permanent is not None:
        fewest = reports if spec.survey.lifetime >= spec.permanent else min(most, 1)
    return 1 - Fraction(fewest, reports)


def uniform_shares(spec: Spec, items: Sequence[str]) -> Doubles:
    """The share that each of these items has among reports that carry no answer: all of the option for no answer, else as
    `client` draws them; a text has none."""
    import numpy as np

    asked = spec.survey
    if asked.none is not None:
        return np.array([float(item == asked.none) for item in items])
    if asked.options:
        return np.full(len(items), 1 / len(asked.options))
    spelling = asked.spelling
    return np.full(len(items), 0.0 if spelling is None else 0.5 ** (spelling.letters * spelling.bits))


def pull(values: Doubles, towards: Doubles | float, share: float) -> float:
    """How far off the furthest of these shares of all reports is, if such a share of them carries no answer."""
    import numpy as np

    return share / (1 - share) * float(np.abs(np.clip(values, 0.0, 1.0) - towards).max(initial=0.0))


def without(found: Estimated, share: Doubles | float) -> tuple[Doubles, Doubles]:
    """By how much values exceed this share, and the variance that they have at it."""
    import numpy as np

    known = np.clip(found.value, 0.0, 1.0)
    none = found.variance - found.tilt * known + found.bend * known**2
    return found.value - share, none + found.tilt * share - found.bend * np.square(share)


def _kinds(spec: Spec, reports: int) -> int:
    """How many permanent answers one device can have."""
    known = len(spec.survey.options) or reports
    return min(known, spec.protocol.symbols) if isinstance(spec.protocol, Loloha) else known


def _sure(share: float) -> Uninformative:
    if not 0 <= share < 1:
        raise Refused(
            "bad_parameter",
            "no report carries an answer, so nothing is estimated.",
            why="every device had spent its lifetime's epsilon.",
            fix="Give a share below 1 as --beyond, or declare a survey whose lifetime is at least the epsilon of a report.",
        )
    return Uninformative(share, share, share)
