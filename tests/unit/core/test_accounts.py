"""Tokens are kept as hashes alone, compared all, and judged by the clock; SCRAM's keys are those of the standard."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from obverse.core.accounts import Account, check_name, fresh_token, scram_keys, token_hash, wire_salt
from obverse.core.errors import Refused

SALT = bytes(16)


def test_a_token_is_256_bits_and_no_part_of_it_is_kept() -> None:
    plain, kept = fresh_token(1000, SALT)
    assert len(base64.urlsafe_b64decode(plain.removeprefix("obv_") + "=")) == 32
    assert plain not in repr(kept)
    assert kept.hash == token_hash(plain) == hashlib.sha256(plain.encode()).hexdigest()
    assert kept.hash not in repr(kept)
    assert fresh_token(1000, SALT)[0] != plain


def test_an_account_holds_its_live_tokens_alone() -> None:
    one, kept_one = fresh_token(1000, SALT)
    other, kept_other = fresh_token(2000, SALT)
    account = Account("ana", "analyst").with_token(kept_one).with_token(kept_other)
    assert account.held(one, 999.9) == kept_one.id
    assert not account.held(one, 1000)
    assert account.held(other, 1000) == kept_other.id
    assert not account.without_token(kept_other.id).held(other, 0)
    assert not account.without_token("").live(0)
    assert not account.held("", 0)


def test_scram_keys_are_those_of_rfc_7677() -> None:
    """The example of the standard: its client's proof and its server's signature follow from our two keys."""
    stored, server = scram_keys("pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    told = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client = bytes(a ^ b for a, b in zip(proof, hmac.digest(stored, told, "sha256")))
    assert hashlib.sha256(client).digest() == stored
    assert base64.b64encode(hmac.digest(server, told, "sha256")) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_every_name_has_a_salt_and_keeps_it() -> None:
    assert wire_salt(b"s", "ana") == wire_salt(b"s", "ana") != wire_salt(b"s", "ben")
    assert wire_salt(b"t", "ana") != wire_salt(b"s", "ana")
    assert len(wire_salt(b"s", "nobody\udcff")) == 16


@pytest.mark.parametrize("name", ["", " ana", "a/b", "a.b", "x" * 129, "a\nb", "a?b"])
def test_a_name_that_would_not_fit_an_address_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        check_name(name)
    assert refused.value.code == "bad_name"
