"""Pages of the reference, made from the code: `python -m tests.reference` writes them to docs/reference."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

import obverse
from obverse.attack.attacks import ATTACKS
from obverse.cli.main import SECTIONS, cli
from obverse.collect.protocols import PROTOCOLS
from obverse.mechanisms import MECHANISMS
from obverse.plan.aggregates import AGGREGATES
from obverse.plan.functions import FUNCTIONS
from obverse.publish.registry import METHODS
from tests.format_answers import answers
from tests.format_ledger import ledger
from tests.format_reports import reports
from tests.pages import cell, page

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reference"
SCOPES = (ast.Module, ast.FunctionDef)
ERRORS = {"ObverseError", "Refused", "CatalogError", "BudgetExceeded", "LedgerError", "Failed"}


def command_line() -> str:
    """Every verb with its help, as the terminal shows it."""
    parts = ["What each verb says with `--help`."]
    for section, lines in SECTIONS.items():
        parts.append(f"## {section}")
        for line in lines:
            parts += _verb((line.name,))
    return page("The command line", *parts)


def _verb(words: tuple[str, ...]) -> Iterator[str]:
    command: click.Command = cli
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    text = CliRunner().invoke(cli, [*words, "--help"], prog_name="obverse").output
    yield f"{'#' * min(6, 2 + len(words))} obverse {' '.join(words)}"
    yield f"```text\n{text.rstrip()}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from _verb((*words, name))


def _theorems(title: str, about: str, things: tuple[Any, ...]) -> str:
    parts = [about]
    for one in things:
        first, *rest = inspect.cleandoc(one.__doc__).split("\n\n", 1)
        parts += [f"## {one.name}", " ".join(first.split())]
        if rest:
            parts.append(_claims(rest[0]))
    return page(title, *parts)


def _claims(text: str) -> str:
    """Claim, Proof and Assumes as a list; other paragraphs as they are."""
    found: list[str] = []
    for line in text.splitlines():
        head, colon, rest = line.strip().partition(":")
        if colon and head in ("Claim", "Proof", "Assumes"):
            found.append(f"- **{head}.** {rest.strip()}")
        elif not line.strip():
            found.append("")
        elif found and found[-1].startswith("- **"):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line.strip())
    return "\n".join(found)


def mechanisms() -> str:
    about = "What adds noise or chooses, each with its guarantee and its own loss. Source: `src/obverse/mechanisms`."
    return _theorems("Mechanisms", about, MECHANISMS)


def protocols() -> str:
    about = "What devices send in the local model, with its guarantee. Source: `src/obverse/collect/protocols`."
    return _theorems("Protocols", about, PROTOCOLS)


def releases() -> str:
    about = "What `obverse publish` measures and makes of it. Source: `src/obverse/publish`."
    return _theorems("Release methods", about, tuple(METHODS))


def aggregates() -> str:
    parts = ["What an aggregate measures, and why one unit moves it no further. Source: `src/obverse/plan/aggregates`."]
    for one in AGGREGATES:
        kind = one if inspect.isclass(one) else type(one)
        first, *rest = inspect.cleandoc(kind.__doc__ or "").split("\n\n", 1)
        parts += [f"## {one.name}", " ".join(first.split()), *(_claims(text) for text in rest)]
    total = (
        "Each is total, within bounds that are derived, and the same on every engine; `tests/conformance` holds "
        "it "
        "to that."
    )
    parts += ["# Functions", total]
    rows = "\n".join(f"| `{one.spoken or one.name}` | {one.proof} |".replace("||", "\\|\\|") for one in FUNCTIONS)
    return page("Aggregates", *parts, f"| function | why |\n|---|---|\n{rows}")


def attacks() -> str:
    about = "What `obverse attack` runs. Each finds its planted leak, and does not blame an honest target."
    parts = [f"{about} Source: `src/obverse/attack/attacks`."]
    for one in ATTACKS:
        parts += [f"## {one.name}", one.summary, _claims(inspect.cleandoc(one.__doc__ or ""))]
    return page("Attacks", *parts)


def errors() -> str:
    """Every code with what it says, from the calls that raise it; parts that are filled in stand as …."""
    found: dict[str, set[tuple[str, str]]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        scopes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, SCOPES))
        for code, message, fix in (one for scope in scopes for one in _raised(scope)):
            found.setdefault(code, set()).add((message, fix))
    rows = []
    for code, told in sorted(found.items()):
        message, fix = max(told, key=lambda one: (len(one[0].replace("…", "")), one))
        rows.append(f"| `{code}` | {_filled(message)} | {_filled(fix)} |")
    about = (
        "Codes are stable: none changes its meaning. An error says what, where, why and how to mend it; it never holds "
        "a data "
        "value or a row count. Unless it says that the charge stays, nothing was spent. What depends on the case "
        "stands as `…`."
    )
    return page("Error codes", about, "| code | what it says | fix |\n|---|---|---|\n" + "\n".join(rows))


def _raised(scope: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Codes of the errors that are made there, with what they say and how to mend it."""
    nodes = list(_inside(scope))
    named = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    for node in nodes:
        name = getattr(getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", ""))
        if not isinstance(node, ast.Call) or not node.args:
            continue
        first = node.args[0]
        raised = name in ERRORS or (name == "error" and len(node.args) > 2)
        if raised and isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.isidentifier():
            known = {one.targets[0].id: one.value for one in named if one.lineno <= node.lineno}  # type: ignore[attr-defined]
            message = node.args[2 if name == "error" else 1] if len(node.args) > 1 else ast.Constant("")
            fix = next((key.value for key in node.keywords if key.arg == "fix"), ast.Constant(""))
            said, mended = (_text(known.get(getattr(one, "id", ""), one)) for one in (message, fix))
            yield first.value, said, mended


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """What stands there in the order of its lines, functions within it apart."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, SCOPES):
            yield node
            yield from _inside(node)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) if isinstance(value, ast.Constant) else "…" for value in values)
        case ast.IfExp(body=body):
            return _text(body)
        case _:
            return "…"


def _filled(text: str) -> str:
    return cell(text) if text != "…" else ""


def configuration() -> str:
    """The keys of obverse.toml, from its JSON Schema."""
    schema = json.loads(CliRunner().invoke(cli, ["schema"]).output)
    parts = [
        "Unknown keys are errors. `obverse schema` prints this as a JSON Schema for editors, `obverse check` validates."
    ]
    for name, one in schema["properties"].items():
        rows = ["| key | means | kind |", "|---|---|---|", *_keys(one, "")]
        parts += [f"## [{name}]", one.get("description", ""), "\n".join(rows)]
    return page("obverse.toml", *(part for part in parts if part))


def _keys(schema: dict[str, Any], before: str) -> Iterator[str]:
    inner = schema.get("additionalProperties")
    if isinstance(inner, dict):
        yield from _keys(inner, f"{before}NAME.")
    needed = schema.get("required", [])
    for name, one in schema.get("properties", {}).items():
        nested = "properties" in one or isinstance(one.get("additionalProperties"), dict)
        kind = "table" if nested else _kind(one)
        yield (
            f"| `{before}{name}` | {_filled(one.get('description', ''))} | "
            f"{kind}{', required' if name in needed else ''} |"
        )
        if nested:
            yield from _keys(one, f"{before}{name}.")


def _kind(one: dict[str, Any]) -> str:
    if "enum" in one:
        return " or ".join(f"`{value}`" for value in one["enum"])
    if "anyOf" in one or "oneOf" in one:
        return " or ".join(dict.fromkeys(_kind(each) for each in one.get("anyOf", one.get("oneOf", []))))
    kind = one.get("type", "value")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def http() -> str:
    """Routes, from the checked-in OpenAPI document."""
    document = json.loads((ROOT / "docs" / "openapi.json").read_text())
    rows = []
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            rows.append(f"| `{method.upper()} {path}` | {_filled(one.get('description') or one.get('summary', ''))} |")
    about = (
        "`docs/openapi.json` is the whole document, OpenAPI 3.1. Errors are `application/problem+json` with "
        "stable "
        "codes."
    )
    return page("HTTP", about, "| route | what it does |\n|---|---|\n" + "\n".join(rows))


def python() -> str:
    """The public names."""
    parts = ["`import obverse` gives these names and no others."]
    for name in obverse.__all__:
        one = getattr(obverse, name)
        if isinstance(one, str):
            parts += [f"## obverse.{name}", "The version, a text."]
            continue
        kind = f"obverse.{name}" if inspect.isclass(one) else f"obverse.{name}{inspect.signature(one)}"
        parts += [f"## obverse.{name}", f"```python\n{kind}\n```", _claims(inspect.cleandoc(one.__doc__ or ""))]
        if inspect.isclass(one) and not issubclass(one, Exception):
            parts.append("\n".join(["| member | what it is |", "|---|---|", *_members(one)]))
    return page("Python", *parts)


def _members(kind: type[Any]) -> Iterator[str]:
    for name, one in sorted(vars(kind).items()):
        if name.startswith("_"):
            continue
        value = one.fget if isinstance(one, property) else getattr(one, "__func__", one)
        doc = (inspect.getdoc(value) or "").split("\n\n")[0] if callable(value) else said_of(kind, name)
        signature = f"{name}{inspect.signature(value)}" if callable(value) and not isinstance(one, property) else name
        yield f"| `{signature.replace('|', chr(92) + '|')}` | {cell(doc)} |"


def said_of(kind: type[Any], field: str) -> str:
    """The comment beside a field of a dataclass."""
    found = re.search(rf"^    {field}: .*?  # (.*)$", inspect.getsource(kind), re.MULTILINE)
    return found[1] if found else ""


PAGES: dict[str, Callable[[], str]] = {
    "command-line.md": command_line,
    "python.md": python,
    "http.md": http,
    "obverse-toml.md": configuration,
    "errors.md": errors,
    "mechanisms.md": mechanisms,
    "protocols.md": protocols,
    "aggregates.md": aggregates,
    "releases.md": releases,
    "attacks.md": attacks,
    "ledger.md": ledger,
    "reports.md": reports,
    "answers.md": answers,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main()
