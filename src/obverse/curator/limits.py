"""The curator's act of learning limits: one question, charged to the project, whose answer is kept as a release."""

from __future__ import annotations

from pathlib import Path

from obverse.catalog.load import load
from obverse.core.errors import Refused
from obverse.plan.private_bounds import Learned
from obverse.session.learned_limits import check_auto, histogram_sql, keep, learned_from, load_learned
from obverse.session.planning import Number
from obverse.session.session import open as open_session


def learn(project: Path, table: str, epsilon: Number | None, purpose: str = "") -> tuple[Learned, Path]:
    """Pay for the histograms of a table whose limits are "auto"; a table that is kept for purposes is asked for one."""
    with open_session(project, purpose=purpose) as session:
        declared = check_auto(load(project), table)
        if table in session.learned:
            raise Refused(
                "already_learned",
                f"the limits of {table} have been learned.",
                why="each time costs budget, and questions choose their caps from what is known.",
                fix="delete the learned file first if the table has changed much.",
            )
        completed = session.catalog.tables[declared.name]
        sql = histogram_sql(completed)
        deviation = session.explain(sql, epsilon=epsilon).measures[0]["stddev"]
        learned = learned_from(session.ask(sql, epsilon=epsilon), completed, float(deviation))
        return learned, keep(session.catalog, learned)


def shown(project: Path) -> dict[str, Learned]:
    """What has been learned."""
    return load_learned(load(project))
