"""Questions to be audited: sets from files, and SQL over public columns, each refused where it is something else."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.core.errors import Refused
from obverse.review import audit
from obverse.review.audit import questions_of, read_questions, read_sets

STAFF = "name,age,team\nann,34,x\nbob,36,x\ncid,41,y\ndee,58,y\n"


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text(STAFF)
    return tmp_path / "staff.csv"


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_sql_becomes_the_rows_that_it_adds_up(staff: Path) -> None:
    asked = [("SELECT SUM(salary) FROM Employees WHERE age > 35", 7), ("SELECT SUM(e.salary) FROM staff AS e", None)]
    found = questions_of(asked, staff, "salary", "name")
    assert [one.of for one in found.sums] == [frozenset((1, 2, 3)), frozenset(range(4))]
    assert [one.answer for one in found.sums] == [7, None]
    assert found.secrets == ("ann", "bob", "cid", "dee")


def test_groups_are_questions_of_their_own(staff: Path) -> None:
    found = questions_of([("SELECT team, SUM(salary) FROM t GROUP BY team", [3, 4.5])], staff, "salary")
    assert [(one.of, one.answer) for one in found.sums] == [(frozenset((0, 1)), 3), (frozenset((2, 3)), Fraction(9, 2))]
    assert found.asked[0].endswith("[x]")
    assert questions_of([("SELECT SUM(salary) FROM t WHERE age > 99", 0)], staff, "salary").sums[0].of == frozenset()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(age) FROM t",
        "SELECT SUM(salary), SUM(salary) FROM t",
        "SELECT SUM(salary) FROM t WHERE salary > 3",
        "SELECT SUM(salary) FROM t, u",
        "SELECT SUM(salary) FROM t WHERE age > (SELECT MAX(age) FROM u)",
        "SELECT SUM(salary) FROM t LIMIT 1",
        "SELECT SUM(salary) FROM t GROUP BY salary",
        "SELECT AVG(salary) FROM t",
    ],
)
def test_what_is_no_plain_sum_over_public_conditions_is_refused(sql: str, staff: Path) -> None:
    with pytest.raises(Refused) as refused:
        questions_of([(sql, None)], staff, "salary")
    assert refused.value.code == "not_a_subset_sum"


def test_files_of_sql_with_and_without_sums(staff: Path, tmp_path: Path) -> None:
    plain = written(tmp_path, "asked.sql", "SELECT SUM(s) FROM t;\nSELECT SUM(s) FROM t WHERE team = 'x';\n")
    assert [len(one.of) for one in read_questions(plain, staff, "s", None).sums] == [4, 2]
    listed = written(tmp_path, "asked.json", json.dumps([{"sql": "SELECT SUM(s) FROM t", "sum": 2}]))
    assert read_questions(listed, staff, "s", None).sums[0].answer == 2


def test_sets_come_by_number_or_by_name_in_json_or_csv(tmp_path: Path) -> None:
    numbered = written(tmp_path, "a.json", '{"secrets": 5, "questions": [{"set": [0, 3], "sum": 1}]}')
    assert read_sets(numbered).secrets == tuple("01234")
    bare = written(tmp_path, "b.json", '[{"set": [2]}]')
    assert (len(read_sets(bare).secrets), read_sets(bare).sums[0].answer) == (3, None)
    named = written(tmp_path, "c.csv", "set,sum\nann bob,1\nbob cid,2\n")
    found = read_sets(named)
    assert found.secrets == ("ann", "bob", "cid")
    assert [(sorted(one.of), one.answer) for one in found.sums] == [([0, 1], 1), ([1, 2], 2)]
    assert found.asked == ("{ann, bob}", "{bob, cid}")


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "{}",
        '[{"set": [0, 0, 1], "sum": 2}]',
        '[{"set": 3}]',
        '[{"set": [1], "sum": "x"}]',
        '{"secrets": ["a"], "questions": [{"set": ["b"]}]}',
    ],
)
def test_files_of_another_form_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        read_sets(written(tmp_path, "a.json", text))
    assert refused.value.code == "bad_sums"


def test_files_that_are_not_there_and_sums_that_do_not_match_are_refused(staff: Path, tmp_path: Path) -> None:
    for call in (
        lambda: read_sets(tmp_path / "none.json"),
        lambda: read_questions(written(tmp_path, "q.json", '[{"set": []}]'), staff, "s", None),
        lambda: questions_of([("SELECT team, SUM(s) FROM t GROUP BY team", [1])], staff, "s"),
    ):
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.code == "bad_sums"


def test_more_than_is_read_is_refused_and_not_cut_off(
    staff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is cut off, or rows without numbers, would make answered questions look as if they had not been
    asked.
    """
    monkeypatch.setattr(audit, "SECRETS_MAX", 3)
    asked = [("SELECT SUM(salary) FROM t", 1)]
    calls = [
        lambda: questions_of(asked, staff, "salary"),
        lambda: read_sets(written(tmp_path, "a.json", '[{"set": ["a", "b", "c", "d"], "sum": 1}]')),
        lambda: read_sets(written(tmp_path, "b.json", '{"secrets": ["a", "b", "c", "d"], "questions": []}')),
    ]
    for call in calls:
        with pytest.raises(Refused, match="between 1 and 3 secrets") as refused:
            call()
        assert refused.value.code == "bad_sums"
    monkeypatch.setattr(audit, "BYTES_MAX", 20)
    with pytest.raises(Refused, match="larger than 20 bytes"):
        read_sets(written(tmp_path, "long.csv", "set,sum\n0 1,2\n1 2,1\n0,1\n"))
