"""obverse learn: lessons on the real engine, one step after the other, with an exercise at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import Verb
from obverse.cli.options import print_json, with_json
from obverse.cli.output.terminal import Heading, on_terminal, paint, print_fact, print_table, width
from obverse.core.errors import Refused

if TYPE_CHECKING:
    from obverse.learn.lesson import Lesson

TRIES = 3


@click.command(cls=Verb)
@click.argument("name", required=False)
@click.option("--headless", is_flag=True, help="Print every step and the reference solution; ask nothing.")
@click.option("--answer", metavar="TEXT", help="Check this answer to the lesson's exercise.")
@click.option(
    "--notebook",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.ipynb",
    help="Write the lesson as a notebook.",
)
@click.option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Write a page; of all lessons, if none is named.",
)
@with_json
def learn(
    name: str | None, headless: bool, answer: str | None, notebook: Path | None, page: Path | None, as_json: bool
) -> None:
    """Short lessons on the real engine, each with an exercise.

    Everything in them is computed by the product on made-up rows. No budget of yours is touched, and nothing that you
    answer is recorded.

    \b
    Examples:
      obverse learn
      obverse learn two-coins
      obverse learn two-coins --answer 0.3
      obverse learn neighbours --notebook neighbours.ipynb
      obverse learn --page lessons.html
    """
    from obverse.learn.lessons import LESSONS

    if name is None:
        if answer is not None or notebook is not None:
            raise click.UsageError("name a lesson: `obverse learn` lists them.")
        if page is not None:
            _write_page(LESSONS, page)
        elif as_json:
            print_json({"version": 1, "lessons": [one.as_json() for one in LESSONS]})
        elif headless:
            for one in LESSONS:
                _headless(one)
        else:
            _list(LESSONS)
        return
    lesson = _named(name)
    if notebook is not None:
        _write_notebook(lesson, notebook)
    elif page is not None:
        _write_page((lesson,), page)
    elif answer is not None:
        _checked(lesson, answer, as_json)
    elif as_json:
        print_json({"version": 1, **lesson.as_json()})
    elif headless or not on_terminal():
        _headless(lesson) if headless else _printed(lesson)
    else:
        _taught(lesson)


def _named(name: str) -> Lesson:
    from difflib import get_close_matches

    from obverse.learn.lessons import BY_NAME

    if name not in BY_NAME:
        near = get_close_matches(name, BY_NAME, n=1)
        fix = f"Did you mean {near[0]!r}?" if near else "`obverse learn` lists them."
        raise Refused("no_such_lesson", f"there is no lesson {name!r}.", fix=fix)
    return BY_NAME[name]


def _list(lessons: tuple[Lesson, ...]) -> None:
    rows = [[str(number), one.name, one.title] for number, one in enumerate(lessons, start=1)]
    print_table([Heading("", "right"), Heading("lesson"), Heading("about")], rows)
    print_fact("Next", f"obverse learn {lessons[0].name}")


def _block(lesson: Lesson, number: int) -> None:
    """Words, and what a step shows; of a slider each place."""
    from obverse.learn.lesson import Slider, Step

    block = lesson.blocks[number]
    click.echo(f"\n{_wrapped(block.words)}")
    if isinstance(block, Step):
        shown = block.run()
        click.echo("\n" + "\n\n".join(_indented(part) for part in (shown.figures, _wrapped(shown.words)) if part))
    if isinstance(block, Slider):
        for place in block.places:
            click.echo(f"\n  {paint(f'{block.name} = {place}', 'cyan')}\n{_indented(_wrapped(block.run(place).words))}")


def _printed(lesson: Lesson) -> None:
    click.echo(paint(lesson.title, "cyan"))
    for number in range(len(lesson.blocks)):
        _block(lesson, number)
    _question(lesson)


def _question(lesson: Lesson) -> None:
    from obverse.learn.exercises import Choice

    exercise = lesson.exercise
    click.echo(f"\n{paint('Exercise', 'cyan')}\n\n{_wrapped(exercise.question)}\n")
    if isinstance(exercise.accepts, Choice):
        for letter, words in zip(exercise.accepts.letters, exercise.accepts.options):
            click.echo(f"  {letter}) {words}")
        click.echo()
    if not on_terminal():
        click.echo(f"Answer with: obverse learn {lesson.name} --answer ...")


def _headless(lesson: Lesson) -> None:
    """The whole lesson, solved by its reference solution."""
    _printed(lesson)
    verdict = lesson.exercise.check(lesson.exercise.answer)
    if not verdict.right:
        raise Refused("wrong_answer", f"the reference solution of {lesson.name} is not accepted.", why=verdict.words)
    click.echo(f"> {lesson.exercise.answer}\n{verdict}\n")


def _taught(lesson: Lesson) -> None:
    """Step by step; the exercise may be tried several times."""
    click.echo(paint(lesson.title, "cyan"))
    for number in range(len(lesson.blocks)):
        _block(lesson, number)
        if number + 1 < len(lesson.blocks):
            click.prompt("\n[Enter]", default="", show_default=False, prompt_suffix=" ")
    _question(lesson)
    for tried in range(TRIES):
        verdict = lesson.exercise.check(click.prompt(">", prompt_suffix=" "))
        click.echo(str(verdict))
        if verdict.right:
            return
        if tried == 0:
            click.echo(f"Hint: {lesson.exercise.hint}")
    click.echo(f"One solution: {lesson.exercise.answer}. {lesson.exercise.why}")


def _checked(lesson: Lesson, answer: str, as_json: bool) -> None:
    verdict = lesson.exercise.check(answer)
    if as_json:
        print_json({"version": 1, "lesson": lesson.name, "right": verdict.right, "words": verdict.words})
    if not verdict.right:
        if as_json:
            click.get_current_context().exit(3)
        raise Refused("wrong_answer", verdict.words, fix=lesson.exercise.hint)
    if not as_json:
        click.echo(str(verdict))


def _write_notebook(lesson: Lesson, path: Path) -> None:
    from obverse.learn.page import notebook

    if path.suffix != ".ipynb":
        raise Refused("bad_output", "a notebook ends in .ipynb.", place=str(path))
    _write(notebook(lesson), path)


def _write_page(lessons: tuple[Lesson, ...], path: Path) -> None:
    from obverse.learn.page import page

    if path.suffix != ".html":
        raise Refused("bad_output", "a page ends in .html.", place=str(path))
    _write(page(lessons), path)


def _write(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Refused(
            "cannot_write", "the lesson cannot be written.", place=str(path), why=error.strerror or ""
        ) from None
    click.echo(f"wrote {path}")


def _wrapped(text: str) -> str:
    import textwrap

    return "\n".join(textwrap.fill(line, width() - 2) for line in text.splitlines())


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
