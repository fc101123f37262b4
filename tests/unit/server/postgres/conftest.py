"""One server for all tests of the wire; its ledger is in the home of the run."""

from __future__ import annotations

import datetime as dt
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wired import Raw, Wired, made, served


@pytest.fixture(autouse=True)
def home_of_the_test(home_of_the_run: None) -> None:
    """The server's threads open its ledger when they first need it, so all tests share one home."""


@pytest.fixture(scope="session")
def wired(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    with served(made(tmp_path_factory.mktemp("wired") / "hospital")) as running:
        yield running


@pytest.fixture
def ana(wired: Wired) -> Iterator[Raw]:
    with wired.login() as client:
        yield client


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A certificate of our own, and the context that shows it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - dt.timedelta(1)).not_valid_after(now + dt.timedelta(1))
    folder: Path = tmp_path_factory.mktemp("tls")
    (folder / "c.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    (folder / "k.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "c.pem", folder / "k.pem")
    return context
