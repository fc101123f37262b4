"""Shuffling: what a report still tells once it lies among many others in a random order, and its sender is not known.

Only for batches that a shuffler attests: who sees reports as they come can tell whose they are, and then nothing is
gained.

A shuffler: another party than the collector. It hands out tokens, checks reports, and signs batches that tell no
sender.

It keeps its key, a secret for the tokens of each survey, and marks of those that were spent; no report and no order.

Attested batches at the collector, and what shuffling adds for whom.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from obverse.answers.frames import extra
from obverse.collect.batch import few, opened, shuffled
from obverse.collect.collector import Collection, Submitted, accept, spent_before
from obverse.collect.protocols import Direct, LastingProtocol, LocalProtocol
from obverse.collect.spec import Spec
from obverse.collect.wire import Mint
from obverse.core.database import BUSY_S, Database, Shape
from obverse.core.errors import Refused, invariant
from obverse.core.numbers import down, plain, up
from obverse.core.rng import Rng
from obverse.mechanisms.enclosures import exp_minus

SHAPE = Shape(
    application_id=0x4F425653,  # "OBVS"
    base=(
        "CREATE TABLE shuffler (key BLOB NOT NULL)",
        "CREATE TABLE survey (digest BLOB PRIMARY KEY, secret BLOB NOT NULL) WITHOUT ROWID",
        "CREATE TABLE spent (mark BLOB PRIMARY KEY) WITHOUT ROWID",
    ),
    migrations=(),
    code_missing="ledger_missing",
    code_unwritable="ledger_unwritable",
    code_damaged="ledger_damaged",
    lost="Bring back a copy of it that is not older than the last batch: an older one knows not all tokens that were "
    "spent.",
)
KEY_BYTES = 32


class Shuffler:
    """A shuffler's folder, readable by its owner alone; a pair of keys is made when there is none."""

    def __init__(self, folder: Path, *, rng: Rng | None = None, busy_s: float = BUSY_S) -> None:
        self._rng = rng or Rng()
        self._database = Database(folder / "shuffler.db", SHAPE, busy_s=busy_s)
        self._database.create()
        with self._database.transaction() as connection:
            row = connection.execute("SELECT key FROM shuffler").fetchone()
            if row is None:
                row = (self._rng.raw(KEY_BYTES),)
                connection.execute("INSERT INTO shuffler VALUES (?)", row)
        self._key = _ed25519().Ed25519PrivateKey.from_private_bytes(row[0])

    @property
    def public(self) -> str:
        """What a survey declares as the key of its shuffler."""
        return str(self._key.public_key().public_bytes_raw().hex())

    def tokens(self, spec: Spec, n: int) -> list[bytes]:
        """Fresh tokens, one report each; the collector never sees them."""
        mint = self._mint(spec)
        return [mint.issue(self._rng) for _ in range(n)]

    def shuffle(self, spec: Spec, submitted: Sequence[Submitted], out: Path, *, epoch: int = 0) -> dict[str, int]:
        """Write a signed batch of what may be counted; returns the rejects by reason.

        It is whole under another name before its tokens are spent, and gets its own name after: no report is in two
        batches. A batch whose tokens could not be spent is deleted.
        """
        mint = self._mint(spec)
        part = out.with_name(f"{out.name}.part")
        try:
            with self._database.transaction() as connection:
                accepted = accept(spec, mint, epoch, submitted, partial(spent_before, connection))
                few(spec, len(accepted.payloads))
                _write(part, shuffled(spec, epoch, accepted.payloads, self._rng, self._key.sign))
                connection.executemany("INSERT INTO spent VALUES (?)", [(mark,) for mark in sorted(accepted.marks)])
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        os.replace(part, out)
        return accepted.rejected

    def close(self) -> None:
        self._database.close()

    def _mint(self, spec: Spec) -> Mint:
        if spec.survey.shuffler is None:
            raise no_shuffler(spec)
        if spec.survey.shuffler != self.public:
            raise Refused(
                "other_shuffler",
                f"survey {spec.survey.name} declares the key of another shuffler.",
                why="people agreed to that one.",
                fix="Use the folder of that shuffler, or declare a new survey with this key.",
            )
        with self._database.transaction() as connection:
            row = connection.execute("SELECT secret FROM survey WHERE digest = ?", (spec.digest,)).fetchone()
            if row is None:
                row = (secrets.token_bytes(KEY_BYTES),)
                connection.execute("INSERT INTO survey VALUES (?, ?)", (spec.digest, *row))
        return Mint(row[0], spec.digest)


