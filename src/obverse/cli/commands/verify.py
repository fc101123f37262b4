"""obverse verify: what a mechanism, a protocol, a question or any Python callable surely loses.

A self-assessment for people: in the terminal, as Markdown and as one page without script or network.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from obverse.cli.errors import Verb
from obverse.cli.options import Range, number, print_json, with_json, with_project
from obverse.cli.output.terminal import on_terminal, paint, print_fact, shown
from obverse.core.errors import Refused

if TYPE_CHECKING:
    from obverse.attack.lower_bound.trial import Verdict
    from obverse.review.assessment import Assessment, Point
    from obverse.review.targets import Inputs, Target


NOTHING = "No private row was read, and nothing was spent."
KINDS = (".html", ".md")
TITLE = "Self-assessment in the order of NIST SP 800-226"
COLOURS: Mapping[str, str] = {"recomputed": "green", "refuted": "red", "broken": "red", "open": "yellow"}
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 "
    "1rem;color:#222;background:#fff}"
    "h1{font-size:1.4rem}h2{font-size:1.05rem;margin-top:1.8rem}"
    "table{border-collapse:collapse;width:100%;table-layout:fixed}"
    "td,th{padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid "
    "#ddd;overflow-wrap:anywhere}"
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
        raise Refused(
            "cannot_write", "the report cannot be written.", place=str(path), why=error.strerror or ""
        ) from None


def print_assessment(found: Assessment) -> None:
    click.echo(f"{shown(found.project)}: {TITLE}")
    click.echo(f"Made {found.made} by obverse {found.version}. {NOTHING}")
    for place, section in enumerate(found.sections, 1):
        click.echo(f"\n{place}. {section.title}")
        for point in section.points:
            click.echo(f"  {paint(point.state, COLOURS.get(point.state, 'cyan'))}: {shown(point.about)}")
            print_fact("", point.said)
    click.echo("")
    print_fact("In all", found.sentence, colour="red" if found.bad else "cyan")


def markdown(found: Assessment) -> str:
    from obverse.review.assessment import MEANING

    parts = [f"# {_cell(found.project)}: {TITLE}\n", f"{_made(found)}\n", f"{found.sentence}\n"]
    for place, section in enumerate(found.sections, 1):
        rows = [f"| {_cell(one.about)} | {_marked(one)} | {_cell(one.said)} |\n" for one in section.points]
        parts.append(f"## {place}. {section.title}\n\n| | known | |\n| --- | --- | --- |\n{''.join(rows)}")
    words = "".join(f"- **{state}**: {meaning}.\n" for state, meaning in MEANING.items())
    return "\n".join([*parts, f"## What the words mean\n\n{words}"])


def page(found: Assessment) -> str:
    from obverse.review.assessment import MEANING

    title = f"{escape(found.project)}: {TITLE}"
    parts = [f"<h1>{title}</h1><p>{escape(_made(found))}</p><p><strong>{escape(found.sentence)}</strong></p>"]
    for place, section in enumerate(found.sections, 1):
        rows = "".join(map(_row, section.points))
        head = "<tr><th>about</th><th>known</th><th>what</th></tr>"
        parts.append(f"<h2>{place}. {escape(section.title)}</h2><table>{head}{rows}</table>")
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
    from obverse.review.assessment import BAD

    return f"**{one.state}**" if one.state in BAD else one.state


def _cell(text: str) -> str:
    """A text that stays one cell, whatever it holds."""
    return shown(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


REFUTED = 5
SAMPLES = 200_000
SAMPLES_OF_SQL = 20_000
STEPS = 1000


@click.command(cls=Verb)
@click.argument("target", required=False)
@click.option("--report", is_flag=True, help="Assess the whole project, in the order of NIST SP 800-226.")
@click.option("--quick", is_flag=True, help="With --report: fewer outputs.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="With --report: write it as .html or .md.")
@click.option("--epsilon", metavar="E", help="The claim that is tried; SQL: its price. Those of ours state their own.")
@click.option("--delta", metavar="D", help="Delta of the claim.")
@click.option("--samples", type=click.IntRange(100), metavar="N",
              help=f"Outputs of each input; {SAMPLES:,}, of SQL {SAMPLES_OF_SQL:,}, unless told.")  # fmt: skip
@click.option("--confidence", type=Range(0.5, 1, min_open=True, max_open=True), default=0.95, show_default=True,
              help="That what is found is surely lost.")  # fmt: skip
@click.option("--left", metavar="JSON", help="One input; its neighbour is --right.")
@click.option("--right", metavar="JSON", help="The other input.")
@click.option(
    "--length", type=click.IntRange(1, 1000), metavar="K", help="Search lists of K numbers for bad neighbours."
)
@click.option(
    "--move", type=float, default=1.0, show_default=True, metavar="M", help="How far a number of the input moves."
)
@click.option("--moves", type=click.Choice(["one", "all"]), default="all", show_default=True,
              help="How many numbers of the input move at once.")  # fmt: skip
@click.option(
    "--with", "settings", multiple=True, metavar="NAME=VALUE", help="Parameter of a mechanism or protocol of ours."
)
@with_json
@with_project
def verify(
    target: str | None,
    report: bool,
    quick: bool,
    out: Path | None,
    epsilon: str | None,
    delta: str | None,
    samples: int | None,
    confidence: float,
    left: str | None,
    right: str | None,
    length: int | None,
    move: float,
    moves: str,
    settings: tuple[str, ...],
    as_json: bool,
    project: Path,
) -> None:
    """Try to refute a claim of privacy. What is found is an epsilon that is surely lost.

    TARGET is a Python callable package.module:function, which is called with an input and n and gives n outputs; a
    mechanism or protocol of ours by its name; or SQL in quotes, tried on made-up neighbouring databases of the project.
    What cannot be refuted is not thereby true: rarer events and other inputs may tell more. Ends with 5 where the claim
    is refuted.

    --report takes no TARGET: it recomputes what the project's ledger and declarations say, tries its usual questions,
    and tells what is open. It reads no private row and spends nothing.

    \b
    Examples:
      obverse verify my.noise:laplace --epsilon 1
      obverse verify my.noise:sparse_vector --epsilon 1 --length 6
      obverse verify discrete_laplace --with sensitivity=1 --with scale=2
      obverse verify rappor --with size=20 --with epsilon=2
      obverse verify "SELECT AVG(age) FROM people" -p hospital --epsilon 1
      obverse verify --report -p hospital --out report.html
    """
    from obverse.review.targets import Inputs

    if report:
        if target is not None or any((epsilon, delta, left, right, length, settings)):
            raise click.UsageError("--report takes no TARGET and no claim: it tries those of the project.")
        _report(project, quick, samples, confidence, out, as_json)
        return
    if target is None or quick or out is not None:
        raise click.UsageError("name a TARGET; or --report, to which --quick and --out belong.")
    inputs = Inputs(_pair(left, right), length, move, moves)  # type: ignore[arg-type]
    _try(_target(target, inputs, settings, epsilon, delta, project), target, samples, confidence, as_json)


def _report(
    project: Path, quick: bool, samples: int | None, confidence: float, out: Path | None, as_json: bool
) -> None:
    from obverse.review.assessment import QUICK, Effort, assess

    if out is not None:
        check_kind(out)
    usual = QUICK if quick else Effort()
    effort = Effort(samples or usual.of_questions, samples or usual.of_samplers, confidence)
    with _bar("trials") as progress:
        found = assess(project, effort, progress)
    if out is not None:
        write(found, out)
    if as_json:
        print_json(found.as_json())
    elif out is None:
        print_assessment(found)
    else:
        print_fact("Found", found.sentence, colour="red" if found.bad else "cyan")
        print_fact("Wrote", str(out))
    if found.bad:
        click.get_current_context().exit(REFUTED)


def _target(
    target: str, inputs: Inputs, settings: tuple[str, ...], epsilon: str | None, delta: str | None, project: Path
) -> Target:
    from obverse.review import targets

    claimed = number(epsilon)
    forgiven = number(delta)
    if targets.CALLABLE.fullmatch(target):
        at = None if claimed is None else float(claimed)
        return targets.of_callable(target, inputs, at, float(forgiven or 0))
    if " " in target.strip():
        from obverse.review.neighbours import of_question

        return of_question(project, target, claimed, forgiven)
    pairs = [text.partition("=") for text in settings]
    if not all(name and equals for name, equals, _ in pairs):
        raise click.UsageError("write --with NAME=VALUE.")
    return targets.of_name(target, {name: value for name, _, value in pairs}, inputs)


def _try(found: Any, target: str, samples: int | None, confidence: float, as_json: bool) -> None:
    from obverse.attack.lower_bound.trial import trial

    outputs = samples or (SAMPLES_OF_SQL if " " in target else SAMPLES)
    with _bar(target) as progress:
        verdict = trial(
            found.draw,
            found.pairs,
            outputs,
            claimed=found.epsilon,
            delta=found.delta,
            alpha=1 - confidence,
            progress=progress,
        )
    _print(found, verdict, as_json)
    if verdict.refuted:
        click.get_current_context().exit(REFUTED)


def _pair(left: str | None, right: str | None) -> tuple[Any, Any] | None:
    if left is None and right is None:
        return None
    if left is None or right is None:
        raise click.UsageError("give both --left and --right, or neither.")
    return _input(left), _input(right)


def _input(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise click.UsageError("--left and --right are JSON: a number, a text in quotes, or a list.") from None


@contextmanager
def _bar(what: str) -> Iterator[Callable[[float], None]]:
    """How far it has come, on stderr and for a person only."""
    if not on_terminal("stderr"):
        yield lambda share: None
        return
    with click.progressbar(length=STEPS, label=what[:40], file=sys.stderr) as bar:
        yield lambda share: bar.update(int(share * STEPS) - bar.pos)


def _print(target: Target, verdict: Verdict, as_json: bool) -> None:
    if as_json:
        print_json({"version": 1, "target": target.words, **verdict.as_json()})
        return
    print_fact("Target", target.words)
    print_fact("Found", verdict.sentence, colour="red" if verdict.refuted else "cyan")
    print_fact("Event", f"{verdict.evidence.event}, on inputs {verdict.pair[0]} and {verdict.pair[1]}")
