"""obverse verify: what a mechanism, a protocol, a question or any Python callable surely loses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from obverse.cli.errors import Verb
from obverse.cli.options import Range, number, print_json, with_json, with_project
from obverse.cli.output.terminal import on_terminal, print_fact

if TYPE_CHECKING:
    from obverse.attack.lower_bound.trial import Verdict
    from obverse.review.verifying import Inputs, Target

REFUTED = 5
SAMPLES, SAMPLES_OF_SQL = 200_000, 20_000
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
@click.option("--length", type=click.IntRange(1, 1000), metavar="K", help="Search lists of K numbers for bad neighbours.")
@click.option("--move", type=float, default=1.0, show_default=True, metavar="M", help="How far a number of the input moves.")
@click.option("--moves", type=click.Choice(["one", "all"]), default="all", show_default=True,
              help="How many numbers of the input move at once.")  # fmt: skip
@click.option("--with", "settings", multiple=True, metavar="NAME=VALUE", help="Parameter of a mechanism or protocol of ours.")
@with_json
@with_project
def verify(
    target: str | None, report: bool, quick: bool, out: Path | None, epsilon: str | None, delta: str | None,
    samples: int | None, confidence: float, left: str | None, right: str | None, length: int | None, move: float, moves: str,
    settings: tuple[str, ...], as_json: bool, project: Path,
) -> None:  # fmt: skip
    """Try to refute a claim of privacy. What is found is an epsilon that is surely lost.

    TARGET is a Python callable package.module:function, which is called with an input and n and gives n outputs; a mechanism
    or protocol of ours by its name; or SQL in quotes, tried on made-up neighbouring databases of the project. What cannot be
    refuted is not thereby true: rarer events and other inputs may tell more. Ends with 5 where the claim is refuted.

    --report takes no TARGET: it recomputes what the project's ledger and declarations say, tries its usual questions, and
    tells what is open. It reads no private row and spends nothing.

    \b
    Examples:
      obverse verify my.noise:laplace --epsilon 1
      obverse verify my.noise:sparse_vector --epsilon 1 --length 6
      obverse verify discrete_laplace --with sensitivity=1 --with scale=2
      obverse verify rappor --with size=20 --with epsilon=2
      obverse verify "SELECT AVG(age) FROM people" -p hospital --epsilon 1
      obverse verify --report -p hospital --out report.html
    """
    from obverse.attack.lower_bound.trial import trial
    from obverse.review.verifying import Inputs

    if report:
        if target is not None or any((epsilon, delta, left, right, length, settings)):
            raise click.UsageError("--report takes no TARGET and no claim: it tries those of the project.")
        _report(project, quick, samples, confidence, out, as_json)
        return
    if target is None or quick or out is not None:
        raise click.UsageError("name a TARGET; or --report, to which --quick and --out belong.")
    if (left is None) is not (right is None):
        raise click.UsageError("give both --left and --right, or neither.")
    both = None if left is None or right is None else (_input(left), _input(right))
    found = _target(target, Inputs(both, length, move, moves), settings, epsilon, delta, project)  # type: ignore[arg-type]
    outputs = samples or (SAMPLES_OF_SQL if " " in target else SAMPLES)
    with _bar(target) as progress:
        verdict = trial(found.draw, found.pairs, outputs, claimed=found.epsilon, delta=found.delta,
                        alpha=1 - confidence, progress=progress)  # fmt: skip
    _print(found, verdict, as_json)
    if verdict.refuted:
        click.get_current_context().exit(REFUTED)


def _report(project: Path, quick: bool, samples: int | None, confidence: float, out: Path | None, as_json: bool) -> None:
    from obverse.cli.commands.assessed import check_kind, print_assessment, write
    from obverse.review.assessed_trials import QUICK, Effort
    from obverse.review.assessing import assess

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
    from obverse.review import verifying

    claimed, forgiven = number(epsilon), number(delta)
    if verifying.CALLABLE.fullmatch(target):
        at = None if claimed is None else float(claimed)
        return verifying.of_callable(target, inputs, at, float(forgiven or 0))
    if " " in target.strip():
        from obverse.review.neighbouring import of_question

        return of_question(project, target, claimed, forgiven)
    pairs = [text.partition("=") for text in settings]
    if not all(name and equals for name, equals, _ in pairs):
        raise click.UsageError("write --with NAME=VALUE.")
    return verifying.of_name(target, {name: value for name, _, value in pairs}, inputs)


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
