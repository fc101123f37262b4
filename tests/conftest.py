"""Every test has a home of its own, so that no test spends another's budget or writes into the user's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from obverse.core.rng import Rng
from obverse.testing.noiseless import SeededRng
from tests.servers import of_spark, stop_servers

settings.register_profile("steady", settings(deadline=None))  # what an example takes depends on who else has the cores
settings.load_profile("steady")

HOME = "OBVERSE_HOME"
WHOLE = "tests/test_"  # of the whole project; the wheel takes most of a minute, so these are among the first
LIGHT = "tests/unit/"  # a file takes seconds


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of Spark go to one process as a whole, and first; then light files, each as a whole, so that what its tests
    share
    is made once; then all others one by one to whichever is free, so that no process is left with a long file at the
    end."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if of_spark(nodeid):
                return "spark"
            if nodeid.startswith(WHOLE):
                return WHOLE
            return nodeid.partition("::")[0] if nodeid.startswith(LIGHT) else nodeid

    return Scheduling(config, log)


def pytest_sessionfinish() -> None:
    stop_servers()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What tests measured, whichever process they ran in."""
    for report in (one for kind in ("passed", "failed") for one in terminalreporter.getreports(kind)):
        for name, value in report.user_properties if getattr(report, "when", "") == "call" else ():
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="session", autouse=True)
def home_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For fixtures that outlive a test; also what keeps the user's own home out of reach."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME, str(tmp_path_factory.mktemp("home_of_the_run")))
        yield


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise from a seed: for what the product itself allows to fail more often than a test may. A failure is then a
    change of
    the code, and another order of its draws is one too."""
    twin = SeededRng(20261118)
    monkeypatch.setattr(Rng, "raw", lambda _, n: twin.raw(n))


@pytest.fixture(autouse=True)
def home_of_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME, str(tmp_path_factory.mktemp("home")))
