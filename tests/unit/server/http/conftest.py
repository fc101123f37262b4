"""One running service for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http_services import Running, running, write_project


@pytest.fixture
def home_of_the_test() -> None:
    """The service outlives a test, and so does its home."""


@pytest.fixture(scope="session")
def service(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("served")
    census = write_project(folder / "census", "census", people=399)
    with running(write_project(folder / "hospital"), census) as started:
        yield started


@pytest.fixture(autouse=True)
def nobody_has_guessed(request: pytest.FixtureRequest) -> None:
    """Failures are counted by address, and all tests have the same.

    Time stands still: nothing is forgiven meanwhile.
    """
    if "service" in request.fixturenames:
        client = request.getfixturevalue("service").client
        client.cookies.clear()
        client.app.state.service.guesses.__init__(clock=lambda: 0.0)


@pytest.fixture
def someone(service: Running) -> str:
    """An analyst of one's own, for tests that change what one may do."""
    return service.spare()
