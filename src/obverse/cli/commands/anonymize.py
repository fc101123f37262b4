"""obverse anonymize: a table made k-anonymous, l-diverse or t-close; or checked as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from obverse.cli.errors import REFUSED, VerbGroup
from obverse.cli.options import QUASI, SENSITIVE, print_json, with_json
from obverse.cli.output.progress import progress
from obverse.cli.output.terminal import Heading, on_terminal, print_fact, print_table, shown

if TYPE_CHECKING:
    from obverse.review.tables import Reading

FILE = click.Path(path_type=Path)


class FileOrVerb(VerbGroup):
    """A file's name stands for `run FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=FileOrVerb)
def anonymize() -> None:
    """Make a table k-anonymous; show what still works against it.

    Also l-diverse, t-close, (alpha, k)-anonymous or delta-present; or released as a sample or without identifiers. None
    of it is differential privacy: it is the classic baseline, for comparison and for where rows are demanded.

    \b
    Example:
      obverse anonymize patients.csv --out release --quasi age,zip,sex --sensitive disease --k 5 --suppress 0.05
      obverse anonymize check release/table.csv --quasi age,zip,sex --sensitive disease --k 5
    """


def with_models(function: Any) -> Any:
    """Options that `run` and `check` share."""
    for option in (
        with_json,
        click.option(
            "--reason", default="", metavar="TEXT", help="With a project: why rows are read; sealed into its ledger."
        ),
        click.option(
            "-p", "--project", type=FILE, metavar="DIR", help="Of a project: FILE is then the name of its table."
        ),
        click.option(
            "--hierarchy", multiple=True, metavar="COLUMN=KIND", help="intervals:5,10;top=80, mask, dates or tree."
        ),
        click.option(
            "--hierarchies", type=FILE, metavar="FOLDER", help="COLUMN.csv: a value and its labels, a line each."
        ),
        click.option("--person", metavar="COLUMN", help="Of a file: whose a row is. Without it each row is a person."),
        click.option("--delimiter", metavar="SIGN", help="Of a CSV file; by its first line unless told."),
        click.option(
            "--population", type=FILE, metavar="FILE", help="A table of the population, with the quasi-identifiers."
        ),
        click.option(
            "--presence", metavar="LOW,HIGH", help="Share of the population's lookalikes that is in the table."
        ),
        click.option("--alpha", multiple=True, metavar="[COLUMN=]SHARE", help="Largest share of one value in a class."),
        click.option(
            "--t", multiple=True, metavar="[COLUMN=][KIND:]T", help="Closeness: equal, ordered or hierarchical:0.2."
        ),
        click.option(
            "--l", multiple=True, metavar="[COLUMN=][KIND:]L", help="Diversity: 3, entropy:2.5 or recursive:C,L."
        ),
        click.option("--k", type=int, help="Every row looks like k - 1 others."),
        click.option(*SENSITIVE, default="", metavar="COLUMNS", help="What must not become known of anybody."),
        click.option(
            *QUASI, default="", metavar="COLUMNS", help="Quasi-identifiers: what others may know of a person."
        ),
    ):
        function = option(function)
    return function


@anonymize.command()
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, required=True, metavar="FOLDER", help="Where table, manifest and report go.")
@with_models
@click.option(
    "--keep", default="", metavar="COLUMNS", help="Other columns to release as they are; the rest is left out."
)
@click.option(
    "--suppress", type=float, default=0.0, show_default=True, metavar="SHARE", help="Rows that may be left out."
)
@click.option("--search", type=click.Choice(["optimal", "mondrian"]), default="optimal", show_default=True,
              help="The best by the hierarchies, or splits by the values.")  # fmt: skip
@click.option("--loss", type=click.Choice(["columns", "discernibility"]), default="columns", show_default=True,
              help="What the optimal search minimises.")  # fmt: skip
@click.option("--sample", type=float, metavar="SHARE", help="First draw a uniform sample; alone, it is released raw.")
@click.option(
    "--deidentify", default="", metavar="COLUMNS", help="Drop direct identifiers; alone, all else is released raw."
)
@click.option("--pseudonymise", default="", metavar="COLUMNS", help="Replace direct identifiers by pseudonyms.")
@click.option("--manifest", type=FILE, metavar="FILE", help="Repeat a run: all settings come from its manifest.json.")
def run(file: Path, out: Path, **told: Any) -> None:
    """Anonymize FILE, CSV or Parquet, or a table of a project. `run` may be left out."""
    from obverse.anonymize.files import TABLES, Files, anonymize, manifest, written_to
    from obverse.review.tables import Reading, not_private, own_file, unit_of

    for name in TABLES:
        not_private(out / name)
    wish = manifest(told["manifest"]) if told["manifest"] is not None else _wish(told)
    written = dict(_pair(text) for text in told["hierarchy"])
    door = Reading("anonymize", told["project"], told["reason"])
    unit = unit_of(door, file, told["person"])
    if unit is None and told["manifest"] is None:
        wish = replace(wish, person=_person(door, file, told))
    population = None if told["population"] is None else own_file(told["population"])
    read = (*wish.quasi, *wish.sensitive, *wish.keep, *wish.deidentify, *wish.pseudonymise)
    with (
        door.file(file, tuple(dict.fromkeys(read)), unit=bool(unit and unit.named)) as path,
        progress("searching") as bar,
    ):
        files = Files(path, out, population, told["delimiter"], unit)
        table = written_to(files).name
        report = anonymize(files, wish, written, bar)
    if told["as_json"]:
        print_json(report)
        return
    print_fact("Claim", report["claim"]["sentence"])
    if "utility" in report:
        for label, part, names in (("Lost", "utility", ("suppressed", "average_class", "columns")),
                                   ("Risk", "risk", ("prosecutor", "marketer"))):  # fmt: skip
            print_fact(label, " ".join(report[part]["sentences"][name] for name in names))
    if report["left_out"]:
        print_fact("Left out", f"columns {', '.join(report['left_out'])}")
    print_fact("Written", f"{out}: {table}, report.html, report.json; manifest.json is for you alone")


