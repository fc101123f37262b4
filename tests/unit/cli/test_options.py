from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from obverse.cli.options import Range


@click.command()
@click.option("--share", type=Range(0, 1))
@click.option("--scale", type=Range(0))
def ranged(share: float | None, scale: float | None) -> None:
    click.echo(f"{share} {scale}")


ODD = [("--share", "nan"), ("--share", "1.5"), ("--scale", "inf"), ("--scale", "NaN"), ("--scale", "-1")]


@pytest.mark.parametrize("told", ODD)
def test_what_is_no_number_lies_in_no_range(told: tuple[str, str]) -> None:
    assert CliRunner().invoke(ranged, told).exit_code == 2


def test_numbers_of_a_range_are_taken() -> None:
    assert CliRunner().invoke(ranged, ["--share", "0.5", "--scale", "1e3"]).output == "0.5 1000.0\n"
