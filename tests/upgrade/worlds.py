"""Projects of every kind, with what is asked of them: made by one version, asked again by every later one.

`python -m tests.upgrade.worlds FOLDER` makes them with the version that is installed, and packs them into FOLDER.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEAD = """\
[project]
name = "{name}"
[privacy]
accounting = "{accounting}"
neighbours = "{neighbours}"
epsilon = 0.1
delta = 1e-8
[budget]
epsilon = 60
delta = 1e-4
"""
PEOPLE = """\
[analysts.ana]
epsilon = 50
purposes = ["quality"]
[purposes.quality]
epsilon = 50
[tables.people]
source = "people.csv"
unit = "person_id"
{size}
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 90] }}
sex = {{ type = "text", values = ["F", "M", "X"] }}
town = {{ type = "text" }}
place = {{ type = "text", values = "places.place" }}
salary = {{ type = "double", bounds = [0, 5000], grid = 0.5 }}
joined = {{ type = "date", bounds = ["2020-01-01", "2025-12-31"] }}
[tables.visits]
source = "visits.csv"
unit = "person_id -> people.person_id"
limits = {limits}
[tables.visits.columns]
ward = {{ type = "text", values = ["a", "b", "c"] }}
cost = {{ type = "double", bounds = [0, 100], grid = 0.01 }}
[tables.places]
source = "places.csv"
public = true
"""
GROWING = """\
[tables.events]
source = "events.csv"
unit = "user"
limits = {{ rows = 5 }}
partition = {{ column = "day", counts = "{counts}" }}
[tables.events.columns]
day = {{ type = "date", bounds = ["2026-01-01", "2026-12-31"] }}
kind = {{ type = "text", values = ["x", "y"] }}
"""
FRIENDS = """\
[tables.members]
source = "members.csv"
public = true
[graphs.friends]
edges = "friends.csv"
nodes = "members.id"
unit = "edge"
degree = 20
"""
SURVEYS = """\
[project]
name = "surveys"
[surveys.dose]
question = "Have you missed a dose?"
options = ["no", "yes"]
epsilon = 1
reports = 3
per_day = 3
lifetime = 3
purpose = "To learn how many do."
consent = "I agree."
retention_days = 30000
[surveys.pain]
question = "Where does it hurt?"
options = ["head", "back", "knee", "elsewhere"]
protocol = "loloha"
epsilon = 1
permanent = 3
reports = 5
per_day = 5
lifetime = 9
purpose = "To learn where."
consent = "I agree."
retention_days = 30000
"""
SHARED = """\
[ledger]
kind = "postgres"
dsn_env = "OBVERSE_UPGRADE_LEDGER"
"""
TABLES = (
    "migration",
    "ledger",
    "dataset",
    "identity",
    "published",
    "unit_path",
    "entry",
    "answer",
    "note",
    "secret",
    "rights",
)
SENT = {"dose": ("yes", "no"), "pain": ("back", "back", "knee")}  # by one device, one after the other


@dataclass(frozen=True)
class World:
    """A project, and commands whose answers are stored: asked again, each is free and the same."""

    toml: str
    files: Callable[[Path], None]
    before: tuple[tuple[str, ...], ...] = ()  # acts that are made once
    commands: tuple[tuple[str, ...], ...] = field(default=())


def people(folder: Path) -> None:
    """Values beyond what is declared, missing ones, and people with many rows among them."""
    dice = random.Random(7)
    towns = ["Ahr", "Bonn", "Celle"] * 8 + ["Deutz"]
    places = ["north", "south", "west"]
    rows = ["person_id,age,sex,town,place,salary,joined"]
    for n in range(400):
        sex = dice.choice(["F", "M", "X", "F", "M", "", "D"])
        day = f"20{dice.randint(20, 25)}-0{dice.randint(1, 9)}-1{dice.randint(0, 9)}"
        age = dice.choice(["", *map(str, range(100))])
        salary = dice.randint(0, 12000) / 2
        rows.append(f"{n},{age},{sex},{dice.choice(towns)},{dice.choice(places)},{salary},{day}")
    (folder / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    visits = ["person_id,ward,cost"]
    for n in range(380):
        visits += [
            f"{n},{dice.choice('abcd')},{dice.randint(0, 12000) / 100}" for _ in range(dice.choice([0, 1, 2, 9]))
        ]
    (folder / "visits.csv").write_text("\n".join(visits) + "\n", encoding="utf-8")
    batch = "SELECT COUNT(*) AS n FROM people;\nSELECT SUM(salary) AS s FROM people;\n"
    (folder / "batch.sql").write_text(batch, encoding="utf-8")
    (folder / "places.csv").write_text("place,region\nnorth,up\nsouth,down\nwest,down\n", encoding="utf-8")


def events(folder: Path) -> None:
    dice = random.Random(8)
    rows = [f"{dice.randint(0, 200)},2026-01-{day:02},{dice.choice('xy')}" for day in range(1, 11) for _ in range(120)]
    (folder / "events.csv").write_text("user,day,kind\n" + "\n".join(rows) + "\n", encoding="utf-8")


def friends(folder: Path) -> None:
    dice = random.Random(9)
    pairs = {tuple(sorted(dice.sample(range(60), 2))) for _ in range(200)}
    (folder / "friends.csv").write_text(
        "from,to\n" + "".join(f"p{a},p{b}\n" for a, b in sorted(pairs)), encoding="utf-8"
    )
    (folder / "members.csv").write_text(
        "id,party\n" + "".join(f"p{n},{'lr'[n % 2]}\n" for n in range(60)), encoding="utf-8"
    )


def people_toml(
    name: str, accounting: str = "pure", neighbours: str = "add-remove", limits: str = "{ rows = 4, groups = 2 }"
) -> str:
    size = "size = 400" if neighbours == "replace" else ""
    return HEAD.format(name=name, accounting=accounting, neighbours=neighbours) + PEOPLE.format(
        size=size, limits=limits
    )


ASKED = (
    ("ask", "SELECT COUNT(*) AS n FROM people WHERE age > 30 AND joined >= DATE '2021-05-01'"),
    (
        "ask",
        "SELECT sex, COUNT(*) AS n, AVG(salary) AS mean FROM people GROUP BY sex HAVING COUNT(*) > 3 ORDER BY n DESC",
    ),
    ("ask", "SELECT COUNT(*) AS n FROM people WHERE sex IS NULL OR UPPER(sex) = 'F'"),
    ("ask", "--analyst", "ana", "--purpose", "quality", "SELECT MEDIAN(age) AS m, STDDEV(salary) AS s FROM people"),
    ("ask", "--above", "10", "--first", "2", "SELECT age, COUNT(*) AS n FROM people GROUP BY age"),
    ("ask", "--within", "60", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
    (
        "ask",
        "SELECT p.sex, MAX(v.cost) AS top, COUNT(DISTINCT v.ward) AS wards FROM people p "
        "LEFT JOIN visits v ON v.person_id = p.person_id WHERE p.place IN ('north', 'west') GROUP BY p.sex",
    ),
    (
        "ask",
        "WITH spent AS (SELECT person_id, SUM(cost) AS total FROM visits GROUP BY person_id) "
        "SELECT l.region, AVG(s.total) AS mean FROM people p JOIN spent s ON s.person_id = p.person_id "
        "JOIN places l ON l.place = p.place GROUP BY ROLLUP (l.region)",
    ),
    ("ask", "SELECT COUNT(*) AS n FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id)"),
    ("ask", "--epsilon", "0.2", "--batch", "batch.sql"),
    (
        "ask",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.4, privacy_unit_column=person_id) SUM(cost) AS s FROM "
        "visits",
    ),
    ("ask", "--key", "request-1", "SELECT COUNT(*) AS n FROM visits"),
)
KEYED = (("ask", "--epsilon", "1", "SELECT town, COUNT(*) AS n FROM people GROUP BY town"),)
PUBLISHED = (
    ("publish", "table", "people", "--by", "age,sex", "--by", "place", "--bins", "age=9", "--epsilon", "1"),
    ("publish", "quantiles", "people", "salary", "--by", "sex", "--epsilon", "1"),
    ("publish", "synthetic", "people", "--columns", "sex,place,age", "--bins", "age=3", "--epsilon", "2"),
    (
        "publish",
        "synthetic",
        "visits",
        "--columns",
        "ward",
        "--parent",
        "people",
        "--parent-columns",
        "sex",
        "--epsilon",
        "2",
    ),
    (
        "publish",
        "hierarchy",
        "people",
        "--spine",
        "region,place",
        "--places",
        "places",
        "--cells",
        "sex",
        "--epsilon",
        "1",
    ),
)
WORLDS = {
    "pure": World(people_toml("pure"), people, (), (*ASKED, *KEYED)),
    "zcdp": World(people_toml("zcdp", "zcdp"), people, (), (*ASKED[:4], *ASKED[5:10], *PUBLISHED)),
    "replace": World(people_toml("replace", neighbours="replace"), people, (), (*ASKED[:3], PUBLISHED[0])),
    "learned": World(
        people_toml("learned", limits='"auto"'), people, (("limits", "learn", "visits"),), (ASKED[5], ASKED[7])
    ),
    "rights": World(
        people_toml("rights"),
        people,
        (
            ("rights", "suppress", "7", "--reason", "objection"),
            ("rights", "correct", "8", "people", "--set", "age=40", "--reason", "typo"),
        ),
        (ASKED[0], PUBLISHED[0]),
    ),
    "first": World(
        HEAD.format(name="first", accounting="pure", neighbours="add-remove") + GROWING.format(counts="first"),
        events,
        (("data", "publish", "--through", "2026-01-10"),),
        (
            ("ask", "SELECT kind, COUNT(*) AS n FROM events WHERE day <= DATE '2026-01-05' GROUP BY kind"),
            ("ask", "SELECT COUNT(*) AS n FROM events"),
        ),
    ),
    "each": World(
        HEAD.format(name="each", accounting="zcdp", neighbours="add-remove") + GROWING.format(counts="each"),
        events,
        (("data", "publish", "--through", "2026-01-10"),),
        (("ask", "SELECT day, COUNT(*) AS n FROM events GROUP BY day LIMIT 12"),),
    ),
    "shared": World(
        people_toml("shared").replace("[privacy]", 'dataset = "clinic"\n[privacy]', 1) + SHARED,
        people,
        (),
        (*ASKED[:2], ASKED[9], ASKED[11]),
    ),
    "network": World(
        HEAD.format(name="network", accounting="pure", neighbours="add-remove") + FRIENDS,
        friends,
        (),
        (("publish", "graph", "friends", "--stats", "edges,degrees,mixing:party,triangles", "--epsilon", "2"),),
    ),
}


def stored(folder: Path) -> None:
    """A DuckDB file: a table with a collation, and a view that computes a row from other people's."""
    import duckdb

    with duckdb.connect(str(folder / "store.duckdb")) as connection:
        connection.execute("CREATE TABLE people (person_id INTEGER, name VARCHAR COLLATE NOCASE, pay DOUBLE)")
        connection.execute(
            "INSERT INTO people SELECT i, CASE WHEN i % 2 = 0 THEN 'ann' ELSE 'bob' END, i % 50 FROM range(200) AS r(i)"
        )
        connection.execute(
            "CREATE VIEW paid AS SELECT person_id, pay > (SELECT AVG(pay) FROM people) AS above FROM people"
        )


