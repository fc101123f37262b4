"""Charts as files: .html, .svg or .png."""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import Any

from obverse.core.errors import Refused

KINDS = (".html", ".png", ".svg")
PAGE = """<!doctype html>
<html lang=en><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title></head>
<body>{drawn}</body></html>
"""


def check_kind(path: Path) -> None:
    """Refuse a name that tells no kind of picture, before any work is done for it."""
    if path.suffix.lower() not in KINDS:
        raise Refused("bad_plot", f"a picture is one of {', '.join(KINDS)}.", place=str(path))


def save(chart: Any, path: Path) -> None:
    """Write an Altair chart; its kind is that of the file's name. A page holds the picture itself: no script, no network."""
    check_kind(path)
    try:
        if path.suffix.lower() == ".html":
            drawn = io.StringIO()
            chart.save(drawn, format="svg")
            path.write_text(PAGE.format(title=html.escape(path.stem), drawn=drawn.getvalue()), encoding="utf-8")
        else:
            chart.save(str(path))
    except OSError as error:
        raise Refused("cannot_write", "the picture cannot be written.", place=str(path), why=error.strerror or "") from None
