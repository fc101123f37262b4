"""The SQL aggregates with a private answer; the registry AGGREGATES."""

from __future__ import annotations

from obverse.plan.aggregates.average import Average
from obverse.plan.aggregates.base import Aggregate
from obverse.plan.aggregates.count import Count
from obverse.plan.aggregates.covariance import COVARIANCES
from obverse.plan.aggregates.distinct import CountDistinct, CountUnits
from obverse.plan.aggregates.mode import Mode
from obverse.plan.aggregates.order_statistics import ORDER_STATISTICS, OrderStatistic
from obverse.plan.aggregates.quantile import QUANTILES
from obverse.plan.aggregates.sum import Sum
from obverse.plan.aggregates.variance import Variance

AGGREGATES: tuple[Aggregate, ...] = (
    Count(),
    CountDistinct(),
    CountUnits(),
    Sum(),
    Average(),
    Variance("var_pop", "VAR_POP(x)", sample=False, root=False),
    Variance("var_samp", "VAR_SAMP(x), VARIANCE(x)", sample=True, root=False),
    Variance("stddev_pop", "STDDEV_POP(x)", sample=False, root=True),
    Variance("stddev_samp", "STDDEV_SAMP(x), STDDEV(x)", sample=True, root=True),
    *COVARIANCES,
    *QUANTILES,
    Mode(),
)
BY_NAME = {aggregate.name: aggregate for aggregate in AGGREGATES}
GLOBAL = {statistic.name: statistic for statistic in ORDER_STATISTICS}  # those whose global sensitivity is told as well

__all__ = ["AGGREGATES", "BY_NAME", "GLOBAL", "Aggregate", "OrderStatistic"]
