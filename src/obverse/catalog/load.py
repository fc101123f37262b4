"""File to Catalog: parsed, shaped, built and checked, each error with file, line and key.

The [ledger] of obverse.toml: a server that several machines share, pointed to by a name and never by a password.
"""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from obverse.catalog.check import catalog_problems
from obverse.catalog.graphs import network, network_unit
from obverse.catalog.keys import shape_problems
from obverse.catalog.locate import Document, Place
from obverse.catalog.model import Analyst, Catalog, Oidc, Server, Serving
from obverse.catalog.surveys import survey
from obverse.catalog.tables import protected, table
from obverse.core.errors import CatalogError
from obverse.core.ledger import Budget
from obverse.core.numbers import exact
from obverse.core.units import Neighbours

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SERVICE = re.compile(r"[A-Za-z0-9_.-]+")


def ledger_server(raw: dict[str, Any], document: Document) -> Server | None:
    """Where the ledger's server is found; None for a ledger in a file."""
    declared = raw.get("ledger", {"kind": "sqlite"})
    pointers = [key for key in ("service", "dsn_env") if key in declared]
    if declared["kind"] == "sqlite":
        for key in pointers:
            message = f"{key!r} goes with a ledger in PostgreSQL"
            raise document.error("conflict", ("ledger", key), message, fix=f'Remove {key!r}, or set kind = "postgres".')
        return None
    if "ledger" in raw["project"]:
        message = "[project] ledger names a file, and [ledger] a server"
        why = "Losses are counted in one place."
        raise document.error("conflict", ("project", "ledger"), message, why=why, fix="Remove one of them.")
    if "dataset" not in raw["project"]:
        message = "a ledger for several servers needs the name of the dataset"
        why = "Paths differ from machine to machine, and rows that changed are not known again by their content."
        fix = 'Add dataset = "NAME" to [project], the same in every project over this data.'
        raise document.error("missing_key", ("project", "dataset"), message, why=why, fix=fix)
    if len(pointers) != 1:
        message = (
            "[ledger] needs either 'service' or 'dsn_env'"
            if not pointers
            else "'service' and 'dsn_env' exclude each other"
        )
        code = "missing_key" if not pointers else "conflict"
        fix = (
            'Write dsn_env = "OBVERSE_LEDGER" and set that variable to the address; or name a service of '
            "pg_service.conf."
        )
        raise document.error(code, ("ledger", pointers[0] if pointers else "dsn_env"), message, fix=fix)
    return Server(**{pointers[0]: _name(declared[pointers[0]], pointers[0], document)})


def _name(text: str, key: str, document: Document) -> str:
    if (_VARIABLE if key == "dsn_env" else _SERVICE).fullmatch(text):
        return text
    what = "the name of an environment variable" if key == "dsn_env" else "the name of a service"
    why = "An address, which may hold a password, does not belong into this file."
    fix = "Write the name alone, and keep the address outside."
    raise document.error("bad_name", ("ledger", key), f"{key} must be {what}", why=why, fix=fix)


FILE_NAME = "obverse.toml"
LEDGER = ".obverse/ledger.db"
PRICE = Fraction(1, 10)
ENGINE_KEYS = {"duckdb": (), "postgres": ("service", "dsn_env"), "spark": ("url",)}
_LINE = re.compile(r"\s*\(at line (\d+), column \d+\)$")


def load(path: Path | str) -> Catalog:
    """The catalog of an obverse.toml, or of the project folder that holds one."""
    file, text = _read(path)
    return loads(text, file.parent, file.name)


def loads(text: str, root: Path | str, file_name: str = FILE_NAME) -> Catalog:
    """The catalog of a text; relative sources lie under `root`."""
    document = Document(text, file_name)
    raw = _parse(document)
    for problem in shape_problems(raw, document):
        raise problem
    catalog = _catalog(raw, Path(root).absolute(), document)
    for problem in catalog_problems(catalog, document.place):
        raise problem
    return catalog


def problems(path: Path | str) -> tuple[CatalogError, ...]:
    """Everything wrong that can be told at once, for `obverse check`; empty when `load` succeeds."""
    try:
        file, text = _read(path)
        document = Document(text, file.name)
        raw = _parse(document)
        shaped = tuple(shape_problems(raw, document))
        if shaped:
            return shaped
        return tuple(catalog_problems(_catalog(raw, file.parent.absolute(), document), document.place))
    except CatalogError as error:
        return (error,)


def locator(path: Path | str) -> Place:
    """What tells file and line of a key, for errors that are found later, as by `complete`."""
    file, text = _read(path)
    return Document(text, file.name).place


