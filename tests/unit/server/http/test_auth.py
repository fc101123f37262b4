"""OpenID Connect: only what the declared issuer signed, for us, and lately."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

from obverse.catalog.model import Oidc
from obverse.core.errors import Refused
from obverse.server import preflight as checking
from obverse.server.http.auth import named_by
from tests.http_services import Running, running, write_project

ISSUER = "https://login.example"
AUDIENCE = "obverse"
KEYS: dict[str, Any] = {
    "RS256": RSAKey.generate_key(2048, {"kid": "r"}),
    "ES256": ECKey.generate_key("P-256", {"kid": "e"}),
    "EdDSA": OKPKey.generate_key("Ed25519", {"kid": "o"}),
}
SHARED = OctKey.generate_key(256, {"kid": "s"})
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def oidc(tmp_path_factory: pytest.TempPathFactory) -> Oidc:
    path = tmp_path_factory.mktemp("issuer") / "jwks.json"
    public = KeySet(list(KEYS.values())).as_dict(private=False)
    public["keys"].append(SHARED.as_dict(private=True))
    path.write_text(json.dumps(public))
    return Oidc(ISSUER, AUDIENCE, path)


def token(algorithm: str = "RS256", key: Any = None, header: dict[str, Any] | None = None, **changed: Any) -> str:
    claims = {"iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 60, "sub": "ana", **changed}
    used = key or KEYS[algorithm]
    told = {"alg": algorithm, "kid": used.kid, **(header or {})}
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(told, kept, used, algorithms=[algorithm])


def by_secret(secret: bytes) -> str:
    """Signed with the issuer's public key, as if it were a secret that both share."""
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"r"}').rstrip(b"=").decode()
    signed = f"{head}.{token().split('.')[1]}"
    mark = hmac.digest(secret, signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}"


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_token_of_the_issuer_names_the_account(oidc: Oidc, algorithm: str) -> None:
    assert named_by(token(algorithm), oidc) == "ana"
    assert named_by(token(algorithm, aud=["other", AUDIENCE]), oidc) == "ana"


@pytest.mark.parametrize(
    "changed",
    [{"iss": "https://evil.example"}, {"aud": "other"}, {"exp": int(time.time()) - 3600}, {"exp": None}, {"iss": None},
     {"aud": None}, {"sub": None}, {"sub": 7}, {"sub": ""}, {"nbf": int(time.time()) + 3600}, {"exp": "never"}],
)  # fmt: skip
def test_a_token_for_others_or_of_another_time_names_nobody(oidc: Oidc, changed: dict[str, Any]) -> None:
    assert named_by(token(**changed), oidc) is None


def test_other_keys_and_other_algorithms_name_nobody(oidc: Oidc) -> None:
    unsigned = token().split(".")
    none = "eyJhbGciOiJub25lIn0." + unsigned[1] + "."
    for forged in (
        none,
        none + unsigned[2],
        token("HS256", SHARED),
        by_secret(KEYS["RS256"].as_pem(private=False)),
        token(key=RSAKey.generate_key(2048, {"kid": "r"})),
        token("RS512", KEYS["RS256"]),
        token()[:-4] + "AAAA",
        "a.b.c",
        "",
        "x" * 10_000 + "..",
    ):
        assert named_by(forged, oidc) is None


def test_an_address_counts_once_the_issuer_has_verified_it(oidc: Oidc) -> None:
    by_mail = Oidc(ISSUER, AUDIENCE, oidc.jwks, "email")
    assert named_by(token(email="ana"), by_mail) is None
    assert named_by(token(email="ana", email_verified=True), by_mail) == "ana"


def test_keys_that_cannot_be_read_are_the_curators_to_mend(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        named_by(token(), Oidc(ISSUER, AUDIENCE, tmp_path / "none.json"))
    assert refused.value.code == "oidc_keys_unreadable"


@pytest.fixture(scope="module")
def federated(home_of_the_run: None, oidc: Oidc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    more = f'[serve.oidc]\nissuer = "{ISSUER}"\naudience = "{AUDIENCE}"\njwks = "{oidc.jwks}"\n'
    with running(write_project(tmp_path_factory.mktemp("federated") / "hospital", people=397, more=more)) as started:
        yield started


def test_a_token_of_the_issuer_stands_for_the_account_of_the_ledger(federated: Running) -> None:
    for name, status in {"ana": 200, "cora": 200, "stranger": 401}.items():
        federated.tokens["by issuer"] = token(sub=name)
        assert federated.get("/v1/hospital/tables", "by issuer").status_code == status
    federated.tokens["by issuer"] = token(sub="ana")
    assert federated.get("/v1/hospital/accounts", "by issuer").status_code == 403


def test_an_issuer_that_the_curator_struck_from_the_file_names_nobody_from_then_on(federated: Running) -> None:
    federated.tokens["by issuer"] = token(sub="cora")
    assert federated.get("/v1/hospital/accounts", "by issuer").status_code == 200
    toml = federated.folder / "obverse.toml"
    text = toml.read_text()
    try:
        toml.write_text(text.partition("[serve.oidc]")[0])
        assert federated.get("/v1/hospital/accounts", "by issuer").status_code == 401
    finally:
        toml.write_text(text)


def test_where_no_issuer_is_declared_such_a_token_is_nobodys(service: Running) -> None:
    service.tokens["by issuer"] = token()
    assert service.get("/v1/hospital/tables", "by issuer").status_code == 401


def test_a_check_tells_whether_the_issuers_keys_can_be_read(federated: Running, oidc: Oidc) -> None:
    assert checking._issuer(oidc) == checking.Line("Issuer", f"{ISSUER}: 3 public keys")
    assert checking._issuer(Oidc(ISSUER, AUDIENCE, Path("none.json"))).fine is False
