"""By what a private source is known again: a file by its real path, inode and content; a table by its server and
number.

Fingerprints of private data: HMACs under a secret, so that whoever sees one cannot try out what the data might be.

Claim:   without the secret, a fingerprint tells nothing of a file but whether two of them are of the same content.
Proof:   HMAC-SHA-256 under 256 bits of OS entropy is a pseudorandom function; of one, only equality can be seen.
Assumes: the secret is kept from those who see fingerprints. A machine's lies in its home beside the registry, readable
         by its owner alone; that of a shared ledger lies in its database, in a table of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from obverse.core.errors import LedgerError, Refused

BYTES = 32


@dataclass(frozen=True, slots=True)
class Seal:
    """What makes fingerprints of one place: of a machine's home, or of a database that several share."""

    secret: bytes = field(repr=False)

    def of(self, kind: str, text: str) -> str:
        return hmac.new(self.secret, f"{kind}\0{text}".encode(), hashlib.sha256).hexdigest()

    @property
    def name(self) -> str:
        """Tells fingerprints of two secrets apart."""
        return self.of("seal", "")


def fresh_secret() -> str:
    return secrets.token_hex(BYTES)


def seal_of(secret: str) -> Seal | None:
    """The seal of a secret as it is kept; None where this is not one."""
    try:
        found = bytes.fromhex(secret)
    except ValueError:
        return None
    return Seal(found) if len(found) == BYTES else None


def seal_in(folder: Path) -> Seal:
    """The seal of a home, made when there is none; of many processes that try at once, one makes it for all."""
    path = folder / "secret"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            _make(path)
        found = seal_of(path.read_bytes().decode("ascii", "replace"))
    except OSError as error:
        raise LedgerError(
            "no_home",
            "Obverse has no place of its own to remember datasets in, so nothing is answered",
            place=str(path),
            why=error.strerror or "the system refused",
            fix="Set OBVERSE_HOME to a folder that can be written to, outside the project.",
        ) from None
    if found is None:
        raise unknown_secret(str(path))
    return found


def unknown_secret(place: str) -> LedgerError:
    return LedgerError(
        "home_damaged",
        "the secret that fingerprints of private files are made with is not the one they were made with",
        place=place,
        why="data that was seen before would not be known again, and would get a second budget",
        fix="Bring back the file `secret` that belongs to this registry; a copy of Obverse's folder holds both.",
    )


