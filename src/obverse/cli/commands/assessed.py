"""A self-assessment for people: in the terminal, as Markdown and as one page without script or network."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

import click

from obverse.cli.output.terminal import paint, print_fact, shown
from obverse.core.errors import Refused
from obverse.review.assessed import BAD, MEANING, Assessment, Point

NOTHING = "No private row was read, and nothing was spent."
KINDS = (".html", ".md")
TITLE = "Self-assessment in the order of NIST SP 800-226"
COLOURS: Mapping[str, str] = {"recomputed": "green", "refuted": "red", "broken": "red", "open": "yellow"}
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}"
    "h1{font-size:1.4rem}h2{font-size:1.05rem;margin-top:1.8rem}table{border-collapse:collapse;width:100%;table-layout:fixed}"
    "td,th{padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid #ddd;overflow-wrap:anywhere}"
    "th{font-weight:600}td:first-child,th:first-child{width:24%}td:nth-child(2),th:nth-child(2){width:8rem}"
    ".recomputed{color:#17692f}.refuted,.broken{color:#a4001d;font-weight:600}.open,.not-looked-at{color:#7a4b00}"
    "@media print{h2{break-after:avoid}tr{break-inside:avoid}}"
)


def check_kind(path: Path) -> None:
    if path.suffix.lower() not in KINDS:
        raise Refused("bad_plot", f"a report is written as one of {', '.join(KINDS)}.", place=str(path))


def write(found: Assessment, path: Path) -> None:
    text = page(found) if path.suffix.lower() == ".html" else markdown(found)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Refused("cannot_write", "the report cannot be written.", place=str(path), why=error.strerror or "") from None


def print_assessment(found: Assessment) -> None:
    click.echo(f"{shown(found.project)}: {TITLE}")
    click.echo(f"Made {found.made} by obverse {found.version}. {NOTHING}")
    for number, section in enumerate(found.sections, 1):
        click.echo(f"\n{number}. {section.title}")
        for point in section.points:
            click.echo(f"  {paint(point.state, COLOURS.get(point.state, 'cyan'))}: {shown(point.about)}")
            print_fact("", point.said)
    click.echo("")
    print_fact("In all", found.sentence, colour="red" if found.bad else "cyan")


def markdown(found: Assessment) -> str:
    parts = [f"# {_cell(found.project)}: {TITLE}\n", f"{_made(found)}\n", f"{found.sentence}\n"]
    for number, section in enumerate(found.sections, 1):
        rows = [f"| {_cell(one.about)} | {_marked(one)} | {_cell(one.said)} |\n" for one in section.points]
        parts.append(f"## {number}. {section.title}\n\n| | known | |\n| --- | --- | --- |\n{''.join(rows)}")
    words = "".join(f"- **{state}**: {meaning}.\n" for state, meaning in MEANING.items())
    return "\n".join([*parts, f"## What the words mean\n\n{words}"])


def page(found: Assessment) -> str:
    title = f"{escape(found.project)}: {TITLE}"
    parts = [f"<h1>{title}</h1><p>{escape(_made(found))}</p><p><strong>{escape(found.sentence)}</strong></p>"]
    for number, section in enumerate(found.sections, 1):
        rows = "".join(map(_row, section.points))
        head = "<tr><th>about</th><th>known</th><th>what</th></tr>"
        parts.append(f"<h2>{number}. {escape(section.title)}</h2><table>{head}{rows}</table>")
    words = "".join(f"<li><strong>{state}</strong>: {escape(meaning)}.</li>" for state, meaning in MEANING.items())
    parts.append(f"<h2>What the words mean</h2><ul>{words}</ul>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n'


def _row(one: Point) -> str:
    kind = one.state.replace(" ", "-")
    return f'<tr><td>{escape(one.about)}</td><td class="{kind}">{one.state}</td><td>{escape(one.said)}</td></tr>'


def _made(found: Assessment) -> str:
    return f"Made {found.made} by obverse {found.version} on the project's own machine. {NOTHING}"


def _marked(one: Point) -> str:
    return f"**{one.state}**" if one.state in BAD else one.state


def _cell(text: str) -> str:
    """A text that stays one cell, whatever it holds."""
    return shown(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
