"""Every test has a home of its own, so that no test spends another's budget or writes into the user's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.servers import GROUPED, SPARK

HOME = "OBVERSE_HOME"


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if "spark" in item.nodeid:
            item.add_marker(SPARK)


@pytest.hookimpl(tryfirst=True)  # before fixtures of a module
def pytest_runtest_setup(item: pytest.Item) -> None:
    GROUPED[-1] = item.get_closest_marker(SPARK.name) is not None


@pytest.fixture(scope="session", autouse=True)
def home_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For fixtures that outlive a test; also what keeps the user's own home out of reach."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME, str(tmp_path_factory.mktemp("home_of_the_run")))
        yield


@pytest.fixture(autouse=True)
def home_of_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME, str(tmp_path_factory.mktemp("home")))
