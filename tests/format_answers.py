"""The page of answers and releases: a small project is asked, published and anonymized, and the shape of what it gives
"
"is shown."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from unittest import mock

import orjson
from click.testing import CliRunner

import obverse
from obverse.anonymize import request
from obverse.anonymize.files import MANIFEST, REPORT
from obverse.answers import answer
from obverse.cli.main import cli
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.publish.families.linking import Family
from obverse.publish.folder import metadata
from obverse.publish.folder.files import METADATA, VERIFY
from obverse.publish.graph.method import GraphMethod
from obverse.publish.registry import METHODS
from obverse.server.postgres.types import ARRAY, OIDS
from tests.examples import STEADY, steady
from tests.pages import block, outline, page, table
from tests.served import project

SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
HELD = {
    "data": "tables: cells, `count`, `estimate`, `low` and `high`; or rows, quantiles, bands",
    "measurements": "the released integers, with the standard deviation of their noise",
    "plots": "pictures",
    "errors.csv": "of each table, a cell's standard deviation and half of its interval",
    "errors.parquet": "the same",
    METADATA: "how it was made",
    "statement.html": "for people",
    "statement.md": "the same",
    VERIFY: "what was checked when it was written, and a SHA-256 of every other file",
}


def answers() -> str:
    with (
        tempfile.TemporaryDirectory() as folder,
        steady(),
        mock.patch.dict(os.environ, {"OBVERSE_HOME": f"{folder}/home"}),
    ):
        STEADY.restart("the format of answers")
        made = project(Path(folder) / "project")
        parts = [*_json(made), *_wire(), *_release(made, Path(folder) / "release"), *_anonymized(Path(folder))]
    about = (
        "What answers, releases and anonymized tables look like to a program. The shapes below are those of real ones: "
        "each key "
        "with the kind of its value, of a list that of its first entry. [Versions](../versions.md) tells what may "
        "change."
    )
    return page("Answers and releases", about, *parts)


def _json(made: Path) -> list[str]:
    with obverse.open(made, analyst="ana") as session:
        given = session.ask(SQL)
        told = session.explain(SQL)
        try:
            session.ask("SELECT age FROM people")
        except Refused as error:
            refused = error.as_json()
    return [
        f"## JSON of an answer, version {answer.VERSION}",
        f"`ask --json` and `POST /ask`. A key (`role`) has no interval: null. Epsilon and delta are texts, rounded up. "
        f"Kinds of "
        f"columns: {', '.join(f'`{kind.value}`' for kind in Type)}; dates and times are ISO texts.",
        outline(shown := orjson.loads(orjson.dumps(given.as_json()))),
        "Of a real one, columns with their rows and intervals:",
        block("json", json.dumps({key: shown[key] for key in ("columns", "rows", "intervals")}, indent=2)),
        "What the ledger stores, and gives again for nothing, is the same without `remaining` and with `plan`, keys "
        "sorted:",
        block("json", json.dumps(sorted(orjson.loads(given.to_bytes())))),
        "## JSON of explain",
        "`explain --json` and `POST /explain`. `remaining` is null for a question that is free.",
        outline(told.as_json()),
        "## JSON of an error",
        "On the command line; over HTTP the same codes come as `application/problem+json` (RFC 9457), see "
        "[HTTP](http.md). "
        "`where` is null where there is no place to point to. [Every code](errors.md).",
        block("json", json.dumps(refused, indent=2)),
    ]


def _wire() -> list[str]:
    rows = [(f"`{kind.value}`", str(oid), str(ARRAY.get(oid, ""))) for kind, oid in OIDS.items()]
    about = (
        "Protocol 3.0, text and binary. The [page of the wire](../wire.md) tells how to connect. Columns have "
        "these types:"
    )
    return ["## PostgreSQL wire", about, table(("kind", "OID", "OID of its array"), rows)]


def _release(made: Path, out: Path) -> list[str]:
    _run("publish", "table", "people", "--by", "sex", "-p", str(made), "--epsilon", "1", "--out", str(out))
    there = sorted(path.name for path in out.iterdir())
    assert there == sorted(HELD), there
    rows = [(f"`{name}{'/' if (out / name).is_dir() else ''}`", HELD[name]) for name in HELD]
    told = json.loads((out / METADATA).read_text())
    kinds = ", ".join(f"`{one}`" for one in (*(method.name for method in METHODS), GraphMethod.name, Family.name))
    return [
        "## Release folder",
        "Sheets are CSV and Parquet, the same numbers in both. `obverse publish check FOLDER` makes all of it again "
        "from "
        "the measurements.",
        table(("name", "holds"), rows),
        f"`{METADATA}` has the format {metadata.FORMAT}. Noise, weights and prices are exact fractions in texts. "
        "`kind` "
        f"is one of {kinds}; "
        "what stands under `method` depends on it. This one is of a table:",
        outline(told),
        f"`{VERIFY}`:",
        outline({**(seen := json.loads((out / VERIFY).read_text())), "files": dict(list(seen["files"].items())[:1])}),
    ]


def _anonymized(folder: Path) -> list[str]:
    rows = "".join(f"{20 + n % 4},{'FM'[n % 2]},{'flu' if n % 3 else 'cold'}\n" for n in range(60))
    (folder / "rows.csv").write_text(f"age,sex,illness\n{rows}")
    out = folder / "anonymous"
    _run(
        "anonymize",
        str(folder / "rows.csv"),
        "--quasi",
        "age,sex",
        "--sensitive",
        "illness",
        "--k",
        "5",
        "--out",
        str(out),
    )
    there = sorted(path.name for path in out.iterdir())
    return [
        "## Anonymized table",
        f"The folder holds {', '.join(f'`{name}`' for name in there)}. `{MANIFEST}` (version {request.VERSION}) is "
        "what was "
        f"asked for; "
        "with `obverse anonymize FILE --manifest` the same is done again. It may hold the secret of pseudonyms, and is "
        "readable for its owner alone:",
        outline(json.loads((out / MANIFEST).read_text())),
        f"`{REPORT}` is what came out, without a guarantee:",
        outline(json.loads((out / REPORT).read_text())),
    ]


def _run(*words: str) -> None:
    done = CliRunner().invoke(cli, list(words), prog_name="obverse")
    assert done.exit_code == 0, done.output
