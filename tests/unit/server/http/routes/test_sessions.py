"""Passwords and cookies: what a session can do, what voids it, and what guessing gets."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST

from obverse.curator import accounts
from obverse.server.http import connections, login
from tests.http_services import COUNT, Running

WORD = "a sentence that nobody guesses"
LOGIN = "/v1/hospital/login"
ASK = "/v1/hospital/ask"


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parameters of argon2 are in each hash; tests need not wait for the dear ones."""
    cheap = PasswordHasher.from_parameters(CHEAPEST)
    monkeypatch.setattr("obverse.curator.accounts.hashed_password", cheap.hash)
    monkeypatch.setattr(login, "_dummy", lambda: cheap.hash("nothing"))


class Signed:
    """Somebody of their own who is signed in by cookie."""

    def __init__(self, service: Running) -> None:
        self.service = service
        self.name = service.spare()
        accounts.set_password(service.folder, self.name, WORD)
        assert self.signs_in().status_code == 200

    def signs_in(self, name: str = "", password: str = WORD, project: str = "hospital") -> Any:
        return self.service.post(f"/v1/{project}/login", "", {"name": name or self.name, "password": password})


@pytest.fixture
def signed(service: Running) -> Signed:
    return Signed(service)


def test_a_password_gives_a_cookie_that_scripts_and_other_sites_cannot_use(signed: Signed) -> None:
    cookie = signed.signs_in().headers["set-cookie"]
    for part in ("HttpOnly", "Path=/v1/hospital", "SameSite=strict", "Max-Age=43200"):
        assert part in cookie
    assert "Secure" not in cookie, "the fixture has no TLS"
    assert signed.service.get("/v1/hospital/tables").status_code == 200


def test_a_change_by_cookie_needs_a_header_that_other_sites_cannot_send(signed: Signed) -> None:
    bare = signed.service.post(ASK, "", {"sql": COUNT})
    assert (bare.status_code, bare.json()["code"]) == (403, "header_missing")
    assert signed.service.post(ASK, "", {"sql": COUNT}, headers={"X-Obverse": "1"}).status_code == 200


@pytest.mark.parametrize("change", ["rotate", "revoke", "suspend", "password"])
def test_any_change_of_the_account_voids_its_sessions(signed: Signed, change: str) -> None:
    match change:
        case "rotate":
            accounts.rotate(signed.service.folder, signed.name)
        case "revoke":
            accounts.revoke(signed.service.folder, signed.name)
        case "suspend":
            accounts.suspend(signed.service.folder, signed.name, "a test")
        case "password":
            accounts.set_password(signed.service.folder, signed.name, WORD + "!")
    assert signed.service.get("/v1/hospital/tables").status_code == 401


