"""The distribution's own PostgreSQL, where there is one: unlike the one that tests bring, it has ICU, citext and
locales.

Without it tests that ask for it are skipped by name; in continuous integration, which installs it, they fail.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.servers import missing

NUMBERS = itertools.count()
OWNER = "postgres"  # the user that the server runs as, where tests run as root, for it will not run as root


def programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found or not shutil.which("localedef"):
        missing("a PostgreSQL of the distribution, or localedef,")
    return found[-1].parent


@functools.cache
def folder() -> Path:
    """Where the server of this process has its data and its door; with an English locale that was made for it."""
    import pwd

    at = programs()
    root = os.geteuid() == 0
    user = OWNER if root else None
    if root and not any(one.pw_name == OWNER for one in pwd.getpwall()):
        missing("a user that the server could run as")
    made = Path(tempfile.mkdtemp(prefix="obverse-distribution-"))
    atexit.register(shutil.rmtree, made, True)
    locales = made / "locales"
    locales.mkdir()
    subprocess.run(["localedef", "-c", "-i", "en_US", "-f", "UTF-8", str(locales / "en_US.UTF-8")], capture_output=True)
    if root:
        shutil.chown(made, OWNER)
    made.chmod(0o755)

    def run(*command: str) -> None:
        environment = os.environ | {"LOCPATH": str(locales), "LC_ALL": "C"}
        subprocess.run(command, check=True, user=user, env=environment, cwd=made, stdout=subprocess.DEVNULL)

    data = str(made / "data")
    run(str(at / "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    options = f"-k {made} -c listen_addresses='' -c fsync=off"
    run(str(at / "pg_ctl"), "-D", data, "-l", str(made / "log"), "-w", "-o", options, "start")
    atexit.register(run, str(at / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
    return made


def database(options: str = "") -> str:
    """The address of an empty database that is created with these options, as its owner."""
    import psycopg

    address = f"host={folder()} user=postgres"
    name = f"tests_{next(NUMBERS)}"
    with psycopg.connect(f"{address} dbname=postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {options}")
    return f"postgresql://postgres:@/{name}?host={folder()}"
