"""Claim: what is promised, in data and in plain words. No number leaves without one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Claim:
    """Who is protected, what one apart means, the loss, and what an attacker may come to believe."""

    unit: str
    neighbours: str
    epsilon: str  # of this question, rounded up
    delta: str
    mechanisms: tuple[str, ...]
    limits: str  # how one unit's contribution was bounded
    bias: str  # what bounding may have cost, apart from noise
    belief: str  # under the cap of the whole budget
    receipt: str
    sentence: str
    assumes: tuple[str, ...] = ()  # what it rests on by declaration alone; never what a probe found

    def as_json(self) -> dict[str, Any]:
        """Without `assumes` where there is none, so that an earlier version reads what it recognises in a shared
        ledger.
        """
        told = asdict(self) | {"mechanisms": list(self.mechanisms), "assumes": list(self.assumes)}
        return told if self.assumes else {name: value for name, value in told.items() if name != "assumes"}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Claim:
        listed = {name: tuple(fields.get(name, ())) for name in ("mechanisms", "assumes")}
        return cls(**(fields | listed))


PUBLIC = Claim(
    unit="",
    neighbours="",
    epsilon="0",
    delta="0",
    mechanisms=(),
    limits="",
    bias="",
    belief="",
    receipt="",
    sentence="Exact: this question reads public tables alone, so it costs nothing and protects nobody.",
)
DECLARED = replace(
    PUBLIC,
    sentence="Declared values: the combinations that the declarations allow, whether or not a row has them, as many as "
    "LIMIT "
    "leaves. No private row was read, so this costs nothing and says nothing of anybody.",
)
