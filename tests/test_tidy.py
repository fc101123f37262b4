"""The rules of the house: names, sizes, proofs, and who may touch exact values.

Each rule looks at all files in one test and lists every offender. Files over 600 lines are reported by `make house`.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests import house

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "obverse"
FILES = sorted(SRC.rglob("*.py"))
WRITTEN = sorted(path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.py"))
FUNCTION_BELOW = 50
COLUMNS_MAX = 120
PRAGMA = re.compile(r"  # (?:type: ignore|noqa).*$")
ENTRIES_MAX = 20  # of a folder, the root excepted
PROVED = (
    "mechanisms",
    "plan/stability",
    "plan/functions",
    "plan/aggregates",
    "plan/strategy/graph",
    "collect/protocols",
)
METHODS = tuple(f"publish/{kind}/method.py" for kind in ("graph", "hierarchy", "quantiles", "synthetic", "tables"))
WITHOUT_THEOREM = {"__init__", "base", "registry", "samplers", "enclosures", "bernoulli", "sketch", "pricing", "derive"}
NOISE_ALLOWED = ("attack/", "demo/", "testing/", "collect/simulate.py")
# Names that say nothing, and metaphors or participles that stood where the field has a noun.
BANNED_NAMES = {
    *("common", "helper", "helpers", "manager", "misc", "util", "utils"),
    *(
        "acts",
        "asked",
        "asker",
        "book",
        "cage",
        "caps",
        "clerk",
        "course",
        "debit",
        "departure",
        "desk",
        "door",
        "errand",
    ),
    *(
        "errands",
        "found",
        "ground",
        "held",
        "host",
        "imported",
        "kept",
        "known",
        "limit",
        "made",
        "moved",
        "open_points",
    ),
    *(
        "place",
        "places",
        "prepared",
        "purse",
        "question",
        "questions_asked",
        "reach",
        "roomy",
        "said",
        "shadow",
        "shield",
    ),
    *("shown", "spoken", "standing", "strangers", "ticks", "told", "trace", "walk", "wanted", "weak_points", "weigh"),
    *("whole", "wish"),
}


def name(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Assign, ast.Import, ast.ImportFrom, ast.Attribute, ast.Call)


@cache
def found() -> dict[type[ast.AST], list[tuple[Path, Any]]]:
    """Every node of the kinds that rules look at, in one reading of all files."""
    nodes: dict[type[ast.AST], list[tuple[Path, Any]]] = {kind: [] for kind in KINDS}
    for path in WRITTEN:
        ours = SRC in path.parents
        for node in ast.walk(ast.parse(path.read_text())):
            if type(node) in nodes and (ours or type(node) is ast.Assign):
                nodes[type(node)].append((path, node))
    return nodes


def test_a_function_stays_below_50_lines() -> None:
    long = [
        f"{name(path)}: {node.name}"
        for path, node in (*found()[ast.FunctionDef], *found()[ast.AsyncFunctionDef])
        if node.end_lineno - node.lineno + 1 >= FUNCTION_BELOW
    ]
    assert not long


def test_a_line_has_at_most_120_columns() -> None:
    wide = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in WRITTEN
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(PRAGMA.sub("", line)) > COLUMNS_MAX
    ]
    assert not wide


def parallel(node: ast.AST) -> bool:
    """Whether `a, b = x, y` could as well be `a = x` and `b = y`: no value reads what an earlier target writes."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            pass
        case _:
            return False
    if any(isinstance(one, ast.Starred) for one in (*targets, *values)):
        return False
    for place, target in enumerate(targets):
        written = {ast.unparse(one) for one in ast.walk(target) if isinstance(one, ast.Name | ast.Attribute)}
        if isinstance(target, ast.Attribute):
            written = {ast.unparse(target)}
        elif isinstance(target, ast.Subscript):
            written = {ast.unparse(target.value)}
        read = {
            ast.unparse(one)
            for later in (*values[place + 1 :], *(t for t in targets[place + 1 :] if not isinstance(t, ast.Name)))
            for one in ast.walk(later)
            if isinstance(one, ast.Name | ast.Attribute)
        }
        if written & read:
            return False
    return True