STORED = """\
[tables.{name}]
source = "store.duckdb:{name}"
unit = "person_id"
[tables.{name}.columns]
{column}
"""


def stored_toml(name: str, column: str) -> str:
    return HEAD.format(name=name, accounting="pure", neighbours="add-remove") + STORED.format(name=name, column=column)


CHANGED = {  # whose answers mean something else now
    "collated": World(
        stored_toml("people", 'name = { type = "text" }'), stored, (),
        (("ask", "--epsilon", "2", "SELECT name, COUNT(*) AS n FROM people GROUP BY name"),
         ("ask", "SELECT COUNT(*) AS n FROM people WHERE name = 'ann'")),
    ),
    "view": World(
        stored_toml("paid", 'above = { type = "boolean" }'), stored, (),
        (("ask", "SELECT COUNT(*) AS n FROM paid WHERE above"),),
    ),
}  # fmt: skip


def run(args: tuple[str, ...], folder: Path, out: Path | None = None) -> object:
    """One command in the folder, with JSON out."""
    more = ["--out", str(out)] if out is not None else []
    command = [sys.executable, "-m", "obverse", *args, *more, "--json"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if found.returncode:
        raise RuntimeError(f"{args}: {found.stdout} {found.stderr}")
    return json.loads(found.stdout)


def published(args: tuple[str, ...]) -> bool:
    return args[0] == "publish"


@contextlib.contextmanager
def home(folder: Path) -> Iterator[None]:
    """The place where this machine remembers ledgers."""
    before = os.environ.get("OBVERSE_HOME")
    os.environ["OBVERSE_HOME"] = str(folder)
    try:
        yield
    finally:
        del os.environ["OBVERSE_HOME"]
        if before is not None:
            os.environ["OBVERSE_HOME"] = before


def make(name: str, at: Path) -> None:
    """One project under `at`, asked all it is for; what was answered lies beside it."""
    world = {**WORLDS, **CHANGED}[name]
    folder = at / "project"
    folder.mkdir(parents=True)
    (folder / "obverse.toml").write_text(world.toml.format() if "{{" in world.toml else world.toml, encoding="utf-8")
    world.files(folder)
    with home(at / "home"):
        for args in world.before:
            run(args, folder)
        answers = [
            run(args, folder, at / f"release{n}" if published(args) else None) for n, args in enumerate(world.commands)
        ]
    (at / "answers.json").write_text(json.dumps({"at": str(folder), "answers": answers}, indent=1), encoding="utf-8")


def make_shared(name: str, at: Path) -> None:
    """The plain world with its ledger in PostgreSQL, and that database as SQL."""
    from tests.servers import postgres_address

    address = os.environ["OBVERSE_UPGRADE_LEDGER"] = postgres_address()
    make(name, at)
    (at / "ledger.json").write_text(json.dumps(dumped(address)), encoding="utf-8")


def dumped(address: str) -> dict[str, Any]:
    """The schema of a ledger in PostgreSQL as it was made, and every row."""
    import psycopg

    from obverse.ledger.postgres.server import MIGRATIONS

    with psycopg.connect(address) as connection:
        rows = {table: "".join(copied(connection, table)) for table in TABLES}
    return {"migrations": MIGRATIONS, "rows": rows}


def copied(connection: Any, table: str) -> Iterator[str]:
    with connection.cursor().copy(f"COPY obverse.{table} TO STDOUT") as copy:
        for part in copy:
            yield bytes(part).decode()


def restored(address: str, ledger: dict[str, Any]) -> None:
    """A ledger in an empty database, as it was dumped."""
    import psycopg

    with psycopg.connect(address) as connection:
        connection.execute("CREATE SCHEMA obverse")
        connection.execute("CREATE TABLE obverse.migration (number integer PRIMARY KEY, done timestamptz NOT NULL)")
        for statement in (one for migration in ledger["migrations"] for one in migration):
            connection.execute(statement)
        for table, rows in ledger["rows"].items():
            with connection.cursor().copy(f"COPY obverse.{table} FROM STDIN") as copy:
                copy.write(rows)


def make_surveys(name: str, at: Path) -> None:
    """Surveys with a device that has answered some of each, its reports counted, and its state."""
    folder = at / "project"
    folder.mkdir(parents=True)
    (folder / "obverse.toml").write_text(SURVEYS, encoding="utf-8")
    answers: dict[str, Any] = {"at": str(folder)}
    with home(at / "home"):
        for survey, sent in SENT.items():
            collect = functools.partial(collected, folder)
            devices = ["device"] * len(sent) + [f"other{n}" for n in range(20)]
            tokens = json.loads(collect("tokens", survey, "--count", str(len(devices) + 1), "--json"))["tokens"]
            for token, device, answer in zip(tokens, devices, itertools.cycle(sent)):
                report = collect("answer", survey, answer, "--token", token, "--device", device, "--consent")
                (folder / "reports.txt").write_text(report, encoding="utf-8")
                collect("add", survey, "reports.txt")
            for device in devices[len(sent) :]:
                shutil.rmtree(folder / device)
            spec = json.loads(collect("spec", survey))
            answers[survey] = {
                "spec": spec,
                "token": tokens[-1],
                "estimate": json.loads(collect("estimate", survey, "--json")),
            }
    (at / "answers.json").write_text(json.dumps(answers, indent=1), encoding="utf-8")


def collected(folder: Path, *args: str) -> str:
    """What a command about a survey prints."""
    found = subprocess.run(
        [sys.executable, "-m", "obverse", "collect", *args], cwd=folder, capture_output=True, text=True, check=False
    )
    if found.returncode:
        raise RuntimeError(f"{args}: {found.stdout} {found.stderr}")
    return found.stdout


MAKERS = {**dict.fromkeys([*WORLDS, *CHANGED], make), "surveys": make_surveys, "shared": make_shared}


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for name, maker in MAKERS.items():
        with tempfile.TemporaryDirectory(prefix="obverse-upgrade-") as at:
            maker(name, Path(at) / name)
            with tarfile.open(target / f"{name}.tar.xz", "w:xz") as tar:
                tar.add(Path(at) / name, name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