def _make(path: Path) -> None:
    """Whole or not at all, durable before anything is sealed with it, and never in place of another."""
    draft = path.with_name(f"secret.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(fresh_secret())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@dataclass(frozen=True, slots=True)
class FileSource:
    """A private table's file, or its folder of files."""

    name: str
    path: Path
    unit: str = ""  # the declared way from its rows to their unit
    folder: bool = False  # whether it may be a folder
    table: str = ""  # which of the tables that the file holds; empty where it is one


@dataclass(frozen=True, slots=True)
class ObjectSource:
    """A private table handed over in Python: known by its project's path and its name."""

    name: str
    project: Path


@dataclass(frozen=True, slots=True)
class ServerSource:
    """A private table on a server: known by what the server says of itself and of it."""

    name: str
    place: str
    mark: str  # changes when the rows do
    unit: str = ""
    # the places of tables that its rows lie in besides: what a view reads, a partition's whole
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedSource:
    """The name that the curator gave the data: projects that say the same name share one budget."""

    name: str


Source = FileSource | ObjectSource | ServerSource | NamedSource


@dataclass(frozen=True, slots=True)
class Identity:
    """One thing that a source is known by. `path` is where an inode was seen."""

    kind: str  # path, inode, content, object, server, name
    value: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Identified:
    """A source with all that it is known by at one place; `digest` is empty for objects.

    For the curator's side only.
    """

    name: str
    digest: str
    identities: tuple[Identity, ...]

    @property
    def place(self) -> str:
        """Where it lies: its path, or its project and table."""
        return self.identities[0].value


LOCAL_KINDS = ("path", "inode", "object")  # what means something on one machine only


def portable(source: Identified) -> Identified:
    """The source with what it is known by on every machine."""
    known = tuple(identity for identity in source.identities if identity.kind not in LOCAL_KINDS)
    return Identified(source.name, source.digest, known)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file's cached fingerprint hangs on: while none of these changes, the content is not read again."""

    path: str
    mtime_ns: int
    size: int
    inode: str


def identify(source: Source, seal: Seal, digest_of: Callable[[Stamp], str]) -> Identified:
    """The source as it is known where this seal is; `digest_of` gives a file's fingerprint under it."""
    match source:
        case NamedSource(name):
            return Identified(name, "", (Identity("name", name),))
        case ObjectSource(name, project):
            return Identified(name, "", (Identity("object", f"{os.path.realpath(project)}#{name}"),))
        case ServerSource(name, place, mark=mark):
            return Identified(name, seal.of("mark", mark), (Identity("server", place),))
        case FileSource(name, path, folder=folder):
            return _identify_file(name, path, seal, digest_of, folder=folder)


def rows_of(source: FileSource, known_by: Identified) -> tuple[str, str]:
    """Where the rows of a file lie, and what they are."""
    inside = f"#{source.table}" if source.table else ""
    return f"{known_by.place}{inside}", f"content {known_by.digest}{inside}"


def around(sources: Sequence[Source]) -> tuple[Identified, ...]:
    """Folders in which files lie, and tables that views read or partitions belong to: what is a part of known data is
    known.

    To be looked up and never remembered: a view may read tables that are public by themselves.
    """
    places = {os.path.realpath(source.path): source.name for source in sources if isinstance(source, FileSource)}
    found = {str(folder): name for place, name in places.items() for folder in Path(place).parents}
    server = [(there, source.name) for source in sources if isinstance(source, ServerSource) for there in source.among]
    folders = tuple(Identified(name, "", (Identity("path", folder),)) for folder, name in found.items())
    return folders + tuple(Identified(name, "", (Identity("server", there),)) for there, name in server)


def digest_file(stamp: Stamp) -> str:
    with open(stamp.path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def inode_now(path: str) -> str | None:
    """Device and inode of a path as it is at present; None when there is nothing."""
    try:
        there = os.stat(path)
    except OSError:
        return None
    return _inode(there)


def _identify_file(name: str, path: Path, seal: Seal, digest_of: Callable[[Stamp], str], *, folder: bool) -> Identified:
    real = os.path.realpath(path)
    try:
        there = os.stat(real)
        if not (os.path.isfile(real) or folder):
            raise IsADirectoryError
        parts = [digest_of(_stamp(part)) for part in parts_of(real)]
    except OSError:
        raise Refused(
            "source_missing",
            f"the file of table '{name}' cannot be read",
            place=str(path),
            fix="Correct the table's source in obverse.toml, or bring the file back.",
        ) from None
    digest = parts[0] if os.path.isfile(real) else seal.of("folder", "\n".join(sorted(parts)))
    known_by = [Identity("path", real)]
    if there.st_ino:
        known_by.append(Identity("inode", _inode(there), real))
    if there.st_size:
        # of a folder each file, wherever it is put
        known_by += [Identity("content", part) for part in dict.fromkeys(parts)]
    return Identified(name, digest, tuple(known_by))


def parts_of(path: str) -> list[str]:
    """The file itself, or all files that a folder holds rows in; engines pass over names that begin with _ or a dot."""
    if os.path.isfile(path):
        return [path]
    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(path)
        for name in names
        if not name.startswith(("_", ".")) and not _passed_over(os.path.relpath(folder, path))
    ]
    if not found:
        raise FileNotFoundError
    return sorted(found)


def _passed_over(folder: str) -> bool:
    return any(part.startswith(("_", ".")) and part != "." and "=" not in part for part in folder.split(os.sep))


def _stamp(path: str) -> Stamp:
    there = os.stat(path)
    return Stamp(path, there.st_mtime_ns, there.st_size, _inode(there))


def _inode(there: os.stat_result) -> str:
    return f"{there.st_dev}:{there.st_ino}"
