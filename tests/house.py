"""Figures of the source tree: size, imports, folders and module cycles.

    python -m tests.house [--list] [FOLDER]

FOLDER is a package's folder (default: src/obverse). `--list` adds files over 600 lines, modules with one importer and
cycles. Nothing here fails: tests/test_tidy.py holds the rules, and `make house` prints this.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent / "src" / "obverse"
LOOKED_AT = 600  # a longer file is looked at, and may stay
Graph = Mapping[str, set[str]]


@dataclass
class House:
    """The modules of one package, and what each imports at its top and inside functions."""

    folder: Path
    lines: dict[str, int] = field(default_factory=dict)
    import_lines: int = 0
    at_top: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    anywhere: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @property
    def importers(self) -> dict[str, set[str]]:
        """Of each module, those that import it, wherever in their text."""
        found: dict[str, set[str]] = {module: set() for module in self.lines}
        for module, imported in self.anywhere.items():
            for one in imported:
                found[one].add(module)
        return found


def read(folder: Path = ROOT) -> House:
    house = House(folder)
    trees = {}
    for path in sorted(folder.rglob("*.py")):
        module = ".".join((folder.name, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        text = path.read_text()
        house.lines[module] = text.count("\n")
        trees[module] = ast.parse(text)
    for module, tree in trees.items():
        for node, lazy in imports(tree):
            house.import_lines += (node.end_lineno or node.lineno) - node.lineno + 1
            targets = imported(node, house.lines) - {module}
            house.anywhere[module] |= targets
            if not lazy:
                house.at_top[module] |= targets
    return house


def imports(tree: ast.Module) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Every import, and whether it runs later than the module: in a function, or for type checkers alone."""
    left: list[tuple[ast.AST, bool]] = [(node, False) for node in tree.body]
    while left:  # statements alone: expressions hold no import
        node, lazy = left.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, lazy
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, part, None)
            left += [(one, True) for one in inner] if isinstance(inner, list) else []


def imported(node: ast.Import | ast.ImportFrom, modules: Mapping[str, int]) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & modules.keys()
    inner = {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys()
    outer = {str(node.module)} & modules.keys()
    return inner | (outer if len(inner) < len(node.names) else set())


def cycles(graph: Graph) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan 1972)."""
    found: list[list[str]] = []
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(module: str) -> None:
        index[module] = len(index)
        low[module] = index[module]
        stack.append(module)
        for other in sorted(graph.get(module, ())):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            component = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(component) > 1:
                found.append(sorted(component))

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 5000))
    for module in sorted(graph):
        if module not in index:
            visit(module)
    return found


def entries(folder: Path) -> dict[str, int]:
    """Modules and subpackages of each folder, `__init__` not among them."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        if path.name == "__init__.py":
            if path.parent != folder:
                found[path.parent.parent.relative_to(folder.parent).as_posix()] += 1
        else:
            found[path.parent.relative_to(folder.parent).as_posix()] += 1
    return dict(found)


def figures(house: House) -> dict[str, str]:
    total = sum(house.lines.values())
    folders = {name: count for name, count in entries(house.folder).items() if name != house.folder.name}
    largest = max(folders, key=lambda name: folders[name])
    longest = max(house.lines, key=lambda module: house.lines[module])
    alone = [module for module, importers in house.importers.items() if len(importers) == 1]
    return {
        "files": f"{len(house.lines):,}",
        "lines": f"{total:,}",
        "median lines of a file": f"{statistics.median(house.lines.values()):.0f}",
        "longest file": f"{house.lines[longest]:,} ({longest})",
        "files over 600 lines": f"{sum(lines > LOOKED_AT for lines in house.lines.values())}",
        "import lines": f"{house.import_lines:,} ({house.import_lines / total:.1%})",
        "modules with one importer": f"{len(alone)}",
        "largest folder": f"{folders[largest]} ({largest})",
        "cycles of imports at the top of modules": f"{len(cycles(house.at_top))}",
        "cycles with lazy imports": f"{len(cycles(house.anywhere))}",
    }


def main() -> None:
    names = [word for word in sys.argv[1:] if word != "--list"]
    house = read(Path(names[0]) if names else ROOT)
    for name, value in figures(house).items():
        print(f"{name:<42}{value}")
    if "--list" in sys.argv[1:]:
        long = {module: lines for module, lines in house.lines.items() if lines > LOOKED_AT}
        print("\nover 600 lines:", *(f"  {lines:>5} {module}" for module, lines in sorted(long.items())), sep="\n")
        alone = {module: next(iter(by)) for module, by in house.importers.items() if len(by) == 1}
        print("\none importer:", *(f"  {module} <- {by}" for module, by in sorted(alone.items())), sep="\n")
        print("\ncycles at the top:", *cycles(house.at_top), sep="\n  ")
        print("\ncycles with lazy imports:", *cycles(house.anywhere), sep="\n  ")


if __name__ == "__main__":
    main()