def signed_by(key: str, signature: bytes, message: bytes) -> bool:
    """Whether who has the private part of this key signed the message."""
    curve = _ed25519()
    refused = extra("cryptography.exceptions", "collect").InvalidSignature
    try:
        curve.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, message)
    except (refused, ValueError):
        return False
    return True


def no_shuffler(spec: Spec) -> Refused:
    return Refused(
        "no_shuffler",
        f"survey {spec.survey.name} declares no shuffler.",
        why="a shuffler is known to people before they answer.",
        fix="Declare one as [surveys.NAME.shuffler], in a new survey.",
    )


def _write(path: Path, batch: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(batch)
        file.flush()
        os.fsync(file.fileno())


def _ed25519() -> Any:
    return extra("cryptography.hazmat.primitives.asymmetric.ed25519", "collect")


DELTA = 1e-8
PEOPLE_MAX = 10**8  # more are counted as so many
EXACT = 1000  # clones, up to which binomials are computed in whole numbers
# of the number of clones that are looked at, below its mean
LEVELS = 48
DEVIATIONS = 9
STEPS = 40  # of bisection
ROUNDING = 1e-9  # relative; sums have at most 10**5 terms, each right to a few times 1e-16


@dataclass(frozen=True, slots=True)
class Pair:
    """Two laws that are at least as far apart as those of a shuffled batch whose people differ in one answer.

    Claim:   a batch of n reports of one protocol, of loss eps0 each and in uniform order, is (epsilon, delta)-private
             for one person's answer if delta(epsilon) <= delta.
    Proof:   Feldman, McMillan, Talwar 2021, "Hiding among the clones". Let R0, R1 be the laws of the person's report
             under both answers. They are mixtures of two laws Q0, Q1 with weights E : 1 and 1 : E, E = e**eps0
             (Kairouz, Oh, Viswanath 2015). The law of anybody else's report is at least `clones` (R0 + R1) / 2
             everywhere, which is `clones` (Q0 + Q1) / 2: with that chance they send a clone, drawn from Q0 or Q1 by a
             fair coin. Whoever is told how many reports came from Q0 and how many from Q1, the person's own among them,
             can make up the batch without knowing the answer: others than C random ones send what is left of their
             laws. So the batch is no farther apart than (A + D, C + 1 - A - D) is from the same with 1 - D for D, C ~
             Bin(n - 1, clones), A ~ Bin(C, 1/2), P[D = 1] = E / (E + 1). For c clones, with x = A + D and k = c + 1,
             the one law is (E x + k - x) / (E (k - x) + x) times the other, which grows with x; so the divergence is
             the sum over x >= t, for the t at which it exceeds e**epsilon: b(t - 1) (E - e**epsilon) / (E + 1) -
             (e**epsilon - 1) P[Bin(c, 1/2) >= t]; the largest over t near there. It does not grow with c, since a clone
             can be added without knowing anything. So levels of c, each taken for all up to the next, bound the mean
             over C; chances of few clones are bounded by Chernoff's theorem.
    Assumes: everybody uses the same protocol, with seeds that nobody but they and the shuffler know; n counts people
             who flip their own coins; the order is uniform.
    """

    growth: float  # E, rounded up
    clones: float  # rounded down
    n: int

    def delta(self, epsilon: float) -> float:
        """An upper bound of the divergence at this epsilon."""
        levels = self._levels()
        found = [self._apart(level, epsilon) for level in levels]
        for place in range(len(found) - 2, -1, -1):
            found[place] = max(found[place], found[place + 1])
        total = found[-1]
        for place, level in enumerate(levels[1:]):
            total += self._fewer(level) * (found[place] - found[place + 1])
        return min(total * (1 + ROUNDING), 1.0)

    def _levels(self) -> list[int]:
        mean = (self.n - 1) * self.clones
        spread = DEVIATIONS * math.sqrt(mean)
        found = {max(0, math.floor(mean - spread * part / LEVELS)) for part in range(LEVELS + 1)}
        return sorted(found | {0})

    def _fewer(self, level: int) -> float:
        """An upper bound of the chance of fewer clones than this, by Chernoff."""
        most = self.n - 1
        rate = self.clones
        share = (level - 1) / most
        if share >= rate:
            return 1.0
        exponent = share * math.log(share / rate) if share > 0 else 0.0
        exponent += (1 - share) * math.log1p((rate - share) / (1 - rate))
        return min(math.exp(-most * exponent) * (1 + 1e-6), 1.0)

    def _apart(self, clones: int, epsilon: float) -> float:
        """An upper bound of the divergence with so many clones."""
        limit = math.exp(epsilon)
        gain = (self.growth - limit) / (self.growth + 1)
        near = math.floor((clones + 1) * (limit * self.growth - 1) / ((self.growth - 1) * (limit + 1))) + 1
        best = 0.0
        for t in range(max(near - 1, 1), min(near + 1, clones + 1) + 1):
            terms = min(clones - t + 1, 4 * math.isqrt(clones) + 40)
            i = np.arange(1, terms + 1)
            # in times of b(t - 1)
            above = float(np.cumprod((clones - t + 2 - i) / (t - 1 + i)).sum()) if terms else 0.0
            best = max(best, _chance_up(t - 1, clones) * (gain - (limit - 1) * above * (1 - ROUNDING) + 1e-15))
        return best


def amplified(protocol: LocalProtocol, n: int, delta: float) -> Fraction:
    """Epsilon of one report among n in random order, at this delta; rounded up, and never above that of the report
    alone.
    """
    if isinstance(protocol, LastingProtocol):
        raise Refused(
            "not_amplified",
            "reports of permanent answers are not hidden among others.",
            why="a device's reports have its seed and its answer in common, from batch to batch.",
            fix="Go by the epsilon of all reports of one answer.",
        )
    if not 0 < delta < 1:
        raise Refused("bad_parameter", "a delta lies between 0 and 1.", fix="Write a delta such as 1e-8.")
    invariant(n >= 1, "a batch has a report")
    loss = protocol.loss()
    growth = up(1 / exp_minus(loss)[0])
    rate = down(clone_rate(protocol))
    pair = Pair(growth, rate, min(n, PEOPLE_MAX))
    low = 0.0
    high = down(loss)
    if pair.delta(high) > delta:
        return loss
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if pair.delta(middle) <= delta else (middle, high)
        if high - low < 1e-6 * high:
            break
    return min(Fraction(high), loss)


def clone_rate(protocol: LocalProtocol) -> Fraction:
    """A lower bound of the share of anybody's reports that are drawn from (R0 + R1) / 2, whichever two answers these
    are of.

    Claim:   every law R of the protocol is at least this times (R0 + R1) / 2.
    Proof:   R >= e**-epsilon R0 and R >= e**-epsilon R1. Direct response sends anything with at least the chance of an
             item that is not one's own, and R0 + R1 is at most that and the chance of one's own, because answers
             differ.
    Assumes: nothing.
    """
    if isinstance(protocol, Direct):
        return 2 * protocol.other / (protocol.own + protocol.other)
    return exp_minus(protocol.loss())[0]


def _chance_up(x: int, n: int) -> float:
    """An upper bound of the chance of x heads of n fair coins, by the bounds of Robbins 1955 for factorials."""
    if n <= EXACT:
        return math.comb(n, x) / (1 << n) * (1 + ROUNDING)
    if x in (0, n):
        return 1e-300  # far above 2**-n
    off = (2 * x - n) / n
    exponent = n / 2 * ((1 + off) * math.log1p(off) + (1 - off) * math.log1p(-off))
    exponent -= 1 / (12 * n) - 1 / (12 * x + 1) - 1 / (12 * (n - x) + 1)
    return math.sqrt(n / (2 * math.pi * x * (n - x))) * math.exp(-exponent) * (1 + ROUNDING * 100)


@dataclass(frozen=True, slots=True)
class Shuffled:
    """What one report loses among those of the smallest batch."""

    epsilon: str
    delta: float
    reports: int  # of the smallest batch, without those that may be crafted

    def words(self) -> str:
        return (
            f"epsilon {self.epsilon} at delta {self.delta:g} for each report, among {self.reports:,} of the smallest "
            "batch;"
            " against the collector and whoever sees what it has, not against the shuffler, while these two keep apart"
        )

    def as_json(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "reports": self.reports, "against": "collector"}


def add_batch(collection: Collection, batch: bytes) -> int:
    """Count a batch that the survey's shuffler attests, once; returns how many reports it has."""
    key = collection.spec.survey.shuffler
    if key is None:
        raise no_shuffler(collection.spec)
    found = opened(collection.spec, collection.epoch, batch, partial(signed_by, key))
    collection.add_attested(found)
    return len(found.payloads)


def shuffling(collection: Collection, delta: float, malice: float) -> Shuffled | None:
    """What shuffling adds; None where nothing is attested, or where it is not proved to add anything."""
    sizes = collection.attested()
    honest = math.floor(min(sizes) * (1 - malice)) if sizes else 0
    if honest < 1:
        return None
    try:
        return Shuffled(plain(amplified(collection.spec.protocol, honest, delta)), delta, honest)
    except Refused as refused:
        if refused.code == "not_amplified":
            return None
        raise
