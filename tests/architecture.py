"""The picture of the house, drawn from the layers that import-linter holds.

python -m tests.architecture > docs/architecture.svg
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
WIDTH = 760
HEIGHT = 44  # of a row
GAP = 10
LEFT = 20
PURPOSES = {
    "cli": "the command line",
    "server": "HTTP, PostgreSQL wire, page",
    "testing": "test harness",
    "dbapi": "PEP 249",
    "learn": "lessons",
    "review": "attacks on real projects",
    "curator": "acts of the data owner",
    "collect": "local model",
    "publish": "releases",
    "anonymize": "k, l, t",
    "demo": "sample project",
    "session": "one opened project: planning, the gateway, budget",
    "sql": "text to query",
    "engines": "DuckDB, PostgreSQL, Spark",
    "ledger": "debits",
    "attack": "attacks",
    "plan": "query to bounded, priced, verified, emitted, noised, post-processed",
    "answers": "answers, charts, CSV",
    "mechanisms": "exact noise with proofs",
    "accounting": "composition, conversion, budgets",
    "catalog": "obverse.toml",
    "core": "vocabulary: errors, types, units, bounds, loss, sensitivity, exact numbers, entropy",
}
STYLE = """
text{font:14px system-ui,sans-serif;fill:#1c2430}.note{font-size:11px;fill:#5b6675}
rect{fill:#f3f6fa;stroke:#8a97a8}.gateway{stroke:#b0451f;stroke-width:2}
@media(prefers-color-scheme:dark){text{fill:#e8edf4}.note{fill:#a4b0bf}rect{fill:#232b36;stroke:#6d7b8d}
.gateway{stroke:#ff9468}}
"""


def layers() -> list[list[str]]:
    """The packages of each layer, from the top."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = (one["layers"] for one in contracts if one["type"] == "layers")
    return [[part.strip("() ").removeprefix("obverse.") for part in row.split("|")] for row in found]


def picture() -> str:
    rows = layers()
    height = len(rows) * (HEIGHT + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 2 * LEFT} {height}" role="img" '
        'aria-label="The packages of Obverse in layers: each may import those below it">',
        f"<style>{STYLE}</style>",
    ]
    for place, row in enumerate(rows):
        wide = (WIDTH - GAP * (len(row) - 1)) / len(row)
        top = GAP + place * (HEIGHT + GAP)
        for column, package in enumerate(row):
            left = LEFT + column * (wide + GAP)
            kind = ' class="gateway"' if package == "session" else ""
            middle = f"{left + wide / 2:.1f}"
            parts += [
                f'<rect{kind} x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{HEIGHT}" rx="5"/>',
                f'<text x="{middle}" y="{top + 19}" text-anchor="middle">{package}</text>',
                f'<text class="note" x="{middle}" y="{top + 35}" text-anchor="middle">'
                f"{escape(PURPOSES[package])}</text>",
            ]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    print(picture(), end="")
