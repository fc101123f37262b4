"""Files of a release read back: as they were written, and refused where the two of a pair differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from obverse.core.types import Type
from obverse.engines.files import columns, write_csv, write_parquet

KINDS = {"count": int, "estimate": float}
TYPES = {"a (key)": Type.TEXT, "count": Type.INTEGER, "estimate": Type.DOUBLE}


def written(path: Path, estimate: float = 0.1) -> Path:
    texts = np.array(['a,"b', "c\nd", ""], dtype=object)
    rows = {"a (key)": texts, "count": np.array([1, -2, 2**60]), "estimate": np.array([estimate, 1e-300, -1 / 3])}
    write_csv(rows, TYPES, path.with_suffix(".csv"))
    write_parquet(rows, TYPES, path.with_suffix(".parquet"))
    return path.with_suffix(".csv")


def test_numbers_come_back_exactly_and_in_order(tmp_path: Path) -> None:
    found = columns(written(tmp_path / "x"), KINDS)
    assert found["count"].tolist() == [1, -2, 2**60]
    assert found["estimate"].tolist() == [0.1, 1e-300, -1 / 3]


def test_a_pair_that_differs_a_column_that_is_missing_and_a_file_that_is_are_caught(tmp_path: Path) -> None:
    path = written(tmp_path / "x")
    path.write_text(path.read_text().replace("0.1", "0.2"))
    with pytest.raises(ValueError, match="differ"):
        columns(path, KINDS)
    with pytest.raises(ValueError, match="Exception"):
        columns(written(tmp_path / "x"), {"nothing": int})
    (tmp_path / "x.parquet").unlink()
    with pytest.raises(OSError, match="no such file"):
        columns(path, {"count": int})
