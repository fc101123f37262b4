"""The virtual machine of a local Spark, started so that nothing of what it writes at its start comes between answers."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

CHOSEN = "log4j2.configurationFile"
OPTIONS = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")
NAMES = tuple(f"log4j2.{kind}" for kind in ("properties", "xml", "yaml", "yml", "json"))


def launched(settings: Mapping[str, str]) -> None:
    """Start it, unless it runs. What it says is shown when it does not start, or where the user set up logs of their own."""
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
