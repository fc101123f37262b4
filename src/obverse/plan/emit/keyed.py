"""The keyed form of a question: one row for each discovered key, with the units that vote for it and its sums, in no order.

No row needs another one to be read, so rows can come in batches and no engine has to number or order all keys.
"""

from __future__ import annotations

from dataclasses import dataclass

from obverse.plan.emit.parts import Parts
from obverse.plan.emit.sums import saturated


@dataclass(frozen=True, slots=True)
class Keyed:
    """Prints the keyed form: f0 ..., n and m0 ..."""

    parts: Parts

    def text(self) -> str:
        return self._counted_beside() if self.parts.single else self._joined()

    def _counted_beside(self) -> str:
        """Each row is a unit of its own, so that rows are votes."""
        parts, sums = self.parts, self.parts.sums
        totals = [saturated(parts.rows.d.total(f"t{i}", sums.most(i))) for i in sums.places]
        return parts.grouped(["COUNT(*) AS n", *(f"{total} AS m{i}" for i, total in enumerate(totals))], parts.kept())

    def _joined(self) -> str:
        """Votes are limited one way, sums another; a key that nobody voted for is left out, and one with votes has rows."""
        parts, d = self.parts, self.parts.rows.d
        places = list(parts.sums.places)
        ctes = [
            d.common("kept", parts.kept(), kept=parts.rows.keeping),
            d.common("votes", f"({parts.pairs(parts.found)})", kept=True),
        ]
        figures = ", ".join([*(f"l.{f} AS {f}" for f in parts.found), "n", *(f"m{i}" for i in places)])
        joined = f" JOIN ({parts.added(places)}) AS s ON {parts.same_key()}" if places else ""
        return f"WITH {', '.join(ctes)} SELECT {figures} FROM {parts.counted()} AS l{joined}"