@anonymize.command()
@click.argument("file", type=FILE)
@with_models
@click.pass_context
def check(ctx: click.Context, /, file: Path, **told: Any) -> None:
    """What FILE reaches as it is: k, l, t, risk, attacks. Exit code 3 when it misses what is demanded."""
    from obverse.anonymize.files import Checked
    from obverse.anonymize.files import check as checked
    from obverse.review.tables import Reading, own_file, unit_of

    if not _names(told["quasi"]):
        raise click.UsageError("name the quasi-identifiers: --quasi age,zip,sex")
    demands = _wish(told) if any(told[name] for name in ("k", "l", "t", "alpha", "presence")) else None
    quasi = _names(told["quasi"])
    sensitive = _names(told["sensitive"])
    written = dict(_pair(text) for text in told["hierarchy"])
    door = Reading("anonymize check", told["project"], told["reason"])
    unit = unit_of(door, file, told["person"])
    person = None if unit is not None else _person(door, file, told)
    asked = Checked(quasi, sensitive, demands, _recipes(told["hierarchies"], sensitive), written, person, unit)
    population = None if told["population"] is None else own_file(told["population"])
    with door.file(file, (*quasi, *sensitive), unit=bool(unit and unit.named)) as path:
        report = checked(path, asked, population, told["delimiter"])
    if told["as_json"]:
        print_json(report)
    else:
        _print(report)
    if not report.get("holds", True):
        ctx.exit(REFUSED)


def _person(door: Reading, file: Path, told: dict[str, Any]) -> str | None:
    """The column that says whose a row is: as it was named, or as somebody at a terminal answers."""
    from obverse.engines.collapse import Workshop
    from obverse.review.tables import own_file

    if told["person"] or told["as_json"] or door.names(file) or not (on_terminal("stdin") and on_terminal("stderr")):
        return told["person"] or None
    with Workshop(own_file(file), told["delimiter"]) as shop:
        columns = shop.columns
    click.echo(f"Which column says whose a row is? Columns: {', '.join(map(shown, columns))}", err=True)
    answer: str = click.prompt(
        "Column, or Enter where each row is another person", default="", show_default=False, err=True
    )
    return answer.strip() or None


def _recipes(folder: Path | None, named: tuple[str, ...]) -> dict[str, Any]:
    """Hierarchies of a folder, of these columns."""
    from obverse.anonymize.files import hierarchy_files

    return {name: one for name, one in hierarchy_files(folder).items() if name in named} if folder else {}


def _wish(told: dict[str, Any]) -> Any:
    from obverse.anonymize.request import Wish

    lists: dict[str, Any] = {
        name: _names(told[name])
        for name in ("quasi", "sensitive", "keep", "deidentify", "pseudonymise")
        if name in told
    }
    plain = {
        name: told[name]
        for name in ("k", "l", "t", "alpha", "presence", "suppress", "search", "loss", "sample")
        if name in told
    }
    named = (*lists["quasi"], *lists["sensitive"])
    return Wish(**lists, **plain, hierarchies=_recipes(told["hierarchies"], named))


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _pair(text: str) -> tuple[str, str]:
    column, equals, kind = text.partition("=")
    if not equals:
        raise click.UsageError("write --hierarchy COLUMN=KIND.")
    return column, kind


def _print(report: dict[str, Any]) -> None:
    reaches = report["reaches"]
    print_fact("Rows", f"{report['rows']:,} in {reaches['classes']:,} classes; k = {reaches['k']:,}")
    print_fact("Counted", report["counted"]["sentence"])
    if "presence" in reaches:
        print_fact("Presence", "between {:.3g} and {:.3g}".format(*reaches["presence"]))
    names = {"distinct_l": "distinct l", "entropy_l": "entropy l", "recursive_c": "c at l = 2", "t_equal": "t equal",
             "t_ordered": "t ordered", "alpha": "alpha"}  # fmt: skip
    if any("t_hierarchical" in found for found in reaches["sensitive"].values()):
        names["t_hierarchical"] = "t hierarchical"
    rows = [[column, *("-" if found.get(name) is None else f"{found[name]:.4g}" for name in names)]
            for column, found in reaches["sensitive"].items()]  # fmt: skip
    if rows:
        print_table([Heading("sensitive"), *(Heading(title, "right") for title in names.values())], rows)
    for sentence in report["risk"]["sentences"].values():
        if sentence:
            print_fact("Risk", sentence)
    for one in report["attacks"]:
        print_fact("Attack" if one["works"] else "", one["sentence"], colour="red")
    for words, holds in report.get("demands", {}).items():
        print_fact("Holds" if holds else "Fails", words, colour="green" if holds else "red")
