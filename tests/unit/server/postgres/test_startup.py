"""SCRAM-SHA-256 against RFC 7677, and what an attacker may try with it."""

from __future__ import annotations

import base64

import pytest

from obverse.core.accounts import Token, fresh_token, scram_keys, wire_salt
from obverse.core.errors import Refused
from obverse.ledger.ledger import StoredLedger
from obverse.server.errors import NotSignedIn
from obverse.server.postgres import startup
from tests.wired import Client, Raw, Wired

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT = "rOprNGfwEbeRWgbNEkqO"
SERVER = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="


def token(password: str, salt: bytes = SALT, id: str = "t") -> Token:
    stored, server = scram_keys(password, salt)
    return Token(id, "", 1 << 40, stored.hex(), server.hex())


def test_the_exchange_of_the_rfc_is_word_for_word_the_same() -> None:
    offered = startup.offer(startup.read_first(f"n,,n=user,r={CLIENT}".encode()), SALT, SERVER)
    assert offered.text == f"r={CLIENT}{SERVER},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = startup.finish(offered, f"c=biws,r={CLIENT}{SERVER},p={PROOF}".encode(), [token("pencil")])
    assert final[0] == "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_any_live_token_of_an_account_will_do() -> None:
    client = Client("pencil")
    offered = startup.offer(startup.read_first(client.first()), SALT)
    assert (
        startup.finish(offered, client.final(offered.text.encode()), [token("other"), token("pencil", id="p")])[1]
        == "p"
    )


@pytest.mark.parametrize("known", [[], [token("other")], [token("other")] * 12])
def test_a_stranger_and_a_wrong_password_fail_alike(known: list[Token]) -> None:
    client = Client("wrong")
    offered = startup.offer(startup.read_first(client.first()), SALT)
    with pytest.raises(NotSignedIn) as refused:
        startup.finish(offered, client.final(offered.text.encode()), known)
    assert (refused.value.code, str(refused.value)) == ("not_signed_in", str(NotSignedIn()))


def test_as_many_keys_are_checked_for_a_stranger_as_for_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    real = startup.hmac.compare_digest
    monkeypatch.setattr(startup.hmac, "compare_digest", lambda a, b: compared.append(1) or real(a, b))
    counts = []
    for known in ([], [token("a")], [token("a"), token("b")]):
        compared.clear()
        client = Client("wrong")
        offered = startup.offer(startup.read_first(client.first()), SALT)
        with pytest.raises(NotSignedIn):
            startup.finish(offered, client.final(offered.text.encode()), known)
        counts.append(len(compared))
    assert len(set(counts)) == 1
    assert counts[0] > startup.CHECKED


def test_as_many_notes_are_read_for_a_stranger_as_for_anybody(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    real = StoredLedger.note
    read = list[int]()
    monkeypatch.setattr(StoredLedger, "note", lambda ledger, number: read.append(number) or real(ledger, number))
    counts = []
    for name, database in (("ana", "hospital"), ("nobody", "hospital"), ("ana", "nowhere")):
        read.clear()
        with Raw(wired.port) as client:
            client.sign_in(name, "wrong", database)
        counts.append(len(read))
    assert len(set(counts)) == 1
    assert counts[0] > startup.CHECKED


def test_every_name_has_a_salt_of_its_own_that_stays() -> None:
    salts = [wire_salt(b"secret", name) for name in ("ana", "nobody", "ana")]
    assert salts[0] == salts[2] != salts[1]
    assert {len(salt) for salt in salts} == {16}
    assert fresh_token(1, salts[0])[0].isascii()


@pytest.mark.parametrize(
    "said",
    [
        b"p=tls-server-end-point,,n=,r=abc",  # binds a channel that was not offered
        b"n,a=admin,n=,r=abc",  # as somebody else
        b"n,,n=,r=",
        b"n,,n=,r=a b\0",
        b"m=ext,n,,n=,r=abc",
        b"\xff\xfe",
        b"",
        b"n,,r=abc,n=",
    ],
)
def test_a_first_message_that_plays_games_is_refused(said: bytes) -> None:
    with pytest.raises(Refused) as refused:
        startup.read_first(said)
    assert refused.value.code == "protocol_violation"


@pytest.mark.parametrize("change", ["nonce", "channel", "proof", "form"])
def test_a_last_message_belongs_to_the_first(change: str) -> None:
    """A client that said y, or whose header was changed on the way, does not come through."""
    client = Client("pencil", header="y,,")
    offered = startup.offer(startup.read_first(client.first()), SALT)
    final = client.final(offered.text.encode())
    changed = {
        "nonce": final.replace(b"r=", b"r=x"),
        "channel": final.replace(b"c=" + base64.b64encode(b"y,,"), b"c=biws"),
        "proof": final[:-8] + b"A=",
        "form": b"c=biws",
    }[change]
    with pytest.raises(Refused) as refused:
        startup.finish(offered, changed, [token("pencil")])
    assert refused.value.code == "protocol_violation"
    assert startup.finish(offered, final, [token("pencil")])