def test_unrelated_names_are_not_assigned_in_parallel() -> None:
    assert not [f"{path.relative_to(ROOT)}:{node.lineno}" for path, node in found()[ast.Assign] if parallel(node)]


@pytest.mark.parametrize(
    ("text", "offends"),
    [
        ("a, b = 1, 2", True),
        ("self.a, self.b = a, b", True),
        ("a, b = b, a", False),
        ("a[0], b = 1, a[1]", False),
        ("a, b = pair", False),
        ("a, b = b, a + b", False),
        ("(a, b), c = pair, 1", True),
    ],
)
def test_an_exchange_is_not_a_parallel_assignment(text: str, offends: bool) -> None:
    assert parallel(ast.parse(text).body[0]) is offends


def test_a_folder_has_at_most_20_entries() -> None:
    crowded = {folder: count for folder, count in house.entries(SRC).items() if count > ENTRIES_MAX}
    assert crowded.keys() <= {"obverse"}


def test_no_module_has_a_banned_name() -> None:
    assert not [name(path) for path in FILES if path.stem in BANNED_NAMES or path.parent.name in BANNED_NAMES]


def test_modules_do_not_import_one_another_at_their_top() -> None:
    assert not house.cycles(house.read().at_top)


def test_the_unit_tests_lie_as_what_they_test() -> None:
    unit = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    assert not [folder for folder in folders if not (SRC / folder).is_dir()]


def test_a_module_says_what_it_is() -> None:
    assert not [name(path) for path in FILES if not path.read_text().startswith(('"""', 'r"""'))]


def test_what_carries_a_theorem_states_claim_proof_and_assumes() -> None:
    proved = [path for path in FILES if name(path).startswith((*PROVED, *METHODS)) and path.stem not in WITHOUT_THEOREM]
    assert proved
    for path in proved:
        text = path.read_text()
        assert all(re.search(rf"\b{word}:", text) for word in ("Claim", "Proof", "Assumes")), name(path)


def test_no_noise_comes_from_a_generator_that_can_be_seeded() -> None:
    named = [(path, alias.name) for path, node in found()[ast.Import] for alias in node.names]
    named += [(path, node.module) for path, node in found()[ast.ImportFrom]]
    of_numpy = {"np", "numpy"}
    named += [
        (path, node.attr)
        for path, node in found()[ast.Attribute]
        if isinstance(node.value, ast.Name) and node.value.id in of_numpy
    ]
    assert not [name(path) for path, what in named if what == "random" and not name(path).startswith(NOISE_ALLOWED)]


def test_exact_values_are_revealed_in_one_module() -> None:
    revealing = {name(path) for path, node in found()[ast.Attribute] if node.attr == "reveal"}
    assert revealing == {"plan/release/noise.py"}


def test_only_the_two_gateways_run_an_engine() -> None:
    """engine.run gives exact values of private rows: called by the gateway, and by custody, the curator's own.

    The test harness wraps engines in spies; nothing of the product imports it (an import contract holds that).
    """
    running = {
        name(path)
        for path, node in found()[ast.Call]
        if isinstance(node.func, ast.Attribute)
        and node.func.attr == "run"
        and ast.unparse(node.func.value).endswith("engine")
        and not name(path).startswith("testing/")
    }
    assert running <= {"session/execution.py", "session/custody.py"}


def test_the_public_names_are_exactly_those_listed() -> None:
    import obverse

    assert obverse.__all__ == dir(obverse)
    for public in obverse.__all__:
        assert getattr(obverse, public) is not None


def test_no_placeholder_is_left_in_the_product() -> None:
    for path in FILES:
        assert not re.search(r"\b(TODO|FIXME|XXX)\b|NotImplementedError", path.read_text()), name(path)
