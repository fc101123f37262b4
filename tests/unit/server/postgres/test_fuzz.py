"""Frames of chance: the server goes on, and nothing is charged."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.wired import SYNC, Raw, Wired, frame, parse, texts

TEXTS = st.sampled_from(
    (
        "SELECT 1|SELECT * FROM people|BEGIN|COMMIT||SET x.y = 1|SELECT relname FROM pg_class|nonsense|'|SELECT $1|$1"
    ).split("|")
)
NAMES = st.sampled_from(["", "a", "b"])
WELL = st.one_of(
    st.builds(lambda text: frame(b"Q", texts(text)), TEXTS),
    st.builds(parse, TEXTS, NAMES),
    st.builds(lambda a, b: frame(b"B", texts(a, b) + b"\0" * 6), NAMES, NAMES),
    st.builds(lambda kind, name: frame(b"D", kind + texts(name)), st.sampled_from([b"S", b"P", b"?"]), NAMES),
    st.builds(
        lambda name, most: frame(b"E", texts(name) + struct.pack("!i", most)), NAMES, st.integers(-(2**31), 2**31 - 1)
    ),
    st.just(SYNC),
    st.just(frame(b"H")),
)
ILL = st.one_of(
    st.builds(frame, st.sampled_from([bytes([n]) for n in b"QPBDCESHFdcfpX?\0"]), st.binary(max_size=60)),
    st.builds(
        lambda kind, size: kind + struct.pack("!I", size), st.sampled_from([b"Q", b"P"]), st.integers(0, 2**32 - 1)
    ),
    st.binary(max_size=30),
)
BOUNDED = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def swallowed(sock: socket.socket) -> None:
    """Read until the server has nothing more to say, or goes."""
    sock.settimeout(60.0)
    with suppress(ConnectionError):
        with suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):  # a TimeoutError is a hang, and fails the test
            pass


@BOUNDED
@given(sent=st.lists(WELL | ILL, max_size=12))
def test_frames_after_a_login_neither_hang_nor_spend(wired: Wired, sent: list[bytes]) -> None:
    with wired.login() as client:
        with suppress(OSError):
            client.send(b"".join(sent))
        swallowed(client.sock)


@BOUNDED
@given(sent=st.binary(max_size=80), code=st.sampled_from([196608, 80877103, 80877104, 80877102, 0, 131072]))
def test_bytes_before_a_login_neither_hang_nor_spend(wired: Wired, sent: bytes, code: int) -> None:
    for raw in (sent, struct.pack("!II", len(sent) + 8, code) + sent):
        with Raw(wired.port) as client:
            with suppress(OSError):
                client.send(raw)
            swallowed(client.sock)


@pytest.mark.soak
def test_a_million_frames_of_chance(wired: Wired) -> None:
    """pgwire-036 of the hostile corpus at its full size."""
    before = wired.charges()
    for _ in range(2_000):
        with wired.login() as client:
            noise = os.urandom(12_000)
            sent = [frame(noise[at : at + 1], noise[at + 1 : at + 1 + noise[at] % 20]) for at in range(0, 11_900, 24)]
            with suppress(OSError):
                client.send(b"".join(one if one[:1] in b"QPBDCESHFdcfp" else SYNC for one in sent))
            swallowed(client.sock)
    assert wired.charges() == before


def test_after_all_that_the_server_answers_and_nothing_was_charged(wired: Wired) -> None:
    before = wired.charges()
    test_frames_after_a_login_neither_hang_nor_spend(wired)
    test_bytes_before_a_login_neither_hang_nor_spend(wired)
    assert wired.charges() == before
    with wired.login() as client:
        assert client.rows("SELECT 1") == [["1"]]
