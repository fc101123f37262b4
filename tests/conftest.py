"""Every test has a home of its own, so that no test spends another's budget or writes into the user's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers import of_spark, stop_servers

HOME = "OBVERSE_HOME"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of Spark go to one process as a whole, and first; all others one by one to whichever is free."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if of_spark(nodeid) else nodeid

    return Scheduling(config, log)


def pytest_sessionfinish() -> None:
    stop_servers()


@pytest.fixture(scope="session", autouse=True)
def home_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For fixtures that outlive a test; also what keeps the user's own home out of reach."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME, str(tmp_path_factory.mktemp("home_of_the_run")))
        yield


@pytest.fixture(autouse=True)
def home_of_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME, str(tmp_path_factory.mktemp("home")))
