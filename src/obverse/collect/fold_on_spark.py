"""Reports of a survey, counted on Spark: each part of the files becomes one row of counts, and only these come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.collect.spec import Spec, read_spec
from obverse.collect.tally import Tally, empty, tallied, unpacked
from obverse.core.errors import Refused
from obverse.engines.report_files import payloads_of
from obverse.engines.spark_session import session_for
from obverse.engines.spark_work import quiet

if TYPE_CHECKING:
    import pyarrow

PART = "n bigint, counts binary"
WHY = "its workers import this package, and read the files of reports where they are."
FIX = "install obverse on the workers, and keep the ledger's folder on storage that they reach; or use another engine."


def folding_on_spark(url: str | None) -> Callable[[Spec, Sequence[Path]], Tally]:
    """How a collection folds its files, at this address or in a Spark of this process.

    Workers import this package, and read the files where they are: on a cluster both must be there.
    """

    def folded(spec: Spec, paths: Sequence[Path]) -> Tally:
        total = empty(spec.digest, spec.protocol)
        if not paths:
            return total
        session = session_for(url, ())
        try:
            with quiet():
                frame = session.read.parquet(*[str(path.resolve()) for path in paths])
                for row in frame.mapInArrow(counting(spec.document), PART).toLocalIterator():
                    total = total.plus(unpacked(spec.digest, spec.protocol, row["n"], bytes(row["counts"])))
        except Exception:
            raise Refused("engine_failure", "Spark could not count the reports.", why=WHY, fix=FIX) from None
        finally:
            if url is not None:
                session.stop()
        return total

    return folded


def counting(document: bytes) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """What a worker does with its part. The same part gives the same counts, so a task may be tried again."""

    def part(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        spec = read_spec(document)
        total, length = empty(spec.digest, spec.protocol), spec.protocol.length
        for batch in batches:
            words = [batch.column(f"w{i}").to_numpy() for i in range(-(-length // 8))]
            if len(batch):
                total = total.plus(tallied(spec.digest, spec.protocol, payloads_of(words, length)))
        if total.n:
            yield pyarrow.RecordBatch.from_pydict({"n": [total.n], "counts": [total.packed()]})

    return part