def _read(path: Path | str) -> tuple[Path, str]:
    file = Path(path)
    if file.is_dir():
        file = file / FILE_NAME
    try:
        return file, file.read_bytes().decode("utf-8-sig")
    except OSError:
        fix = "Name an obverse.toml or its folder; `obverse init FILE...` drafts one, `obverse demo` writes a sample."
        raise CatalogError("no_project", "there is no project to be read here", fix=fix, place=str(file)) from None
    except UnicodeDecodeError:
        raise CatalogError("bad_toml", "the file is not UTF-8 text", fix="Save it as UTF-8.", place=file.name) from None


def _parse(document: Document) -> dict[str, Any]:
    try:
        return tomllib.loads(document.text, parse_float=_decimal)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "nested too deep, or a number too long"
        line = _LINE.search(said)
        place = document.file_name + (f":{line.group(1)}" if line else "")
        message = f"not TOML: {_LINE.sub('', said)}"
        raise CatalogError("bad_toml", message, fix="Correct the syntax on or before this line.", place=place) from None


def _decimal(text: str) -> Decimal:
    """The number as written; what no decimal can hold becomes not-a-number, which every key refuses."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("nan")


def _catalog(raw: dict[str, Any], root: Path, document: Document) -> Catalog:
    project = raw["project"]
    privacy = raw.get("privacy", {})
    engine = _engine(raw.get("engine", {}), document)
    version = project.get("version", 1)
    tables = {
        name: table(name, one, root, document, engine["kind"], version) for name, one in raw.get("tables", {}).items()
    }
    if not tables and not raw.get("surveys"):
        raise document.error("missing_key", ("tables",), "the file needs the key 'tables'", fix="Add a [tables.NAME].")
    neighbours = Neighbours(privacy.get("neighbours", "add-remove"))
    graphs = {name: network(name, one, root, document, engine["kind"]) for name, one in raw.get("graphs", {}).items()}
    unit = network_unit(graphs, neighbours) or protected(tables, neighbours)
    if unit is not None and "budget" not in raw:
        why = "A private table without a budget could be asked without end."
        fix = "Add [budget] with an epsilon."
        raise document.error("missing_key", ("budget",), "[budget] is missing", why=why, fix=fix)
    budget = _budget(raw["budget"], Fraction(0)) if "budget" in raw else Budget(Fraction(0))
    return Catalog(
        name=project["name"],
        root=root,
        ledger=root / project.get("ledger", LEDGER),
        engine=engine,
        unit=unit,
        accounting=privacy.get("accounting", "pure"),
        epsilon=exact(privacy["epsilon"]) if "epsilon" in privacy else min(PRICE, budget.epsilon),
        delta=exact(privacy.get("delta", 0)),
        budget=budget,
        tables=tables,
        analysts={name: _analyst(name, one, budget.delta, document) for name, one in raw.get("analysts", {}).items()},
        purposes={name: _budget(one, budget.delta) for name, one in raw.get("purposes", {}).items()},
        dataset=project.get("dataset"),
        apart=tuple(tuple(group) for group in raw.get("policy", {}).get("apart", ())),
        ledger_server=ledger_server(raw, document),
        serve=_serving(raw.get("serve", {}), root),
        surveys={name: survey(name, one, document) for name, one in raw.get("surveys", {}).items()},
        graphs=graphs,
        version=version,
    )


def _serving(raw: dict[str, Any], root: Path) -> Serving:
    oidc = raw.get("oidc")
    return Serving(**{**raw, "oidc": None if oidc is None else Oidc(**{**oidc, "jwks": root / oidc["jwks"]})})


def _budget(raw: dict[str, Any], delta: Fraction) -> Budget:
    return Budget(exact(raw["epsilon"]), exact(raw["delta"]) if "delta" in raw else delta)


def _analyst(name: str, raw: dict[str, Any], delta: Fraction, document: Document) -> Analyst:
    if "delta" in raw and "epsilon" not in raw:
        message = f"analyst {name!r} has a delta without an epsilon"
        raise document.error("missing_key", ("analysts", name, "epsilon"), message, fix="Add the epsilon.")
    return Analyst(name, _budget(raw, delta) if "epsilon" in raw else None, tuple(raw.get("purposes", ())))


def _engine(raw: dict[str, Any], document: Document) -> dict[str, str]:
    kind = raw.get("kind", "duckdb")
    for key in raw:
        if key not in ("kind", *ENGINE_KEYS[kind]):
            message = f"{key!r} does not go with the engine {kind}"
            raise document.error("conflict", ("engine", key), message, fix=f"Remove {key!r}.")
    if kind == "postgres" and len(raw) != 2:
        why = "A password does not belong into this file: it is read from your service file, or from the environment."
        fix = 'Add service = "name" (of pg_service.conf), or dsn_env = "VARIABLE" (which holds the connection string).'
        raise document.error("missing_key", ("engine",), "where is the PostgreSQL server?", why=why, fix=fix)
    return {"kind": kind, **{key: raw[key] for key in raw if key != "kind"}}
