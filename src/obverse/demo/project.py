"""The bundled sample project, written to a folder; what is there already is never rewritten."""

from __future__ import annotations

import functools
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.core.errors import Refused
from obverse.demo import toml
from obverse.demo.manifest import FILE_NAME as MANIFEST
from obverse.demo.manifest import manifest

if TYPE_CHECKING:
    from obverse.demo.hospital import SampleTable

CATALOG = "obverse.toml"
Writer = Callable[[Path], None]


def write_demo(folder: Path | str) -> list[str]:
    """Write obverse.toml, people.parquet, visits.parquet, clinics.csv and manifest.json; tell of each what was done.

    The manifest lists only what this call wrote, so that a foreign file of the same name never passes for synthetic.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        return _write_all(target)
    except OSError as error:
        fix = "Name a folder that you may write to."
        message = f"cannot write the sample project: {error.strerror or 'the system refused'}"
        raise Refused("cannot_write", message, fix=fix, place=str(target)) from None


def _write_all(target: Path) -> list[str]:
    stamp = secrets.token_hex(16)
    said: list[str] = []
    made: list[Path] = []
    for name, write in _writers(stamp).items():
        if _write_once(target / name, write):
            made.append(target / name)
            said.append(f"wrote {name}")
        else:
            said.append(f"kept {name}, which is there already")
    _settle_in(target, made)
    signed = [file for file in made if file.name != CATALOG]
    if signed and _write_once(target / MANIFEST, lambda path: _sign(path, stamp, signed)):
        return [*said, f"wrote {MANIFEST}"]
    return [*said, f"kept {MANIFEST}, which is there already"] if (target / MANIFEST).exists() else said


def _settle_in(target: Path, made: list[Path]) -> None:
    """A sample written anew where an earlier one was deleted is new data, with a ledger and a budget of its own."""
    from obverse.ledger.home import Home, default_home
    from obverse.ledger.register import vacate

    ledger = target / ".obverse" / "ledger.db"
    private = [file for file in made if file.suffix == ".parquet"]
    if len(private) == 2 and not ledger.exists():
        home = Home(default_home())
        try:
            vacate(home, private, ledger)
        finally:
            home.close()


def _writers(stamp: str) -> dict[str, Writer]:
    """How each file is written; the tables are made only when one of them is missing."""
    from obverse.engines.parquet_writer import write_csv, write_parquet

    @functools.cache
    def tables() -> dict[str, SampleTable]:
        from obverse.demo.hospital import hospital

        return {table.name: table for table in hospital()}

    def parquet(name: str, path: Path) -> None:
        write_parquet(tables()[name].columns, tables()[name].types, path, stamp=stamp)

    return {
        CATALOG: lambda path: _write_text(path, toml.CATALOG),
        "people.parquet": functools.partial(parquet, "people"),
        "visits.parquet": functools.partial(parquet, "visits"),
        "clinics.csv": lambda path: write_csv(tables()["clinics"].columns, tables()["clinics"].types, path),
    }


def _sign(path: Path, stamp: str, files: list[Path]) -> None:
    from obverse.demo import hospital

    _write_text(path, manifest(hospital.NAME, hospital.VERSION, hospital.SEED, stamp, files))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_once(path: Path, write: Writer) -> bool:
    """Write beside, then give it its name; whole or not at all, and never over something. False: something is there."""
    if os.path.lexists(path):
        return False
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        write(temporary)
        return _take_name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _take_name(temporary: Path, path: Path) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            return False
        temporary.rename(path)
    return True
