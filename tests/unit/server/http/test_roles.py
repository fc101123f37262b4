"""Who may do what: every route for every role, for strangers, and for those of another project."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http_services import COUNT, Running

QUESTION = {"sql": COUNT}
# stranger, analyst, curator, reviewer
ANYBODY = (200, 200, 200, 200)
NOBODY = (401, 403, 200, 403)
ACCOUNTS = (401, 200, 200, 200)
ALL = (401, 200, 200, 403)
BOTH = (401, 403, 200, 200)
ROUTES: list[tuple[str, str, Any, tuple[int, int, int, int]]] = [
    ("POST", "/ask", QUESTION, ALL),
    ("POST", "/explain", QUESTION, ACCOUNTS),
    ("POST", "/rehearse", QUESTION, ALL),
    ("POST", "/explore", {**QUESTION, "epsilons": [0.1, 1.0]}, ACCOUNTS),
    ("GET", "/questions", None, ALL),
    ("GET", "/limits", None, BOTH),
    ("GET", "/budget", None, ACCOUNTS),
    ("GET", "/tables", None, ACCOUNTS),
    ("GET", "/answers/none.json", None, (401, 404, 404, 404)),
    ("GET", "/surveys", None, ANYBODY),
    ("GET", "/surveys/smokes", None, ANYBODY),
    ("POST", "/surveys/smokes/reports", {"reports": [{"token": "00", "report": "00"}]}, (422, 422, 422, 422)),
    ("GET", "/surveys/smokes/estimate", None, (401, 403, 422, 422)),
    ("GET", "/releases", None, ANYBODY),
    ("GET", "/releases/2026", None, ANYBODY),
    ("GET", "/releases/2026/table.csv", None, ANYBODY),
    ("GET", "/surveys/smokes/spec", None, ANYBODY),
    ("POST", "/surveys/smokes/tokens", {"count": 2}, (401, 403, 201, 403)),
    ("GET", "/transparency", None, ANYBODY),
    ("GET", "/ledger", None, BOTH),
    ("GET", "/ledger/verified", None, BOTH),
    ("POST", "/trials", {"attacks": ["nothing"]}, (401, 400, 400, 400)),
    ("GET", "/trials", None, (401, 403, 404, 404)),
    ("GET", "/accounts", None, NOBODY),
    ("POST", "/accounts", {"name": "zoe", "role": "analyst"}, (401, 403, 422, 403)),
    ("POST", "/accounts/nobody/rotate", {}, (401, 403, 404, 403)),
    ("POST", "/accounts/nobody/revoke", {}, (401, 403, 404, 403)),
    ("POST", "/accounts/nobody/suspend", {"reason": "x"}, (401, 403, 404, 403)),
    ("POST", "/accounts/nobody/resume", {"reason": "x"}, (401, 403, 404, 403)),
    ("POST", "/accounts/nobody/password", {"password": "long enough to be one"}, (401, 403, 404, 403)),
    ("GET", "/rights", None, NOBODY),
    ("POST", "/rights/export", {"person": 1, "reason": " "}, (401, 403, 422, 403)),
    ("POST", "/rights/suppress", {"person": 1, "reason": " "}, (401, 403, 422, 403)),
    ("POST", "/rights/erase", {"person": 1, "reason": " "}, (401, 403, 422, 403)),
    ("POST", "/rights/correct", {"person": 1, "reason": " ", "table": "people", "set": {}}, (401, 403, 422, 403)),
    ("POST", "/rights/lift", {"right": "none", "reason": "x"}, (401, 403, 422, 403)),
    ("GET", "/rights/record", None, NOBODY),
    ("GET", "/rights/record.md", None, NOBODY),
    ("POST", "/login", {"name": "ana", "password": "not the one"}, (401, 401, 401, 401)),
    ("GET", "/session", None, ACCOUNTS),
    ("POST", "/session", None, ACCOUNTS),
    ("POST", "/logout", None, ACCOUNTS),
]


@pytest.mark.parametrize(("method", "path", "body", "expected"), ROUTES, ids=[f"{m} {p}" for m, p, _, _ in ROUTES])
def test_a_route_serves_its_roles_and_refuses_the_others(
    service: Running, method: str, path: str, body: Any, expected: tuple[int, ...]
) -> None:
    for who, status in zip(("", "ana", "cora", "rita"), expected):
        reply = service.client.request(method, f"/v1/hospital{path}", json=body, headers=service.headers(who))
        enough = path.endswith("/estimate") and reply.status_code == 200  # reports have come in by another test
        assert reply.status_code == status or (enough and status == 422), (who, reply.text)
        if status >= 400 and not enough:
            assert reply.headers["content-type"] == "application/problem+json"


def test_every_route_of_a_project_is_in_the_matrix(service: Running) -> None:
    told = service.get("/openapi.json").json()["paths"]
    pairs = [(method.upper(), path) for path, one in told.items() for method in one if "{" in path]
    there = {(method, path.removeprefix("/v1/{project}")) for method, path in pairs}
    named = {
        "/answers/none.json": "/answers/{answer}", "/releases/2026": "/releases/{release}",
        "/releases/2026/table.csv": "/releases/{release}/{file}",
    }  # fmt: skip
    tested = {(m, named.get(p, p.replace("smokes", "{name}").replace("nobody", "{name}"))) for m, p, _, _ in ROUTES}
    assert tested == there


@pytest.mark.parametrize(("method", "path", "body", "expected"), ROUTES, ids=[f"{m} {p}" for m, p, _, _ in ROUTES])
def test_anothers_project_looks_like_none(
    service: Running, method: str, path: str, body: Any, expected: tuple[int, ...]
) -> None:
    """But for what a project has for everybody."""
    if expected[0] != 401:
        return
    for who in ("ana", "cora", ""):
        seen = []
        for project in ("census", "nothing"):
            reply = service.client.request(method, f"/v1/{project}{path}", json=body, headers=service.headers(who))
            told = reply.json()
            told.pop("request")
            seen.append((reply.status_code, told, set(reply.headers)))
        assert seen[0] == seen[1]
        assert seen[0][0] == (404 if who and path != "/login" else 401)


def test_a_project_without_surveys_or_releases_looks_like_none_to_strangers(service: Running) -> None:
    for path in ("/surveys/x", "/releases/x", "/releases/x/y"):
        replies = [service.get(f"/v1/{project}{path}") for project in ("hospital", "nothing")]
        assert {reply.status_code for reply in replies} == {404}
        assert len({reply.json()["detail"] for reply in replies}) == 1