def test_a_password_that_is_changed_while_it_is_checked_gives_no_session(
    signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed.service.client.cookies.clear()
    honest = login._verified

    def meanwhile(hashed: str, password: str) -> bool:
        accounts.set_password(signed.service.folder, signed.name, WORD + "!")
        return honest(hashed, password)

    monkeypatch.setattr(login, "_verified", meanwhile)
    assert signed.signs_in().status_code == 401


def test_a_session_is_of_one_project_and_cannot_be_made_up(signed: Signed) -> None:
    cookie = signed.service.client.cookies["obverse"]
    signed.service.client.cookies.clear()
    signed_text, _, mark = cookie.rpartition(".")
    other = f"{signed_text}.{'B' if mark[0] == 'A' else 'A'}{mark[1:]}"  # the last letter has bits that mean nothing
    for forged in (other, "x", "", "a.b.c"):
        assert signed.service.get("/v1/hospital/tables", headers={"Cookie": f"obverse={forged}"}).status_code == 401
    assert signed.service.get("/v1/hospital/tables", headers={"Cookie": f"obverse={cookie}"}).status_code == 200


def test_a_session_ends(signed: Signed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "LASTS_S", -1)
    assert signed.service.get("/v1/hospital/tables").status_code == 401


def test_logging_out_takes_the_cookie_back(signed: Signed) -> None:
    assert signed.service.post("/v1/hospital/logout", "", headers={"X-Obverse": "1"}).status_code == 200
    assert signed.service.get("/v1/hospital/tables").status_code == 401


def test_whatever_is_wrong_says_the_same_after_the_same_work(signed: Signed, monkeypatch: pytest.MonkeyPatch) -> None:
    """One hash for a wrong password, a name without one, an unknown name and an unknown project."""
    hashes: list[str] = []
    verify = PasswordHasher.verify
    monkeypatch.setattr(PasswordHasher, "verify", lambda self, h, p: hashes.append(h) or verify(self, h, p))
    signs_in = signed.signs_in
    tries = [signs_in(password="wrong"), signs_in("ben"), signs_in("nobody"), signs_in(project="none")]
    assert len(hashes) == len(tries)
    told = [{name: value for name, value in reply.json().items() if name != "request"} for reply in tries]
    assert [reply.status_code for reply in tries] == [401] * len(tries)
    assert told == [told[0]] * len(told)


def test_guessing_is_limited_by_name_and_by_address_and_the_right_password_waits_too(signed: Signed) -> None:
    statuses = [signed.signs_in(password=f"wrong {i}").status_code for i in range(6)]
    assert statuses == [401] * 5 + [429]
    stopped = signed.signs_in()
    assert (stopped.status_code, stopped.json()["code"]) == (429, "too_many_requests")
    assert int(stopped.headers["retry-after"]) >= 1


def test_guessed_tokens_are_limited_by_address() -> None:
    now = [0.0]
    guesses = login.Guesses(clock=lambda: now[0])
    for _ in range(login.OF_ADDRESS // 4):
        guesses.check("10.0.0.1")
        guesses.failed("10.0.0.1")
    with pytest.raises(login.TooMany):
        guesses.check("10.0.0.1")
    guesses.check("10.0.0.2")
    now[0] = 60.0
    guesses.check("10.0.0.1")


@pytest.mark.parametrize(("one", "other"), [("2001:db8::1", "2001:db8::ffff"), ("10.0.0.1", "10.0.0.1")])
def test_addresses_of_one_household_count_as_one(one: str, other: str) -> None:
    assert connections.block(one) == connections.block(other)
    assert connections.block("10.0.0.1") != connections.block("10.0.0.2")
    assert connections.block("unix") == "unix"


def test_addresses_of_ipv4_are_told_apart_on_a_socket_of_ipv6_too() -> None:
    """A server at [::] sees them as ::ffff:10.0.0.1; one who guesses must not make everybody wait."""
    assert connections.block("::ffff:10.0.0.1") == connections.block("10.0.0.1") != connections.block("::ffff:10.0.0.2")
    assert connections.block("fe80::1%eth0") == connections.block("fe80::2%eth1")


def test_signing_in_counts_failures_of_tokens(service: Running) -> None:
    service.tokens["liar"] = "obv_wrong"
    statuses = {service.get("/v1/hospital/tables", "liar").status_code for _ in range(16)}
    assert statuses == {401, 429}
    assert service.get("/v1/hospital/tables", "ana").status_code == 429, "the address waits, whoever it says it is"


def test_who_shows_nothing_has_guessed_nothing(service: Running) -> None:
    """A class that opens the page behind one address, each asking who is signed in, keeps nobody out."""
    allowed = login.OF_ADDRESS // 4
    paths = ["/v1/hospital/session"] * (allowed + 1) + ["/metrics"] * (allowed + 1)
    statuses = [service.get(path).status_code for path in paths]
    assert set(statuses) == {401}
    assert service.get("/v1/hospital/tables", "ana").status_code == 200


def test_those_who_show_nothing_are_limited_as_strangers(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    strangers = service.client.app.state.service.strangers  # type: ignore[attr-defined]
    monkeypatch.setattr(strangers, "_held", OrderedDict())
    monkeypatch.setattr(strangers, "_most", 2.0)
    monkeypatch.setattr(strangers, "_rate", 1e-9)
    assert [service.get("/v1/hospital/session").status_code for _ in range(3)] == [401, 401, 429]
    assert service.get("/v1/hospital/tables", "ana").status_code == 200, "an account has a count of its own"
