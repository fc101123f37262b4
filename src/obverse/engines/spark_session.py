"""A Spark session fit to be asked: of its own, with the settings that the emitted SQL stands on set and then verified.

The virtual machine of a local Spark, started so that nothing of what it writes at its start comes between answers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from obverse.core.errors import CatalogError

CHOSEN = "log4j2.configurationFile"
OPTIONS = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")
NAMES = tuple(f"log4j2.{kind}" for kind in ("properties", "xml", "yaml", "yml", "json"))


def launched(settings: Mapping[str, str]) -> None:
    """Start it, unless it runs.

    What it says is shown when it does not start, or where the user set up logs of their own.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None or logs_of_their_own(os.environ):
        return
    with tempfile.TemporaryFile() as said:
        try:
            gateway = launch_gateway(SparkConf().setAll(list(settings.items())), {"stderr": said})
        except Exception:
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace"))
            raise
    SparkContext._ensure_initialized(gateway=gateway)


def logs_of_their_own(environment: Mapping[str, str]) -> bool:
    """Whether the user chose how Spark logs."""
    if any(CHOSEN in environment.get(name, "") for name in OPTIONS):
        return True
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (home and str(Path(home, "conf")))
    return bool(folder) and any(Path(str(folder), name).exists() for name in NAMES)


RETRIES = 4  # some seconds in all
VERSION = 4  # the least that has all functions which plans are printed with
SETTINGS = {
    "spark.sql.ansi.enabled": "true",  # otherwise sums and casts wrap silently
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",  # otherwise one reading may hold rows that another one lacks
    "spark.sql.files.ignoreMissingFiles": "false",
}
PROBE = "SELECT current_timezone(), length('\\\\\\''), '${spark.app.name}', typeof(CAST(1 AS DECIMAL(38, 0)) * 1048576)"
# texts without a collation of their own are compared by their bytes
PROBE += ", 'a' = 'A', CAST(X'61' AS STRING) = 'A'"
PROBED = ("UTC", 2, "${spark.app.name}", "decimal(38,0)", False, False)
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",  # a log may carry the value that a task failed on
}


def session_for(url: str | None, frames: Iterable[Any]) -> Any:
    """A new session: at the address, beside the frames that were handed over, or in this process."""
    found = next(iter(frames), None)
    try:
        if url is not None:
            made = _remote(url)
        elif found is not None:
            made = found.sparkSession.newSession()
        else:
            made = _local().newSession()
    except CatalogError:
        raise
    except ImportError:
        raise CatalogError(
            "extra_missing", "the engine spark needs pyspark.", fix="pip install 'obverse[spark]'"
        ) from None
    except Exception:
        raise CatalogError(
            "engine_unreachable",
            "Spark cannot be reached, or cannot be started.",
            why="a local session needs Java 17 or later; an address needs a Spark Connect server that answers.",
            fix="check `url` of the engine, or that `java -version` works.",
        ) from None
    try:
        settle(made)
    except BaseException:
        if url is not None:
            made.stop()
        raise
    return made


def _remote(url: str) -> Any:
    """A session at the address, which was reached.

    `SparkSession.builder` would keep this process from any local Spark.
    """
    if not url.startswith("sc://"):
        raise CatalogError(
            "engine_unreachable",
            "the address of Spark is not one of Spark Connect.",
            why="obverse speaks to a cluster through Spark Connect alone.",
            fix='write url = "sc://host:15002", or leave it out for a local session.',
        )
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    made = SparkSession.builder.remote(url).create()
    later = made.client.get_retry_policies()  # they go on for ten minutes
    made.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
    try:
        with warnings.catch_warnings(action="ignore"):  # that it gave up, which the error tells
            made.version  # noqa: B018 - asks the server
    except BaseException:
        made.client.close()
        raise
    made.client.set_retry_policies(later)
    return made


def _local() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").appName("obverse")
    if SparkSession.getActiveSession() is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # that of workers: ours
        launched(LOCAL)
        for key, value in LOCAL.items():
            builder = builder.config(key, value)
    return builder.getOrCreate()


def settle(session: Any) -> None:
    """Set what answers depend on, then ask Spark whether it holds; a session where it does not is refused."""
    wrong = []
    if int(str(session.version).split(".")[0]) < VERSION:
        wrong.append(f"version {VERSION}")
    for key, value in SETTINGS.items():
        if not _holds(session, key, value):
            with suppress(Exception):
                session.conf.set(key, value)
            if not _holds(session, key, value):
                wrong.append(f"{key} = {value}")
    if not wrong and tuple(_probe(session)) != PROBED:
        wrong.append("literals and times as Spark itself documents them")
    if wrong:
        raise CatalogError(
            "engine_unfit",
            f"this Spark does not keep to {'; '.join(wrong)}.",
            why="with other settings a sum may wrap or a text may be read otherwise, and the noise would no longer "
            "cover it.",
            fix="ask its administrator to let sessions set these.",
        )


def _holds(session: Any, key: str, value: str) -> bool:
    with suppress(Exception):
        return str(session.conf.get(key)).lower() == value.lower()
    return False


def _probe(session: Any) -> Iterable[Any]:
    try:
        found: Iterable[Any] = session.sql(PROBE).collect()[0]
        return found
    except Exception:
        return ()
