"""Answers: rows with intervals, bytes that come back, frames, HTML and bars."""

from __future__ import annotations

import builtins
import datetime as dt
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from obverse.answers.answer import Answer, ColumnInfo, Price, Remaining
from obverse.answers.frames import ROWS_SHOWN
from obverse.core.claim import PUBLIC, Claim
from obverse.core.errors import Refused
from obverse.core.types import Type

CLAIM = Claim(
    "one row", "add-remove", "0.1", "0", ("discrete_laplace",), "", "", "", "receipt", "Protects <b>one</b> row."
)
LEFT = Remaining(0.9, "0.9", 9)
COLUMNS = (
    ColumnInfo("sex", Type.TEXT, "key"),
    ColumnInfo("day", Type.DATE, "key"),
    ColumnInfo("n", Type.INTEGER, "value"),
    ColumnInfo("mean", Type.DOUBLE, "value"),
    ColumnInfo("many", Type.BOOLEAN, "value"),
)
ROWS = (("F", dt.date(2020, 1, 1), 12, 1.5, True), (None, dt.date(2020, 1, 2), -3, None, False))
BARS = ((None, None, (10, 14), (1.0, 2.0), None), (None, None, (-5, -1), None, None))


def answer(**changed: Any) -> Answer:
    made = Answer(COLUMNS, ROWS, BARS, 0.95, CLAIM, Price("0.1", "0", 0.1, False), LEFT, "scan t")
    return replace(made, **changed)


def cell(value: Any, kind: Type, bar: Any, name: str = "n") -> Answer:
    return answer(columns=(ColumnInfo(name, kind, "value"),), rows=((value,),), intervals=((bar,),))


def test_bytes_come_back_as_the_same_answer() -> None:
    moment = cell(dt.datetime(2020, 1, 1, 10, 30), Type.TIMESTAMP, None)
    for made in (answer(), moment, cell(5.0, Type.DOUBLE, (4.0, 6.0))):
        again = Answer.from_bytes(made.to_bytes(), LEFT)
        assert again == made
        assert again.to_bytes() == made.to_bytes()


def test_what_is_left_is_told_anew_and_not_stored() -> None:
    assert answer().to_bytes() == answer(remaining=Remaining(0.0, "0", 0)).to_bytes()
    assert b"remaining" not in answer().to_bytes()
    assert answer().as_json()["remaining"] == {"share": 0.9, "epsilon": "0.9", "like_this": 9}


def test_rows_columns_and_cells_are_read_plainly() -> None:
    assert list(answer()) == list(ROWS)
    assert answer()["n"] == ([12, -3], [10, -5], [14, -1])
    assert answer()["mean"].low == [1.0, None]
    one = cell(7, Type.INTEGER, (5, 9))
    assert (one.value, one.low, one.high) == (7, 5, 9)
    assert cell(True, Type.BOOLEAN, None).low is None


def test_more_than_one_cell_has_no_value() -> None:
    for read in ("value", "low", "high"):
        with pytest.raises(Refused) as refused:
            getattr(answer(), read)
        assert refused.value.code == "not_scalar"
    with pytest.raises(KeyError):
        answer()["nothing"]


def test_a_pandas_frame_has_the_interval_beside_each_value() -> None:
    frame = answer().to_pandas()
    assert list(frame.columns) == ["sex", "day", "n", "n_low", "n_high", "mean", "mean_low", "mean_high", "many"]
    assert list(frame["n_low"]) == [10, -5]
    assert (str(frame["n"].dtype), str(frame["mean"].dtype), frame["day"].dt.year.tolist()) == (
        "int64",
        "float64",
        [2020, 2020],
    )
    assert frame["sex"].isna().tolist() == [False, True]
    assert frame.attrs["obverse"]["claim"]["epsilon"] == "0.1"


def test_an_arrow_table_carries_the_claim_and_streams() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = answer().to_arrow()
    assert [str(t) for t in table.schema.types[:4]] == ["string", "date32[day]", "int64", "int64"]
    assert b"discrete_laplace" in table.schema.metadata[b"obverse"]
    assert pyarrow.table(answer()).num_rows == 2


def test_a_polars_frame_has_the_same_columns() -> None:
    polars = pytest.importorskip("polars")
    frame = answer().to_polars()
    assert frame.schema["day"] == polars.Date
    assert frame["mean"].to_list() == [1.5, None]
    assert frame.columns == list(answer().to_pandas().columns)


def test_names_that_stand_twice_are_numbered_in_frames() -> None:
    twice = answer(
        columns=(ColumnInfo("n", Type.INTEGER, "value"),) * 2, rows=((1, 2),), intervals=(((0, 2), (1, 3)),)
    )  # fmt: skip
    assert twice.to_polars().columns == ["n", "n_low", "n_high", "n_2", "n_low_2", "n_high_2"]


