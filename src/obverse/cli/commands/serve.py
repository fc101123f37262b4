"""obverse serve: projects for analysts who are not trusted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from obverse.cli.errors import REFUSED, Verb
from obverse.cli.options import print_json, with_json
from obverse.cli.output.terminal import print_fact
from obverse.core.errors import ObverseError, Refused

if TYPE_CHECKING:
    from obverse.server.preflight import Line
    from obverse.server.run import Settings, Started


@click.command(cls=Verb)
@click.argument("projects", nargs=-1, type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port of HTTP; 0: any.")
@click.option(
    "--pg-port", type=click.IntRange(0, 65535), default=5433, show_default=True, help="Port of the PostgreSQL wire."
)
@click.option("--no-pg", is_flag=True, help="Serve HTTP alone.")
@click.option("--tls-cert", type=click.Path(path_type=Path), metavar="FILE", help="Certificate chain, as PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="Its private key, as PEM.")
@click.option(
    "--behind-proxy", default="", metavar="ADDRESS", help="A proxy that speaks TLS; its X-Forwarded-For counts."
)
@click.option("--check", is_flag=True, help="Open everything, say what was found, and stop.")
@with_json
def serve(
    projects: tuple[Path, ...],
    host: str,
    port: int,
    pg_port: int,
    no_pg: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: str,
    check: bool,
    as_json: bool,
) -> None:
    """Serve untrusted analysts over HTTP and the PostgreSQL wire.

    In process, whoever can run Obverse can read the files. A service is the boundary: analysts reach it over HTTP and
    the PostgreSQL wire with tokens (`obverse account add`), and only noisy values leave the process that reads rows.

    \b
    Examples:
      obverse serve hospital
      obverse serve hospital census --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
      obverse serve hospital --check
    """
    needs_linux(sys.platform)
    from obverse.server.run import Settings, run

    settings = Settings(host, port, None if no_pg else pg_port, tls_cert, tls_key, behind_proxy)
    folders = projects or (Path("."),)
    if check:
        _check(folders, settings, as_json)
        return
    run(folders, settings, lambda started: _tell(started, settings, as_json))


def needs_linux(platform: str) -> None:
    if not platform.startswith("linux"):
        raise Refused(
            "serve_needs_linux",
            "`serve` runs on Linux only.",
            why="it keeps rows in a separate process, with isolation that only Linux offers here.",
            fix="use a Linux machine or container; everything else runs here.",
        )


def _tell(started: Started, settings: Settings, as_json: bool) -> None:
    if as_json:
        told = {"http": started.address, "postgres": started.wire or None, "projects": list(started.projects)}
        print_json({"version": 1, **told})
    else:
        wire = f"   postgres {started.wire} ({'TLS, ' if settings.tls else ''}SCRAM)" if started.wire else ""
        click.echo(f"http {started.address}{wire}   projects {', '.join(started.projects)}")
    sys.stdout.flush()


def _check(folders: tuple[Path, ...], settings: Settings, as_json: bool) -> None:
    """Everything opened and told; exit code 3 where it would not serve."""
    from obverse.server import preflight as checking
    from obverse.server.run import checked, opened

    found: list[tuple[str, Line]] = [("", line) for line in checking.locks()]
    try:
        checked(settings)
        words = "on" if settings.tls else "at the proxy" if settings.proxies else "off, for this machine alone"
        found.append(("", checking.Line("TLS", words)))
    except ObverseError as error:
        found.append(("", checking.Line("TLS", checking.full_text(error), False)))
    names: list[str] = []
    for folder in folders:
        try:
            with opened([folder], names) as hosts:
                names.append(hosts[0].name)
                found += [(hosts[0].name, line) for line in checking.project(hosts[0])]
        except ObverseError as error:
            # what strangers are not told
            wrong = error.__cause__ if isinstance(error.__cause__, ObverseError) else error
            found.append((str(folder), checking.Line("Project", checking.full_text(wrong), False)))
    _print_check(found, as_json)
    if any(line.fine is False for _, line in found):
        click.get_current_context().exit(REFUSED)


def _print_check(found: list[tuple[str, Line]], as_json: bool) -> None:
    if as_json:
        lines = [{"project": name, "name": line.name, "text": line.text, "fine": line.fine} for name, line in found]
        print_json({"version": 1, "checks": lines})
        return
    shown = None
    for name, line in found:
        if name != shown:
            click.echo(f"\n{name}" if name else "This machine")
            shown = name
        mark = {True: "ok", False: "no", None: "hint"}[line.fine]
        print_fact(line.name, f"{mark}: {line.text}")
