"""obverse collect consent, withdraw, answer: the respondent's side, on their own device."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from obverse.cli.errors import Verb
from obverse.cli.options import F, print_json, with_json, with_project
from obverse.cli.output.terminal import print_fact, shown_lines

if TYPE_CHECKING:
    from obverse.collect.device import Device
    from obverse.collect.spec import Answers, Spec


def with_device(function: F) -> F:
    """Which survey the device was sent, where it keeps its key and ledger, and in which language it speaks."""
    for option in (
        click.option(
            "--spec", "sent", type=click.File("rb"), metavar="FILE",
            help="The survey's specification as it was sent to you; then no project is needed.",
        ),
        click.option("--language", default="und", metavar="CODE", help="Language of the texts, such as de."),
        click.option(
            "--device", "folder", metavar="FOLDER", type=click.Path(path_type=Path),
            help="Folder of the device's key and ledger; one in your home unless told.",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


@click.command(cls=Verb)
@click.argument("name")
@click.option("--no", "refuses", is_flag=True, help="Say no; nothing is ever sent.")
@with_device
@with_json
@with_project
def consent(
    name: str, refuses: bool, sent: BinaryIO | None, folder: Path | None, language: str, as_json: bool, project: Path
) -> None:
    """Read what is sent and agree to it; --no declines."""
    spec, device = _opened(project, name, sent, folder)
    if refuses:
        device.decline(spec)
    else:
        click.echo(shown_lines(device.consent_text(spec, language)), err=as_json)
        device.consent(spec)
    _tell_standing(spec, device, as_json)


@click.command(cls=Verb)
@click.argument("name")
@with_device
@with_json
@with_project
def withdraw(
    name: str, sent: BinaryIO | None, folder: Path | None, language: str, as_json: bool, project: Path
) -> None:
    """Stop sending, and erase what was remembered of answers; what was spent stays spent."""
    spec, device = _opened(project, name, sent, folder)
    device.withdraw(spec)
    _tell_standing(spec, device, as_json)


@click.command(cls=Verb)
@click.argument("name")
@click.argument("given", metavar="ANSWER...", nargs=-1, required=True)
@click.option("--token", default="", metavar="HEX", help="A token of this survey, from whoever runs it: one report.")
@click.option(
    "--epoch", type=click.IntRange(0, 65535), default=0, show_default=True, help="The epoch that is collected."
)
@click.option("--consent", "agrees", is_flag=True, help="Print the consent text and agree to it.")
@with_device
@with_json
@with_project
def answer(
    name: str,
    given: tuple[str, ...],
    token: str,
    epoch: int,
    agrees: bool,
    sent: BinaryIO | None,
    folder: Path | None,
    language: str,
    as_json: bool,
    project: Path,
) -> None:
    """Randomize an answer, or QUESTION=ANSWER for each of several questions.

    Prints the token and the report in hexadecimal, as `collect add` takes them.

    \b
    Example:
      obverse collect answer missed_dose yes --token $(head -1 tokens.txt)
    """
    from obverse.collect.device import sent_words

    spec, device = _opened(project, name, sent, folder)
    spent = _token(token)
    if device.record(spec).consent != "given" and (agrees or _on_terminal()):
        click.echo(shown_lines(device.consent_text(spec, language)), err=True)
        if agrees or click.confirm("Do you agree?", default=False, err=True):
            device.consent(spec)
    made = device.report(spec, _answers(spec, given), token=spent, epoch=epoch)
    if as_json:
        print_json(
            {"version": 1, "survey": spec.id, "token": token, "report": made.hex(), "sent": sent_words(spec, made)}
        )
        return
    click.echo(f"{spent.hex()} {made.hex()}")
    print_fact("Sent", sent_words(spec, made), err=True)


def _opened(project: Path, name: str, sent: BinaryIO | None, folder: Path | None) -> tuple[Spec, Device]:
    from obverse.collect.device import Device
    from obverse.collect.project import spec_in
    from obverse.collect.spec import read_spec
    from obverse.ledger.home import default_home

    spec = spec_in(project, name)[0] if sent is None else read_spec(sent.read().rstrip(b"\r\n"))
    if spec.survey.name != name:
        raise click.UsageError(f"this is the specification of {spec.survey.name!r}.")
    return spec, Device(folder or default_home() / "device")


def _answers(spec: Spec, given: tuple[str, ...]) -> Answers:
    """One answer, or those to several questions by their names."""
    if not spec.parts:
        if len(given) > 1:
            raise click.UsageError("this survey takes one answer; put it in quotes if it has blanks.")
        return given[0]
    found = {name: answer for name, _, answer in (text.partition("=") for text in given)}
    if len(found) < len(given):
        raise click.UsageError("a question is answered twice.")
    return found


def _on_terminal() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin.isatty()


def _token(text: str) -> bytes:
    from obverse.collect.wire import TOKEN_BYTES

    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != TOKEN_BYTES:
        made = "whoever runs the survey hands them out, and makes them by `obverse collect tokens`"
        raise click.UsageError(f"--token: a token has {TOKEN_BYTES} bytes in hexadecimal; {made}.")
    return found


def _tell_standing(spec: Spec, device: Device, as_json: bool) -> None:
    from obverse.core.numbers import plain

    known = device.record(spec)
    asked = spec.survey
    spent = plain(known.spent)
    most = plain(asked.lifetime)
    together = device.spent()
    if as_json:
        losses = {"spent": spent, "lifetime": most, "device": plain(together)}
        print_json(
            {"version": 1, "survey": spec.id, "consent": known.consent, "reports": known.reports, "epsilon": losses}
        )
        return
    print_fact("Consent", known.consent)
    print_fact("Reports", f"{known.reports:,} of {asked.reports:,}")
    print_fact("Spent", f"epsilon {spent} of {most} in a lifetime")
    if together > known.spent:
        print_fact(
            "Together", f"epsilon {plain(together)} in all surveys that this device answered; their losses add up"
        )