@pytest.mark.parametrize(
    "made", [answer(rows=(), intervals=()), cell(None, Type.INTEGER, None), cell(None, Type.TEXT, None)]
)
def test_frames_of_no_rows_and_of_nulls_keep_their_types(made: Answer) -> None:
    assert len(made.to_pandas()) == made.to_polars().height == made.to_arrow().num_rows == len(made.rows)


@pytest.mark.parametrize(
    ("call", "module", "extra"),
    [
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
        ("to_arrow", "pyarrow", "arrow"),
        ("plot", "altair", "plot"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, call: str, module: str, extra: str
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **named: Any) -> Any:
        if name.partition(".")[0] == module:
            raise ImportError(name)
        return real(name, *args, **named)

    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr("importlib.import_module", lambda name: without(name))
    with pytest.raises(Refused) as refused:
        getattr(answer(), call)()
    assert refused.value.code == "missing_extra"
    assert refused.value.fix == f"pip install 'obverse[{extra}]'"


def test_importing_an_answer_loads_no_extra() -> None:
    code = (
        "import sys, obverse.answers.answer; "
        "print([m for m in ('numpy', 'pandas', 'polars', 'pyarrow', 'altair', 'duckdb', 'sqlglot') if m in "
        "sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_html_shows_intervals_price_and_claim_and_escapes_all_of_it() -> None:
    hostile = "<script>alert(1)</script>"
    html = cell(hostile, Type.TEXT, None, name=hostile)._repr_html_() + answer()._repr_html_()
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 2
    assert "Protects &lt;b&gt;one&lt;/b&gt; row." in html
    assert "12 <small>[10, 14]</small>" in html
    assert "price: epsilon 0.1" in html
    assert "95 % noise interval" in html
    assert "90.0 % of the budget" in html


def test_printed_it_is_a_table_with_intervals_and_price_and_nothing_a_terminal_obeys() -> None:
    printed = str(answer())
    assert "12 [10, 14]" in printed
    assert printed.endswith("95 % noise interval in brackets; price: epsilon 0.1; left: 90.0 % of the budget")
    assert "\x1b" not in str(cell("\x1b[31m", Type.TEXT, None, name="a\nb"))


def test_html_of_a_long_answer_is_cut_and_says_so() -> None:
    rows = tuple((i,) for i in range(ROWS_SHOWN + 5))
    long = answer(columns=(ColumnInfo("n", Type.INTEGER, "value"),), rows=rows, intervals=((None,),) * len(rows))
    assert "and 5 more rows" in long._repr_html_()
    assert long._repr_html_().count("<tr>") == ROWS_SHOWN + 1


def test_bars_have_keys_values_intervals_and_the_price() -> None:
    pytest.importorskip("altair")
    chart = answer().plot().to_dict()
    bar, rule, low, high = chart["layer"]
    assert [r["key"] for r in chart["data"]["values"]] == ["F · 2020-01-01", "NULL · 2020-01-02"]
    assert [(r["value"], r["low"], r["high"]) for r in chart["data"]["values"]] == [(12, 10, 14), (-3, -5, -1)]
    assert (bar["encoding"]["y"]["title"], bar["encoding"]["x"]["title"]) == ("n", "sex, day")
    assert (rule["encoding"]["y"]["field"], rule["encoding"]["y2"]["field"]) == ("low", "high")
    assert (low["encoding"]["y"]["field"], high["encoding"]["y"]["field"]) == ("low", "high")
    assert chart["title"]["text"] == "n by sex, day"
    assert chart["title"]["subtitle"] == "with 95 % noise intervals; price: epsilon 0.1"


def test_bars_of_an_exact_answer_have_no_whiskers() -> None:
    pytest.importorskip("altair")
    public = answer(
        columns=(ColumnInfo("city", Type.TEXT, "value"), ColumnInfo("n", Type.INTEGER, "value")),
        rows=(("X", 3), ("Y", 4)),
        intervals=((None, None),) * 2,
        level=1.0,
        claim=PUBLIC,
        price=Price("0", "0", 0.0, False),
    )
    chart = public.plot().to_dict()
    assert len(chart["layer"]) == 1
    assert chart["title"]["subtitle"] == "exact; price: free"


def test_names_in_a_question_are_no_grammar_of_the_chart() -> None:
    pytest.importorskip("altair")
    chart = cell(3, Type.INTEGER, (1, 5), name="a:Q.b[0]\\").plot().to_dict()
    assert chart["layer"][0]["encoding"]["y"]["title"] == "a:Q.b[0]\\"


def test_what_has_no_numbers_or_too_many_rows_is_not_drawn() -> None:
    pytest.importorskip("altair")
    many = answer(columns=COLUMNS[2:3], rows=((1,),) * 500, intervals=((None,),) * 500)
    for made in (cell(True, Type.BOOLEAN, None), answer(rows=(), intervals=()), many):
        with pytest.raises(Refused) as refused:
            made.plot()
        assert refused.value.code == "not_plottable"


def test_bars_are_saved_as_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    file = tmp_path / "bars.png"
    answer().plot().save(file)
    picture = file.read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 3_000
