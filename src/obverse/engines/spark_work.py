"""Work of one thread in Spark: marked, so that another thread can stop it, and without a word in Spark's own logs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # write down what a query failed on, with the value
WIRE = ("py4j.clientserver", "py4j.java_gateway")  # write down all that goes to and fro, where an application logs that much
HERE = threading.local()


def is_remote(session: Any) -> bool:
    return not hasattr(session, "_jsparkSession")


@contextmanager
def marked(session: Any, name: str) -> Iterator[None]:
    """What this thread asks of Spark goes by a name."""
    if is_remote(session):
        session.addTag(name)
        try:
            yield
        finally:
            session.removeTag(name)
    else:  # a tag would not reach the thread that collects; what is set on the context does
        session.sparkContext.setJobGroup(name, "a question", interruptOnCancel=True)
        yield


def stop(session: Any, name: str) -> None:
    if is_remote(session):
        session.interruptTag(name)
    else:
        session.sparkContext.cancelJobGroup(name)


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing of what goes wrong in this thread is written to the logs of pyspark."""
    from pyspark.logger import PySparkLogger

    for name in LOGGERS:
        PySparkLogger.getLogger(name).addFilter(silent)  # once, however often it is said
    for name in WIRE:
        logging.getLogger(name).addFilter(silent)
    HERE.quiet = True
    try:
        yield
    finally:
        HERE.quiet = False


def silent(record: logging.LogRecord) -> bool:
    return not getattr(HERE, "quiet", False)
