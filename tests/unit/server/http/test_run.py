"""A service as it runs: what it refuses to start with, its sockets, an orderly stop, and two servers with one
budget.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import obverse
from obverse.core.errors import Refused
from obverse.curator import accounts
from obverse.server import run
from obverse.server.http import connections
from obverse.server.http.connections import loopback
from obverse.server.observability import Metrics, Notes
from obverse.server.queries import Desk
from obverse.server.run import Settings, checked, opened
from tests.http_services import listening, write_project

MAIN = "from obverse.cli.main import main; main()"


@dataclass
class Served:
    """`obverse serve` in a process of its own."""

    process: subprocess.Popen[str]
    address: tuple[str, int]

    def ask(self, token: str, sql: str, epsilon: float = 0.1) -> tuple[int, dict[str, object]]:
        """Status and body; 0 where nobody listens."""
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        body = json.dumps({"sql": sql, "epsilon": epsilon})
        sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", "/v1/hospital/ask", body, sent)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        except OSError:
            return 0, {}
        finally:
            connection.close()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    environment = {**os.environ, "PYTHONPATH": str(Path(obverse.__file__).parent.parent)}
    command = [sys.executable, "-c", MAIN, "serve", str(folder), "--port", "0", "--no-pg", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert process.stdout is not None
    told = ""
    while not told.rstrip().endswith("}"):
        line = process.stdout.readline()
        assert line, "it did not start"
        told += line
    host, _, port = json.loads(told)["http"].removeprefix("http://").partition(":")
    try:
        yield Served(process, (host, int(port)))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def settled(folder: Path) -> tuple[int, int]:
    """Debits, and those whose answer is stored."""
    with obverse.open(folder) as session:
        kinds = [entry.kind for entry in session.ledger.entries()]  # type: ignore[attr-defined]
    return kinds.count("charge"), kinds.count("settle")


def question(number: int) -> str:
    return f"SELECT COUNT(*) AS n FROM people WHERE age > {number}"


def test_two_servers_share_one_budget_to_the_last_question(home_of_the_run: None, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "hospital", epsilon="1", people=60)
    token = accounts.issue(folder, "ana", "analyst").token
    with served(folder) as one, served(folder) as other, ThreadPoolExecutor(8) as pool:
        asked = [((one, other)[number % 2], question(number)) for number in range(16)]
        statuses = [status for status, _ in pool.map(lambda a: a[0].ask(token, a[1]), asked)]
        assert {one.stop(), other.stop()} == {0}
    assert (statuses.count(200), statuses.count(402)) == (10, 6)
    assert settled(folder) == (10, 10)


def test_an_orderly_stop_loses_nothing_that_was_charged(home_of_the_run: None, tmp_path: Path) -> None:
    """Whoever was charged got the answer; whoever came late was not charged; and no process is left."""
    folder = write_project(tmp_path / "hospital", people=61)
    token = accounts.issue(folder, "ana", "analyst").token
    with served(folder) as server, ThreadPoolExecutor(14) as pool:
        assert server.ask(token, question(99))[0] == 200
        replies = [pool.submit(server.ask, token, question(number)) for number in range(14)]
        while settled(folder)[0] < 3:
            pass
        assert server.stop() == 0
        statuses = [reply.result()[0] for reply in replies]
    assert set(statuses) <= {200, 503, 0}
    assert settled(folder) == (statuses.count(200) + 1,) * 2


def test_nobody_else_can_reach_a_service_without_tls() -> None:
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.org"):
        assert not loopback(host)
        with pytest.raises(Refused) as refused:
            checked(Settings(host=host))
        assert refused.value.code == "tls_needed"
        checked(Settings(host=host, proxies="10.0.0.5"))
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        checked(Settings(host=host))


@pytest.mark.parametrize("told", ["*", "0.0.0.0/0", "::/0", "proxy.internal", "10.0.0.5, *", "10.0.0.5/8", " "])
def test_a_proxy_is_known_by_its_address_and_is_not_everybody(told: str) -> None:
    """Whoever is believed chooses the address that his guesses are counted by."""
    with pytest.raises(Refused) as refused:
        checked(Settings(host="0.0.0.0", proxies=told))
    assert refused.value.code == "bad_proxy"
    checked(Settings(host="0.0.0.0", proxies="10.0.0.5, 10.1.0.0/28,fd00::5"))


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"certificate": Path("a.pem")}, "tls_incomplete"),
        ({"certificate": Path("a"), "key": Path("b")}, "tls_unreadable"),
    ],
)
def test_tls_needs_both_files_and_readable_ones(settings: dict[str, Path], code: str) -> None:
    with pytest.raises(Refused) as refused:
        checked(Settings(**settings))  # type: ignore[arg-type]
    assert refused.value.code == code


def test_projects_have_names_of_their_own_that_fit_into_an_address(home_of_the_run: None, tmp_path: Path) -> None:
    first = write_project(tmp_path / "a", people=62)
    second = write_project(tmp_path / "b", people=63)
    slashed = write_project(tmp_path / "c", "a/b", people=64)
    for projects, code in (((first, second), "project_twice"), ((slashed,), "bad_name")):
        with pytest.raises(Refused) as refused, opened(projects):
            pass
        assert refused.value.code == code


def test_a_taken_port_is_told(home_of_the_run: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Refused) as refused:
        run._listener(Settings(port=taken.getsockname()[1]))
    assert refused.value.code == "cannot_listen"


@pytest.fixture
def certified(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of one's own for 127.0.0.1, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now).not_valid_after(now + dt.timedelta(days=1)).sign(key, hashes.SHA256())
    )  # fmt: skip
    certificate = tmp_path / "cert.pem"
    private = tmp_path / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return certificate, private


def test_over_tls_cookies_are_secure_and_browsers_stay(
    home_of_the_run: None, tmp_path: Path, certified: tuple[Path, Path]
) -> None:
    folder = write_project(tmp_path / "hospital", people=65)
    accounts.issue(folder, "ana", "analyst")
    accounts.set_password(folder, "ana", "a sentence that nobody guesses")
    with listening(folder, certificate=certified[0], key=certified[1]) as address:
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(*address, context=context, timeout=30)
        body = json.dumps({"name": "ana", "password": "a sentence that nobody guesses"})
        connection.request("POST", "/v1/hospital/login", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        assert reply.status == 200
        assert "Secure" in (reply.getheader("set-cookie") or "")
        assert reply.getheader("strict-transport-security")
        connection.close()


def test_a_request_of_two_lengths_ends_its_connection(home_of_the_run: None, tmp_path: Path) -> None:
    """RFC 9112, 6.1: a proxy that believes the other length takes somebody's next request for the body of this one."""
    folder = write_project(tmp_path / "hospital", people=66)
    with listening(folder) as address, socket.create_connection(address, timeout=30) as sock:
        head = b"POST /v1/hospital/login HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        sock.sendall(head + b"0\r\n\r\n" + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        said = b""
        with contextlib.suppress(ConnectionResetError):
            while part := sock.recv(65_536):
                said += part
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1") == 1
    assert b'"ok"' not in said


