"""Reports on the wire: the survey's id, the epoch, the payload, each of a fixed length; a batch is one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.core.errors import invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]

ID_BYTES, EPOCH_BYTES = 8, 2
HEAD_BYTES = ID_BYTES + EPOCH_BYTES
EPOCH_MAX = (1 << 8 * EPOCH_BYTES) - 1


@dataclass(frozen=True, slots=True)
class Frame:
    """How reports of one survey look."""

    survey: bytes  # the first bytes of the spec's hash
    payload: int  # bytes

    @property
    def length(self) -> int:
        return HEAD_BYTES + self.payload

    def framed(self, epoch: int, payload: bytes) -> bytes:
        invariant(0 <= epoch <= EPOCH_MAX and len(payload) == self.payload, "a report of this survey")
        return self.survey + epoch.to_bytes(EPOCH_BYTES, "little") + payload

    def framed_all(self, epoch: int, payloads: Rows) -> bytes:
        import numpy as np

        head = np.frombuffer(self.survey + epoch.to_bytes(EPOCH_BYTES, "little"), dtype=np.uint8)
        return np.concatenate([np.broadcast_to(head, (len(payloads), HEAD_BYTES)), payloads], axis=1).tobytes()

    def rows(self, batch: bytes) -> Rows | None:
        """The reports of a batch, one in a row; None where its length is not that of whole reports."""
        import numpy as np

        if len(batch) % self.length:
            return None
        return np.frombuffer(batch, dtype=np.uint8).reshape(-1, self.length)
