"""Counts for operators, as Prometheus reads them: requests by route and class of outcome. No values, no text, no durations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Literal

Outcome = Literal["done", "stored", "refused", "over_budget", "denied", "too_many", "failed", "unavailable"]
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BY_STATUS: dict[int, Outcome] = {
    401: "denied", 402: "over_budget", 403: "denied", 404: "denied", 429: "too_many", 500: "failed", 503: "unavailable",
}  # fmt: skip


def outcome_of(status: int, *, stored: bool = False) -> Outcome:
    if status < 400:
        return "stored" if stored else "done"
    return _BY_STATUS.get(status, "refused")


class Metrics:
    """Counters of one server since it started."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, Outcome]] = Counter()

    def count(self, project: str, route: str, outcome: Outcome) -> None:
        self._requests[project, route, outcome] += 1

    def text(self, projects: Collection[str]) -> str:
        return "\n".join([*self._lines(projects), ""])

    def _lines(self, projects: Collection[str]) -> Iterator[str]:
        yield "# HELP obverse_requests_total Requests by route and class of outcome."
        yield "# TYPE obverse_requests_total counter"
        for (project, route, outcome), count in sorted(self._requests.items()):
            if project in projects:
                labels = f'project="{_escaped(project)}",route="{_escaped(route)}",outcome="{outcome}"'
                yield f"obverse_requests_total{{{labels}}} {count}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
