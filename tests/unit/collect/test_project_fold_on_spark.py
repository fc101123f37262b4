"""Reports counted on Spark: the same counts as here, also when a task fails and is tried again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from obverse.collect.collector import Collection, Submitted, folded
from obverse.collect.project import counting, folding_on_spark
from obverse.collect.spec import Spec
from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.engines.files import write_reports
from tests.servers import spark_session
from tests.unit.collect.surveys import spec_for


@pytest.fixture(autouse=True)
def spark() -> None:
    spark_session()


def written(folder: Path, spec: Spec, files: int = 4, rows: int = 300) -> list[Path]:
    paths = [folder / f"{i}.parquet" for i in range(files)]
    for path in paths:
        write_reports(spec.protocol.reports(np.arange(rows, dtype=np.uint64) % 2, Rng()), path)
    return paths


@pytest.mark.parametrize("protocol", ["direct", "unary", "hadamard", "count_mean", "rappor"])
def test_spark_counts_as_this_process_does(tmp_path: Path, protocol: str) -> None:
    spec = spec_for([f"{i}" for i in range(70)], protocol, "4")
    paths = written(tmp_path, spec)
    assert folding_on_spark(None)(spec, paths).same(folded(spec, paths))
    assert folding_on_spark(None)(spec, []).same(folded(spec, []))


def test_a_part_that_is_counted_twice_gives_the_same_counts(tmp_path: Path) -> None:
    import pyarrow.parquet

    spec = spec_for([f"{i}" for i in range(70)], "unary")
    (path,) = written(tmp_path, spec, 1)
    table = pyarrow.parquet.read_table(path)
    (one,), (two,) = (list(counting(spec.document)(iter(table.to_batches(max_chunksize=rows)))) for rows in (64, 300))
    assert one.equals(two)
    assert one.column("n").to_pylist() == [300]


def test_a_collection_folds_on_spark(tmp_path: Path) -> None:
    spec = spec_for()
    here, there = (Collection(tmp_path / "it", spec, folding=how) for how in (None, folding_on_spark(None)))
    tokens = here.tokens(50)
    made = spec.protocol.reports(np.zeros(50, dtype=np.uint64), Rng())
    here.add([Submitted(spec.frame.framed(0, bytes(row)), token) for row, token in zip(made, tokens)])
    assert there.tally().same(here.tally())


def test_files_that_workers_do_not_reach_are_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        folding_on_spark(None)(spec_for(), [tmp_path / "none.parquet"])
    assert caught.value.code == "engine_failure"
