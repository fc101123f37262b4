"""Adult-like rows of any size: UCI Adult drawn with replacement, ages moved by up to 2, and a skewed 5-digit postal
code.

Adult and its hierarchies are not part of this project: they are looked for in ../shared/data, or in OBVERSE_ADULT.
"""

from __future__ import annotations

import os
from pathlib import Path

import trips

HOME = Path(os.environ.get("OBVERSE_ADULT", trips.BENCH.parent.parent / "shared" / "data"))
HIERARCHIES = HOME / "adult_hierarchies"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "zip")
SENSITIVE = "salary-class"
CHECKED = ("sex", "age", "race", "education")  # with ages in tens: what checks are measured on
ZIPS = 2_000


def at_hand() -> bool:
    return (HOME / "adult.csv").exists()


def table(rows: int, kind: str = "csv") -> Path:
    """The file of so many people, written once."""
    path = trips.DATA / f"adults_{rows}.{kind}"
    if not path.exists():
        trips.DATA.mkdir(parents=True, exist_ok=True)
        print(f"writing {path.relative_to(trips.BENCH.parent)}", flush=True)
        _write(rows)
    return path


def hierarchies() -> Path:
    """Adult's own hierarchies, and one of the postal codes."""
    folder = trips.DATA / "adult_hierarchies"
    folder.mkdir(parents=True, exist_ok=True)
    for path in HIERARCHIES.glob("*.csv"):
        (folder / path.name).write_bytes(path.read_bytes())
    lines = [";".join([z, z[:4] + "*", z[:3] + "**", z[:2] + "***", z[:1] + "****", "*"]) for z in _zips()]
    (folder / "zip.csv").write_text("\n".join(lines) + "\n")
    return folder


def _zips() -> list[str]:
    import numpy as np

    return [f"{code:05d}" for code in np.unique(np.random.default_rng(7).integers(1000, 99999, ZIPS + 400))[:ZIPS]]


def _write(rows: int) -> None:
    import duckdb
    import numpy as np

    generator = np.random.default_rng(rows)
    shares = generator.permutation(np.arange(1, ZIPS + 1) ** -0.7)
    drawn = {
        "place": generator.integers(0, 30_162, rows),
        "moved": generator.integers(-2, 3, rows),
        "code": generator.choice(ZIPS, rows, p=shares / shares.sum()),
    }
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        source = f"read_csv('{HOME / 'adult.csv'}', delim=';', all_varchar=true)"
        connection.execute(f"CREATE TABLE adult AS SELECT row_number() OVER () - 1 AS place, * FROM {source}")
        connection.register("drawn", drawn)
        connection.register("zips", {"code": np.arange(ZIPS), "zip": np.array(_zips(), dtype=object)})
        people = """SELECT a.* EXCLUDE (place) REPLACE (greatest(17, least(90, age::INT + moved))::VARCHAR AS age), zip,
            (age::INT // 10 * 10)::VARCHAR AS decade FROM drawn JOIN adult AS a USING (place) JOIN zips USING (code)"""
        for kind in ("csv", "parquet"):
            path = trips.DATA / f"adults_{rows}.{kind}"
            options = "FORMAT csv, HEADER, DELIMITER ';'" if kind == "csv" else "FORMAT parquet"
            connection.execute(f"COPY ({people}) TO '{path.with_suffix('.part')}' ({options})")
            path.with_suffix(".part").replace(path)
