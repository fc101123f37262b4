"""Strangers: whatever they show and whichever project they name, the same is done for them, and the same is said."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST
from joserfc.jwk import KeySet

from obverse.curator import accounts
from obverse.server.http import auth, login
from obverse.server.project import Host
from obverse.server.queries import Desk
from tests.http_services import Running, running, write_project
from tests.unit.server.http.test_auth import AUDIENCE, ISSUER, KEYS, token

ELSEWHERE = "https://elsewhere.example"
pytestmark = pytest.mark.filterwarnings("ignore")


def issuer(folder: Path, name: str) -> str:
    """A section for obverse.toml, and the file that it names."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "jwks.json").write_text(json.dumps(KeySet(list(KEYS.values())).as_dict(private=False)))
    return f'[serve.oidc]\nissuer = "{name}"\naudience = "{AUDIENCE}"\njwks = "jwks.json"\n'


@pytest.fixture(scope="module")
def three(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Projects of two issuers, and one of none."""
    root = tmp_path_factory.mktemp("three")
    others = [
        write_project(root / "census", "census", people=61, more=issuer(root / "census", ELSEWHERE)),
        write_project(root / "plain", "plain", people=62),
    ]
    with running(
        write_project(root / "hospital", people=63, more=issuer(root / "hospital", ISSUER)), *others
    ) as started:
        yield started


@pytest.fixture(scope="module")
def bare(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A project that has neither surveys nor releases, and no card."""
    folder = write_project(tmp_path_factory.mktemp("bare") / "hospital", people=64)
    toml = folder / "obverse.toml"
    without = toml.read_text().partition("[surveys.smokes]")[0]
    toml.write_text(without.replace("[serve]\n", "[serve]\ntransparency = false\n"))
    shutil.rmtree(folder / "releases")
    with running(folder) as started:
        yield started


@pytest.fixture
def work(three: Running, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What is done for a request: ledgers read, signatures checked, passwords hashed."""
    done: Counter[str] = Counter()

    def counted(owner: Any, name: str, what: str) -> None:
        honest = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **more: done.update([what]) or honest(*args, **more))

    counted(Host, "clerk", "ledgers")
    counted(auth, "named_by", "signatures")
    counted(login, "_verified", "passwords")
    cheap = PasswordHasher.from_parameters(CHEAPEST)
    monkeypatch.setattr(login, "_dummy", lambda: cheap.hash("nothing"))
    three.client.cookies.clear()
    three.client.app.state.service.guesses.__init__(clock=lambda: 0.0)  # type: ignore[attr-defined]
    return done


def by_bearer(plain: str | Callable[[], str]) -> Callable[[Running, str], Any]:
    """With a token; one that is made now, where it would expire."""

    def shown(three: Running, project: str) -> Any:
        told = plain if isinstance(plain, str) else plain()
        return three.get(f"/v1/{project}/tables", headers={"Authorization": f"Bearer {told}"})

    return shown


def by_cookie(three: Running, project: str) -> Any:
    return three.get(f"/v1/{project}/tables", headers={"Cookie": "obverse=a.b.c"})


def by_password(three: Running, project: str) -> Any:
    return three.post(f"/v1/{project}/login", "", {"name": "nobody", "password": "a sentence"})


SHOWN: dict[str, Callable[[Running, str], Any]] = {
    "an unknown token": by_bearer("obv_" + "x" * 43),
    "a JWT of an unknown name": by_bearer(lambda: token(sub="stranger")),
    "a JWT of another issuer": by_bearer(lambda: token(sub="stranger", iss="https://evil.example")),
    "a JWT that nobody signed": by_bearer(lambda: token()[:-4] + "AAAA"),
    "no JWT": by_bearer("a.b.c"),
    "a cookie": by_cookie,
    "a password": by_password,
}


@pytest.mark.parametrize("shown", SHOWN)
def test_the_same_work_is_done_for_every_project_and_for_none(shown: str, three: Running, work: Counter[str]) -> None:
    done = []
    told = []
    for project in ("hospital", "census", "plain", "nowhere"):
        work.clear()
        reply = SHOWN[shown](three, project)
        done.append(dict(work))
        told.append((reply.status_code, {name: value for name, value in reply.json().items() if name != "request"}))
    assert told[0][0] == 401
    assert all(one == told[0] for one in told)
    assert done[0].get("ledgers", 0) >= 1
    assert all(one == done[0] for one in done), done


@pytest.mark.parametrize(
    "path",
    ["surveys", "surveys/none", "surveys/none/reports", "releases", "releases/none", "releases/a/b", "transparency"],
)
def test_the_same_work_is_done_where_a_project_has_nothing_for_everybody(
    path: str, bare: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the reply nor the threads that it takes tell whether there is such a project."""
    done = []
    told = []
    honest = Desk._work
    for project in ("hospital", "nowhere"):
        count: list[str] = []

        async def counted(self: Desk, name: str, action: Any, count: list[str] = count) -> Any:
            count.append(name)
            return await honest(self, name, action)

        monkeypatch.setattr(Desk, "_work", counted)
        body = {"reports": [{"token": "00", "report": "00"}]} if path.endswith("reports") else None
        reply = bare.post(f"/v1/{project}/{path}", "", body) if body else bare.get(f"/v1/{project}/{path}")
        done.append(len(count))
        told.append((reply.status_code, reply.json()["code"]))
    assert told == [(404, "not_found")] * 2
    assert done[0] == done[1] >= 1


def test_for_who_has_a_token_elsewhere_the_same_is_done(three: Running, work: Counter[str]) -> None:
    """A token of the first project, and of the last, at others and at none."""
    three.tokens["pia"] = accounts.issue(three.folder.parent / "plain", "pia", "reviewer").token
    done = []
    for who, projects in {"ana": ("census", "plain", "nowhere"), "pia": ("hospital", "census", "nowhere")}.items():
        for project in projects:
            work.clear()
            reply = three.get(f"/v1/{project}/tables", who)
            assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
            done.append(dict(work))
    assert all(one == done[0] for one in done), done


def test_what_an_issuer_says_counts_where_it_is_declared_and_nowhere_else(three: Running, work: Counter[str]) -> None:
    theirs = by_bearer(token(sub="ana"))
    other = by_bearer(token(sub="ana", iss=ELSEWHERE))
    assert [theirs(three, project).status_code for project in ("hospital", "census", "plain")] == [200, 401, 401]
    assert other(three, "hospital").status_code == 401


@pytest.mark.parametrize("broken", ["nonsense", '{"keys": [{"kty": "RSA"}]}', None])
def test_keys_that_cannot_be_read_let_nobody_in_and_tell_the_operator(
    broken: str | None, three: Running, work: Counter[str], caplog: pytest.LogCaptureFixture
) -> None:
    keys = three.folder / "jwks.json"
    whole = keys.read_text()
    try:
        if broken is None:
            keys.unlink()
        else:
            keys.write_text(broken)
        told = [by_bearer(token())(three, project) for project in ("hospital", "nowhere")]
    finally:
        keys.write_text(whole)
    assert [reply.status_code for reply in told] == [401, 401]
    assert {reply.json()["code"] for reply in told} == {"not_signed_in"}
    assert "oidc_keys_unreadable" in caplog.text


def test_a_project_that_cannot_be_opened_does_not_tell_which_others_there_are(
    three: Running, work: Counter[str]
) -> None:
    """The first one stands in for those that are not here; broken, it is not told of in their stead."""
    toml = three.folder / "obverse.toml"
    whole = toml.read_text()
    try:
        toml.write_text("nonsense")
        told = {shown: show(three, "nowhere").status_code for shown, show in SHOWN.items()}
    finally:
        toml.write_text(whole)
    assert set(told.values()) == {401}, told
