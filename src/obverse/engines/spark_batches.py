"""Rows of Spark as Arrow tables, one partition after the other, so that neither the driver nor this process holds them all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from obverse.core.errors import invariant
from obverse.engines.spark_work import is_remote

if TYPE_CHECKING:
    import pyarrow

LARGE = "spark.sql.execution.arrow.useLargeVarTypes"


def check_question(sql: str) -> None:
    invariant(sql.startswith(("SELECT ", "WITH ")), "only questions are run")


def arrow_batches(session: Any, sql: str) -> Iterator[pyarrow.Table]:
    """Tables with a row or more. What is asked of Spark goes out with the first of them."""
    check_question(sql)
    frame = session.sql(sql)
    found = _sent(frame) if is_remote(session) else _served(session, frame)
    return (table for table in found if table.num_rows)


def _sent(frame: Any) -> Iterator[pyarrow.Table]:
    """Spark Connect: tables as the server sends them, which is how the frame's own toLocalIterator reads them."""
    import pyarrow

    client, plan = frame.sparkSession.client, frame._plan
    for sent in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(sent, pyarrow.Table):  # else the schema
            yield sent


def _served(session: Any, frame: Any) -> Iterator[pyarrow.Table]:
    """This process: a job for each partition when it is its turn; its own toLocalIterator does so with a pickle per row."""
    import pyarrow
    from pyspark.serializers import NoOpSerializer
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.util import _local_iterator_from_socket

    large = str(session.conf.get(LARGE, "false")).lower() == "true"
    schema = to_arrow_schema(frame.schema, timezone="UTC", prefers_large_types=large)
    served = session.sparkContext._jvm.PythonRDD.toLocalIteratorAndServe(frame._jdf.toArrowBatchRdd(), False)
    for message in _local_iterator_from_socket(served, NoOpSerializer()):
        batch = pyarrow.ipc.read_record_batch(pyarrow.py_buffer(message), schema)
        yield pyarrow.Table.from_batches([batch])
