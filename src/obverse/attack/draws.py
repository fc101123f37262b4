"""Who is taken, of many: repeatable, so that a reviewer sees the same again. It protects nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def in_random_order(n: int, seed: int) -> NDArray[np.int64]:
    """The places 0 .. n - 1, all orders alike."""
    import numpy as np

    return np.random.default_rng(seed).permutation(n)


def made_up(seed: int) -> np.random.Generator:
    """What made-up people are drawn with, in examples and lessons. Never noise: whoever knows the seed knows it all."""
    import numpy as np

    return np.random.default_rng(seed)
