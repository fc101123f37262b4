"""PipelineDP, its local backend: `pipelinedp.py ROWS QUESTION` in its own environment (see setup.py).

Of the limits that leave a user at most 10 rows (10 in all; 1, 2, 5 or 10 of each of 10, 5, 2 groups or of one) and of
Laplace and Gaussian noise, those that err least at 1M rows. Its rows are Python's own; that they are read before is not
counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pipeline_dp
import pyarrow.parquet
import trips

IN_ALL = {"max_contributions": trips.ROWS_PER_USER}
ONE_OF_EACH = {"max_partitions_contributed": trips.ROWS_PER_USER, "max_contributions_per_partition": 1}


def prepare(rows: int, name: str) -> tuple[Callable[[], Any], Callable[[Any], trips.Values]]:
    columns = pyarrow.parquet.read_table(trips.table(rows), columns=["user_id", "city", "product", "fare"]).columns
    whole = list(zip(*(column.to_pylist() for column in columns)))

    def asked(key: Any, groups: Any, params: Any) -> Any:
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=trips.EPSILON, total_delta=trips.DELTA)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        extractors = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0], partition_extractor=key, value_extractor=lambda row: row[3]
        )
        found = engine.aggregate(whole, params, extractors, groups)
        accountant.compute_budgets()
        return dict(found)

    laplace = pipeline_dp.NoiseKind.LAPLACE
    metrics = pipeline_dp.Metrics

    def by_city() -> Any:
        params = pipeline_dp.AggregateParams(noise_kind=laplace, metrics=[metrics.COUNT], **IN_ALL)
        return asked(lambda row: row[1], trips.CITIES, params)

    def sums() -> Any:
        params = pipeline_dp.AggregateParams(
            noise_kind=laplace, metrics=[metrics.SUM, metrics.MEAN], min_value=0.0, max_value=100.0, **ONE_OF_EACH
        )
        return asked(lambda row: (row[1], row[2]), [(c, p) for c in trips.CITIES for p in trips.PRODUCTS], params)

    def read(found: Any) -> trips.Values:
        if name == "count by city":
            return trips.by_key(name, [(city, one.count) for city, one in found.items()])
        return trips.by_key(name, [(c, p, one.sum, min(max(one.mean, 0.0), 100.0)) for (c, p), one in found.items()])

    return {"count by city": by_city, "sum+avg by city x product": sums}[name], read


if __name__ == "__main__":
    given = int(sys.argv[1]), sys.argv[2]
    trips.one("pipelinedp", *given, lambda: prepare(*given))
