"""The OpenAPI that is checked in is the service's own, and the service keeps to it whatever is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from obverse.curator import accounts
from obverse.server.http.app import page
from tests.http_services import listening, write_project

DOCS = Path(__file__).parents[4] / "docs"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
schema = schemathesis.openapi.from_path(DOCS / "openapi.json")


@pytest.fixture(scope="session")
def served(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A server of its own, for it is asked and told anything; its address and a token of each role."""
    folder = write_project(tmp_path_factory.mktemp("described") / "hospital", people=50)
    tokens = {
        name: accounts.issue(folder, name, role).token for name, role in (("ana", "analyst"), ("cora", "curator"))
    }
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("login.OF_ADDRESS", "login.OF_NAME", "service.STRANGERS"):
            patch.setattr(f"obverse.server.http.{limit}", 10**6)
        with listening(folder) as (host, port):
            patch.undo()  # they were read when it started
            yield f"http://{host}:{port}", tokens


def test_what_is_checked_in_is_what_the_service_says() -> None:
    """Renew it with: python -m obverse.server.http.app > docs/openapi.json"""
    assert (DOCS / "openapi.json").read_text() == page()
    assert json.loads(page())["openapi"] == "3.1.0"


def test_everything_that_can_be_refused_is_described_as_a_problem() -> None:
    for path, operations in json.loads(page())["paths"].items():
        for operation in operations.values():
            assert list(operation["responses"]["default"]["content"]) == ["application/problem+json"], path


@schema.parametrize()
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_whatever_is_sent_the_reply_is_one_that_is_described(case: Any, served: tuple[str, dict[str, str]]) -> None:
    """Nothing makes it fail otherwise than by the constant failure, which random questions cannot cause."""
    if "project" in (case.path_parameters or {}):
        case.path_parameters["project"] = "hospital"
    if "name" in (case.path_parameters or {}) and "surveys" in case.path:
        case.path_parameters["name"] = "smokes"
    who = "cora" if "accounts" in case.path or case.path in ("/metrics", "/v1/{project}/ledger") else "ana"
    case.call_and_validate(base_url=served[0], checks=CHECKS, headers={"Authorization": f"Bearer {served[1][who]}"})
