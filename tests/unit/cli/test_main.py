from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import Result

import obverse as package
from obverse.cli.commands.serve import needs_linux
from obverse.cli.errors import Verb, VerbGroup, foldable
from obverse.cli.main import VERBS, cli
from obverse.core.errors import Refused

Obverse = Callable[..., Result]
COUNT = "SELECT COUNT(*) AS n FROM people"


def in_shell(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it: stdout and stderr are pipes, so nobody is looking."""
    code = "from obverse.cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parent.parent)}
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=cwd, env=environment)


def test_help_lists_every_verb_with_the_words_of_its_own_help(obverse: Obverse) -> None:
    said = obverse("--help").stdout
    context = click.Context(cli, **cli.context_settings)
    for name, line in VERBS.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert command.help is not None
        assert command.help.strip().startswith(line.help)
        assert line.help in said


def test_every_verb_has_json_and_examples_or_verbs_below(obverse: Obverse) -> None:
    context = click.Context(cli, **cli.context_settings)
    for name in VERBS:
        command = cli.get_command(context, name)
        assert command is not None
        below = list(command.commands.values()) if isinstance(command, click.Group) else [command]
        for one in below:
            assert any("--json" in option.opts for option in one.params), f"{name} {one.name}"


def every_command(command: click.Command, *path: str) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command, **cli.context_settings)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every_command(below, *path, name)


def test_a_help_fits_a_terminal_of_80_columns_and_no_verb_is_cut_short() -> None:
    for path, command in every_command(cli, "obverse"):
        shown = command.get_help(click.Context(command, info_name=path, terminal_width=78, **cli.context_settings))
        usage, _, rest = shown.partition("\n\n")
        assert usage.startswith("Usage: ")
        assert [line for line in rest.split("\n") if len(line) > 80 or line.endswith("...")] == [], path


def test_every_verb_tells_its_errors_alike() -> None:
    """One that did not would print text where --json was asked for."""
    for path, command in every_command(cli, "obverse"):
        assert path == "obverse" or isinstance(command, Verb | VerbGroup), path


def test_a_long_example_goes_on_as_a_shell_reads_it() -> None:
    line = '    obverse ask --epsilon 0.5 --analyst ana "SELECT clinic, COUNT(*) FROM visits GROUP BY clinic"'
    first, second = foldable(line, 78).split("\n")
    assert (first, second.strip()) == ("    obverse ask --epsilon 0.5 --analyst ana \\", line.split("ana ")[1])
    assert foldable(line[:60], 78) == line[:60]


def test_sql_without_quotes_is_told_as_what_it_is(obverse: Obverse) -> None:
    said = obverse("ask", "SELECT", "COUNT(*)", "FROM", "people")
    assert (said.exit_code, "put it in quotes" in said.stderr) == (2, True)


def test_a_path_in_an_error_is_told_from_here(obverse: Obverse, project: Path) -> None:
    obverse("ask", COUNT)
    (project / "other.csv").write_text("person_id,age,sex,remark\n1,2,F,x\n", encoding="utf-8")
    file = project / "obverse.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('"people.csv"', '"other.csv"'), encoding="utf-8")
    said = obverse("ask", COUNT)
    assert "[ledger_taken]" in said.stderr
    assert str(project) not in said.stderr
    assert 'ledger = ".obverse/another.db"' in said.stderr


def test_the_version_is_the_packages(obverse: Obverse) -> None:
    assert obverse("--version").stdout == f"obverse {package.__version__}\n"


def test_an_unknown_verb_is_a_usage_error_that_names_the_nearest(obverse: Obverse) -> None:
    said = obverse("leger")
    assert said.exit_code == 2
    assert "Did you mean 'ledger'?" in said.stderr


def test_no_project_is_refused_with_what_to_do(obverse: Obverse, tmp_path: Path) -> None:
    said = obverse("ask", COUNT, "-p", str(tmp_path / "nowhere"))
    assert said.exit_code == 3
    assert "obverse demo" in said.stderr


@pytest.mark.parametrize(
    ("args", "code"), [(["ask", COUNT], 0), (["ask"], 3), (["ask", "x"], 3), (["bad"], 2), (["ask", "-x"], 2)]
)
def test_the_process_exits_with_the_code_and_writes_no_escapes(project: Path, args: list[str], code: int) -> None:
    said = in_shell(*args, cwd=project)
    assert said.returncode == code, said.stderr
    assert "\x1b" not in said.stdout + said.stderr
    assert "Traceback" not in said.stderr


def test_a_reader_that_goes_away_is_no_traceback(project: Path) -> None:
    code = "from obverse.cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parent.parent)}
    with subprocess.Popen(
        [sys.executable, "-c", code, "sql"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=project,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


def test_tables_shows_what_may_be_asked_and_hides_the_rest(obverse: Obverse, project: Path) -> None:
    said = obverse("tables").stdout
    assert "0 to 120" in said
    assert "F, M, X" in said
    assert "remark" not in said
    told = json.loads(obverse("tables", "--json").stdout)
    assert [table["name"] for table in told["tables"]] == ["people", "clinics"]
    assert not (project / ".obverse").exists()


def test_sql_lists_what_the_registries_hold(obverse: Obverse) -> None:
    from obverse.plan.aggregates import AGGREGATES
    from obverse.plan.functions import FUNCTIONS

    told = json.loads(obverse("sql", "--json").stdout)
    assert told["answered"]["aggregate"] == [aggregate.spoken for aggregate in AGGREGATES]
    assert {f.spoken for f in FUNCTIONS if f.spoken} <= set(told["answered"]["function"])
    said = obverse("sql").stdout
    assert "GROUP BY public keys" in said
    assert "window_function" in said


def test_schema_is_the_schema_of_the_catalog(obverse: Obverse) -> None:
    from obverse.catalog.keys import json_schema

    assert json.loads(obverse("schema").stdout) == json_schema()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_asks_us(obverse: Obverse, shell: str) -> None:
    assert "_OBVERSE_COMPLETE" in obverse("completion", shell).stdout


def test_completion_knows_the_verbs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_OBVERSE_COMPLETE": "bash_complete", "COMP_WORDS": "obverse le", "COMP_CWORD": "1"}.items():
        monkeypatch.setenv(name, value)
    assert "ledger" in in_shell(cwd=project).stdout


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_serve_refuses_other_systems_with_the_reason(platform: str) -> None:
    with pytest.raises(Refused) as refused:
        needs_linux(platform)
    assert refused.value.code == "serve_needs_linux"


def test_serve_runs_on_linux() -> None:
    needs_linux("linux")
