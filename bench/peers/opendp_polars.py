"""OpenDP's context over Polars: `opendp_polars.py ROWS QUESTION` in its own environment (see setup.py)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import opendp.prelude as dp
import polars as pl
import trips

dp.enable_features("contrib")
CITY = pl.LazyFrame({"city": trips.CITIES})
PRODUCT = pl.LazyFrame({"product": trips.PRODUCTS})
FARE = pl.col("fare").fill_nan(0.0).fill_null(0.0)
CANDIDATES = [i / 2 for i in range(201)]


def prepare(rows: int, name: str) -> tuple[Callable[[], Any], Callable[[Any], trips.Values]]:
    source = str(trips.table(rows))

    def query() -> Any:
        """A public bound on the number of rows is needed for sums of floats; the kindest one is given, the number
        itself.
        """
        by = ([], ["city"], ["product"], ["city", "product"])
        context = dp.Context.compositor(
            data=pl.scan_parquet(source),
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
            privacy_loss=dp.loss_of(epsilon=trips.EPSILON, delta=trips.DELTA),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=columns, max_length=rows) for columns in by],
        )
        return context.query()

    def bounded() -> Any:
        return query().truncate_per_group(trips.ROWS_PER_USER)

    def count() -> Any:
        return bounded().select(dp.len())

    def by_city() -> Any:
        return bounded().group_by("city").agg(dp.len()).with_keys(CITY)

    def sums() -> Any:
        grouped = bounded().group_by("city", "product")
        return grouped.agg(FARE.dp.sum((0.0, 100.0)).alias("s"), dp.len().alias("n")).with_keys(
            CITY.join(PRODUCT, how="cross")
        )

    def medians() -> Any:
        return bounded().group_by("product").agg(FARE.dp.median(CANDIDATES).alias("m")).with_keys(PRODUCT)

    def users() -> Any:
        once = query().truncate_per_group(1, by=["city"]).truncate_per_group(trips.GROUPS_PER_USER)
        return once.group_by("city").agg(dp.len()).with_keys(CITY)

    asked = dict(zip(trips.QUESTIONS, (count, by_city, sums, medians, users)))[name]

    def read(frame: Any) -> trips.Values:
        if name.startswith("sum"):
            lines = frame.select("city", "product", "s", "n").rows()
            return trips.by_key(name, [(city, product, s, s / max(n, 1)) for city, product, s, n in lines])
        keys = [column for column in ("city", "product") if column in frame.columns]
        return trips.by_key(name, frame.select(*keys, pl.exclude(*keys) if keys else pl.all()).rows())

    return lambda: asked().release().collect(), read


if __name__ == "__main__":
    given = int(sys.argv[1]), sys.argv[2]
    trips.one("opendp", *given, lambda: prepare(*given))
