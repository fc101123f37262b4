"""OpenID Connect: a bearer JWT of a known issuer stands for the account that it names. The extra `oidc` brings the arithmetic.

Claim:   a token is taken only if a key of the declared file signed it, for this issuer and audience, and it has not expired.
Proof:   algorithms are pinned to signatures with public keys, so neither `none` nor a shared secret passes; keys are those of
         the file, whatever the token's header points to.
Assumes: the file is the issuer's, and the clock is about right.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from obverse.catalog.model import Oidc
from obverse.core.errors import Refused

ALGORITHMS = ("RS256", "ES256", "EdDSA")
KINDS = ("RSA", "EC", "OKP")
LEEWAY_S = 30
TOKEN_MAX = 8192


def named_by(token: str, oidc: Oidc, *, clock: Callable[[], float] = time.time) -> str | None:
    """The name of the account that the token stands for; None where it stands for nobody."""
    if len(token) > TOKEN_MAX or token.count(".") != 2:
        return None
    jwt, error_class = _joserfc()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # EdDSA has a newer name too
            claims = jwt.decode(token, keys(oidc.jwks), algorithms=list(ALGORITHMS)).claims
        jwt.JWTClaimsRegistry(
            now=int(clock()),
            leeway=LEEWAY_S,
            iss={"essential": True, "value": oidc.issuer},
            aud={"essential": True, "value": oidc.audience},
            exp={"essential": True},
        ).validate(claims)
    except (error_class, ValueError, TypeError, KeyError):
        return None
    name = claims.get(oidc.claim)
    if oidc.claim == "email" and claims.get("email_verified") is not True:
        return None
    return name if isinstance(name, str) and name else None


def keys(path: Path) -> Any:
    """The issuer's public keys; a shared secret among them is left out."""
    _, error_class = _joserfc()
    from joserfc.jwk import KeySet

    try:
        told = json.loads(path.read_text())["keys"]
        return KeySet.import_key_set({"keys": [key for key in told if key.get("kty") in KINDS]})
    except (OSError, ValueError, TypeError, KeyError, AttributeError, error_class):
        raise unreadable(path) from None


def unreadable(path: Path) -> Refused:
    return Refused(
        "oidc_keys_unreadable",
        "the issuer's keys cannot be read.",
        place=str(path),
        fix="Save the issuer's jwks_uri to the file that [serve.oidc] jwks names.",
    )


def _joserfc() -> tuple[Any, type[Exception]]:
    try:
        from joserfc import jwt
        from joserfc.errors import JoseError
    except ImportError:
        raise Refused(
            "extra_missing", "[serve.oidc] needs the package joserfc.", fix="pip install 'obverse[oidc]'"
        ) from None
    return jwt, JoseError
