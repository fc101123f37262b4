"""Data frames handed over from Python, as Spark can take them: Arrow tables of types that it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow


def is_spark_frame(frame: Any) -> bool:
    return hasattr(frame, "sparkSession") and hasattr(frame, "createOrReplaceGlobalTempView")


def arrow_table(frame: Any) -> pyarrow.Table:
    """The frame in Arrow, each column of a type that Spark has; columns of Python objects are read as text."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        table = frame
    elif hasattr(frame, "to_arrow"):
        table = frame.to_arrow()
    else:
        table = pa.table({str(name): _of_pandas(frame[name]) for name in frame.columns})
    columns = [known(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _of_pandas(column: Any) -> pyarrow.Array:
    import pyarrow as pa

    if column.dtype != object:
        return pa.Array.from_pandas(column)
    try:
        found = pa.Array.from_pandas(column)
        if not pa.types.is_floating(found.type) and not pa.types.is_integer(found.type):
            return found
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    return pa.array([None if value is None or value != value else str(value) for value in column], type=pa.string())


def known(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """The column in a type that Spark has; one of no such type holds no value that could be read."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_dictionary(kind):
        return known(column.cast(kind.value_type))
    if kinds.is_unsigned_integer(kind):
        return column.cast(pa.int64() if kind.bit_width < 64 else pa.decimal128(20, 0))
    if kinds.is_timestamp(kind):
        return column.cast(pa.timestamp("us", tz=None if kind.tz is None else "UTC"), safe=False)
    if kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return column.cast(pa.string())
    if kinds.is_date64(kind):
        return column.cast(pa.date32())
    if kinds.is_float16(kind):
        return column.cast(pa.float32())
    plain = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_string, kinds.is_date32, kinds.is_decimal128)
    if any(test(kind) for test in plain):
        return column
    return pa.chunked_array([pa.nulls(len(column), pa.string())])