def test_both_servers_are_told_of_and_the_wire_is_closed_last(
    home_of_the_run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes no new connection at once; those it has are let go once every question that ran has its answer."""
    seen: list[object] = []

    class Wire:
        port = 5999

        def __init__(self, desk: Desk) -> None:
            self.desk = desk

        def stop_listening(self) -> None:
            seen.append(self.desk._stopping)

        async def close(self) -> None:
            seen.append(self.desk._stopping)

    async def serve_wire(desk: Desk, host: str, port: int, context: object, *, notes: Notes) -> Wire:
        if port == 1:
            raise OSError
        seen.append(notes.metrics)
        return Wire(desk)

    monkeypatch.setattr(run, "_wire_server", lambda: serve_wire)

    async def told(wire_port: int | None) -> str:
        with opened([folder]) as hosts:
            async with run.serving(hosts, Settings(port=0, wire_port=wire_port)) as started:
                return started.wire

    folder = write_project(tmp_path / "hospital", people=67)
    assert asyncio.run(told(5433)) == "127.0.0.1:5999"
    assert isinstance(seen[0], Metrics), "the counts of both are in one place"
    assert seen[1:] == [False, True]
    assert asyncio.run(told(None)) == ""
    with pytest.raises(Refused) as refused:
        asyncio.run(told(1))
    assert refused.value.code == "cannot_listen"


def test_slow_heads_large_heads_and_nonsense_are_let_go(
    home_of_the_run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(write_project(tmp_path / "hospital", people=66)) as address:
        for sent, expected in (
            (b"GET /health HTTP/1.1\r\nHost:", b""),
            (b"GET /health HTTP/1.1\r\nX: " + b"y" * 100_000, b"HTTP/1.1 400"),
            (b"\x16\x03\x01\x02\x00", b""),
            (b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", b"HTTP/1.1 400"),
            (b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"HTTP/1.1 200"),
        ):
            monkeypatch.setattr(connections, "HEAD_S", 15.0 if expected else 0.3)
            with socket.create_connection(address, timeout=60) as sock:
                with contextlib.suppress(ConnectionError):  # it may have heard enough; what it said can still be read
                    sock.sendall(sent)
                assert sock.recv(4096)[: len(expected) or 1] in (expected, b"H"), sent[:40]


def _dropped(sock: socket.socket, drip: bytes, seconds: float) -> bool:
    """Whether the server closes a connection on which a little comes now and then."""
    ends = time.monotonic() + seconds
    sock.settimeout(0.05)
    while time.monotonic() < ends:
        try:
            sock.sendall(drip)
            if not sock.recv(1 << 16):
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


@pytest.mark.parametrize(
    "after",
    [b"GET /health HTTP/1.1\r\nX: ", b"POST /v1/hospital/ask HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n"],
    ids=["a second head", "a body that was refused"],
)
def test_a_connection_that_was_good_once_is_not_kept_by_drops(
    after: bytes, home_of_the_run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        listening(write_project(tmp_path / "hospital", people=67)) as address,
        socket.create_connection(address) as sock,
    ):
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(connections, "HEAD_S", 0.3)
        sock.sendall(after)
        assert _dropped(sock, b"y", 60.0)


def test_a_reply_that_nobody_reads_is_given_up(
    home_of_the_run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "READ_S", 0.3)
    lost = threading.Event()
    honest = connections.Punctual.connection_lost

    def given_up(self: connections.Punctual, error: Exception | None) -> None:
        honest(self, error)
        lost.set()

    monkeypatch.setattr(connections.Punctual, "connection_lost", given_up)
    folder = write_project(tmp_path / "hospital", people=68)
    size = 64 << 20  # more than what systems keep for a socket
    with (folder / "releases" / "2026" / "large.bin").open("wb") as file:
        file.truncate(size)
    with listening(folder) as address, socket.create_connection(address, timeout=10) as sock:
        sock.sendall(b"GET /v1/hospital/releases/2026/large.bin HTTP/1.1\r\nHost: x\r\n\r\n")
        came = len(sock.recv(1))
        assert lost.wait(60)
        with contextlib.suppress(ConnectionError):
            while part := sock.recv(1 << 20):
                came += len(part)
        assert came < size


def _heard(address: tuple[str, int]) -> bytes:
    """What a request over a connection of its own is answered with, to its end."""
    with socket.create_connection(address, timeout=60) as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        said = b""
        with contextlib.suppress(ConnectionError):
            while part := sock.recv(4096):
                said += part
        return said


def test_one_address_has_so_many_connections_at_once_and_a_proxy_as_many_as_it_has_clients(
    home_of_the_run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "OF_ADDRESS", 3)
    folder = write_project(tmp_path / "hospital", people=69)
    with listening(folder) as address, contextlib.ExitStack() as held:
        silent = [held.enter_context(socket.create_connection(address, timeout=60)) for _ in range(3)]
        for sock in silent:
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert sock.recv(4096).startswith(b"HTTP/1.1 200"), "it is there, and stays"
        head, _, body = _heard(address).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert f"Content-Length: {len(body)}".encode() in head
        silent[0].close()
        deadline = time.monotonic() + 60
        while not (said := _heard(address)).startswith(b"HTTP/1.1 200") and time.monotonic() < deadline:
            time.sleep(0.01)  # until the server has seen that it was closed
        assert said.startswith(b"HTTP/1.1 200")
    with listening(folder, proxies="127.0.0.1") as address, contextlib.ExitStack() as held:
        for _ in range(4):
            held.enter_context(socket.create_connection(address, timeout=60))
        assert _heard(address).startswith(b"HTTP/1.1 200")


def test_one_address_has_so_many_connections_that_shake_no_hands_over_tls(
    home_of_the_run: None, tmp_path: Path, certified: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvicorn hears of a connection once its hands were shaken; until then it would have been counted by nobody."""
    monkeypatch.setattr(connections, "OF_ADDRESS", 2)
    monkeypatch.setattr(connections, "SPARE", 1)
    trusting = ssl._create_unverified_context()
    folder = write_project(tmp_path / "hospital", people=68)
    with listening(folder, certificate=certified[0], key=certified[1]) as address, contextlib.ExitStack() as held:
        silent = [held.enter_context(socket.create_connection(address, timeout=60)) for _ in range(3)]
        with socket.create_connection(address, timeout=60) as sock, contextlib.suppress(ConnectionError):
            assert sock.recv(1) == b"", "it is closed, not heard"
        silent[0].close()
        deadline = time.monotonic() + 60
        said = b""
        while not said and time.monotonic() < deadline:  # until the server has seen that it was closed
            plain = held.enter_context(socket.create_connection(address, timeout=60))
            with contextlib.suppress(OSError), trusting.wrap_socket(plain) as sock:
                sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                said = sock.recv(4096)
        assert said.startswith(b"HTTP/1.1 200")


def test_connections_are_counted_by_address_unless_it_is_a_proxys() -> None:
    counted = [
        _counted(*told) for told in (("10.0.0.5", ""), ("10.0.0.5", "10.0.0.0/28"), ("10.0.0.99", "10.0.0.0/28"))
    ]
    assert counted == ["10.0.0.5", "", "10.0.0.99"]
    assert _counted("::ffff:10.0.0.5", "192.0.2.1, 10.0.0.5") == ""
    assert _counted("2001:db8::1", "") == _counted("2001:db8::2", "") != _counted("2001:db8:0:1::1", "")
    assert _counted("127.0.0.1", "") == "127.0.0.1", "no proxy unless it was named"


def _counted(address: str, proxies: str) -> str:
    settings = Settings(host="127.0.0.1", port=0, proxies=proxies)
    protocol = connections.Punctual.__new__(connections.Punctual)
    protocol.config = run._configured(None, settings)
    protocol.client = (address, 4711)
    return protocol._counted_by()
