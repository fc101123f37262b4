"""SELECT WITH DIFFERENTIAL_PRIVACY: read strictly, blanked out of the text, and refused where the project says
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from obverse.core.errors import Refused
from obverse.plan.query import Question
from obverse.plan.relation import Filter, Mark, Reduce, Trim
from obverse.sql.google.parse import read_clause

Read = Callable[[str], Question]
Refusal = Callable[[str], Refused]

HEAD = "SELECT WITH DIFFERENTIAL_PRIVACY "


def asked(options: str, rest: str = "COUNT(*) FROM visits") -> str:
    return f"{HEAD}OPTIONS({options}) {rest}"


def test_a_question_without_the_clause_is_left_as_it_is() -> None:
    for text in (
        "SELECT COUNT(*) FROM t",
        "SELECT 'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1)' FROM t",
        "SELECT COUNT(*) FROM t -- SELECT WITH DIFFERENTIAL_PRIVACY",
        "SELECT differential_privacy FROM t",
    ):
        assert read_clause(text) == (None, text)


def test_the_text_keeps_its_length_and_its_lines() -> None:
    text = (
        "SELECT WITH DIFFERENTIAL_PRIVACY -- options\n OPTIONS(epsilon=.5,\n delta=1e-6) /* x */ "
        "SUM(x,\n contribution_bounds_per_group => (-1, 2.5)), COUNT(* , contribution_bounds_per_group=>(0,3)) FROM t"
    )
    clause, plain = read_clause(text)
    assert clause is not None
    assert len(plain) == len(text)
    assert plain.count("\n") == text.count("\n")
    assert plain.split() == "SELECT /* x */ SUM(x ), COUNT(* ) FROM t".split()
    assert (clause.epsilon, clause.delta) == (Fraction(1, 2), Fraction(1, 10**6))
    assert [(b.lo, b.hi, b.per_row) for b in clause.bounds.values()] == [(-1, 2.5, False), (0, 3, False)]
    assert list(clause.bounds) == [text.index("SUM"), text.index("COUNT")]


def test_every_option_is_read_whatever_its_case() -> None:
    clause, _ = read_clause(
        asked(
            'EPSILON = 2, delta=0, Max_Groups_Contributed=3, privacy_unit_column=v."id", '
            "min_privacy_units_per_group=7,"
            " group_selection_strategy = laplace_threshold"
        )
    )
    assert clause is not None
    assert (clause.epsilon, clause.delta, clause.max_groups_contributed) == (2, 0, 3)
    assert clause.privacy_unit_column is not None
    assert clause.privacy_unit_column.sql() == 'v."id"'
    assert clause.min_privacy_units_per_group == 7
    assert not clause.public
    assert read_clause(HEAD + "COUNT(*) FROM t")[0] is not None


@pytest.mark.parametrize(
    ("sql", "underlined"),
    [
        (asked("epsilon=1, kappa=2"), "kappa"),
        (asked("epsilon=1, Epsilon=1"), "Epsilon"),
        (asked("epsilon"), "epsilon"),
        (asked("epsilon=1,"), ","),
        (asked("epsilon=1,,delta=1e-6"), ","),
        (asked("epsilon='1'"), "epsilon='1'"),
        (asked("epsilon=1e20"), "epsilon=1e20"),
        (asked("epsilon=1e999"), "1e999"),
        (asked("epsilon=0"), "epsilon=0"),
        (asked("epsilon=1+1"), "epsilon=1+1"),
        (asked("delta=-1e-6"), "delta=-1e-6"),
        (asked("delta=1"), "delta=1"),
        (asked("max_groups_contributed=0"), "max_groups_contributed=0"),
        (asked("max_groups_contributed=1.5"), "max_groups_contributed=1.5"),
        (asked("max_groups_contributed=NULL"), "max_groups_contributed=NULL"),
        (asked("max_groups_contributed=1, max_rows_contributed=1"), "max_rows_contributed=1"),
        (asked("privacy_unit_column='person_id'"), "privacy_unit_column='person_id'"),
        (asked("privacy_unit_column=a.b.c"), "privacy_unit_column=a.b.c"),
        (asked("group_selection_strategy=ALL"), "group_selection_strategy=ALL"),
        (asked("min_privacy_units_per_group=0"), "min_privacy_units_per_group=0"),
        (
            asked("group_selection_strategy=PUBLIC_GROUPS, min_privacy_units_per_group=5"),
            "min_privacy_units_per_group=5",
        ),
        (HEAD + "OPTIONS COUNT(*) FROM visits", "OPTIONS"),
        (
            "SELECT SUM(cost, contribution_bounds_per_group=>(0, 1)) FROM visits",
            "contribution_bounds_per_group=>(0, 1)",
        ),
        (HEAD + "SUM(cost, contribution_bounds_per_group=>(1, 0)) FROM visits", "contribution_bounds_per_group"),
        (HEAD + "SUM(cost, contribution_bounds_per_group=>(0)) FROM visits", "contribution_bounds_per_group"),
        (HEAD + "SUM(cost, contribution_bounds_per_group=>(0, cost)) FROM visits", "contribution_bounds_per_group"),
        (HEAD + "SUM(cost, contribution_bounds_per_group=>0) FROM visits", "contribution_bounds_per_group"),
        (HEAD + "SUM(contribution_bounds_per_group=>(0, 1)) FROM visits", "contribution_bounds_per_group"),
        (HEAD + "SUM(cost, epsilon=>1) FROM visits", "epsilon"),
        (
            HEAD + "SUM(cost, contribution_bounds_per_group=>(0, 1), contribution_bounds_per_row=>(0, 1)) FROM visits",
            "contribution_bounds_per_row",
        ),
    ],
)
def test_what_is_not_so_documented_is_refused_and_underlined(sql: str, underlined: str, refusal: Refusal) -> None:
    refused = refusal(sql)
    assert refused.code == "bad_parameter"
    assert refused.span is not None
    assert sql[refused.span.start : refused.span.end] == underlined
    assert refused.fix


def test_limits_stay_under_the_projects_caps(refusal: Refusal, read: Read) -> None:
    for option, most in (("max_groups_contributed", 5), ("max_rows_contributed", 20)):
        read(asked(f"{option}={most}"))
        refused = refusal(asked(f"{option}={most + 1}"))
        assert refused.code == "bad_parameter"
        assert f"{option} = {most}" in refused.fix


def test_the_unit_named_is_the_declared_one(refusal: Refusal, read: Read) -> None:
    for column in ("person_id", "visits.person_id", "Person_Id"):
        read(asked(f"privacy_unit_column={column}"))
    read(asked("privacy_unit_column=v.person_id", "COUNT(*) FROM visits v JOIN people p ON p.person_id = v.person_id"))
    read(asked("privacy_unit_column=who", "COUNT(*) FROM (SELECT person_id AS who FROM visits) AS t"))
    assert refusal(asked("privacy_unit_column=clinic")).code == "privacy_unit"
    assert refusal(asked("privacy_unit_column=nobody")).code == "column_not_declared"
    assert refusal(
        asked("privacy_unit_column=who", "COUNT(*) FROM (SELECT person_id + 1 AS who FROM visits) AS t")
    ).code == ("privacy_unit")


def test_the_clause_stands_in_the_outermost_select_alone(refusal: Refusal, read: Read) -> None:
    inner = asked("epsilon=1", "person_id, COUNT(*) AS n FROM visits GROUP BY person_id")
    for sql in (
        f"SELECT SUM(n) FROM ({inner}) AS t",
        f"WITH t AS ({inner}) SELECT SUM(n) FROM t",
        f"{HEAD}SUM(n) FROM ({inner}) AS t",
        f"{HEAD}COUNT(*) FROM visits UNION ALL {HEAD}COUNT(*) FROM visits",
    ):
        assert refusal(sql).code == "unsupported_construct"
    read(f"WITH t AS (SELECT * FROM visits) {HEAD}COUNT(*) FROM t")
    bounds = "SELECT person_id, SUM(cost, contribution_bounds_per_group=>(0, 1)) AS n FROM visits GROUP BY person_id"
    assert refusal(f"{HEAD}SUM(n) FROM ({bounds}) AS t").code == "bad_parameter"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        (HEAD + "MAX(cost) FROM visits", "unsupported_construct"),
        (HEAD + "COUNT(DISTINCT clinic) FROM visits", "unsupported_construct"),
        (
            HEAD + "COUNT(DISTINCT person_id, contribution_bounds_per_group=>(0, 1)) FROM visits",
            "unsupported_construct",
        ),
        (HEAD + "clinic, COUNT(*) FROM visits GROUP BY ROLLUP (clinic)", "unsupported_construct"),
        (
            asked("group_selection_strategy=PUBLIC_GROUPS", "clinic, COUNT(*) FROM visits GROUP BY CUBE (clinic)"),
            "unsupported_construct",
        ),
        (HEAD + "SUM(cost), VAR_POP(cost) FROM visits", "unsupported_construct"),
        (HEAD + "DISTINCT clinic FROM visits", "not_aggregate"),
        (HEAD + "person_id, COUNT(*) FROM visits GROUP BY person_id", "privacy_id_in_output"),
        (HEAD + "COUNT(*) FROM clinics", "bad_parameter"),
        (
            asked("group_selection_strategy=PUBLIC_GROUPS", "name, COUNT(*) FROM people GROUP BY name"),
            "keys_not_public",
        ),
        (
            HEAD + "PERCENTILE_CONT(d, 0.5) FROM (SELECT person_id, CAST(name AS DATE) AS d FROM people) AS t",
            "no_bounds",
        ),
        (HEAD + "PERCENTILE_CONT(cost, 0.5, contribution_bounds_per_group=>(0, 1)) FROM visits", "bad_parameter"),
        (HEAD + "COUNT(cost, contribution_bounds_per_row=>(0, 1)) FROM visits", "bad_parameter"),
        (
            asked("max_rows_contributed=2", "SUM(cost, contribution_bounds_per_group=>(0, 1)) FROM visits"),
            "bad_parameter",
        ),
    ],
)
def test_what_has_no_meaning_under_the_clause_is_refused(sql: str, code: str, refusal: Refusal) -> None:
    refused = refusal(sql)
    assert refused.code == code
    assert refused.fix


def test_a_units_rows_are_gathered_by_group_and_its_groups_chosen(read: Read) -> None:
    found = read(asked("max_groups_contributed=2", "clinic, SUM(cost), COUNT(*) FROM visits GROUP BY clinic"))
    assert isinstance(found.relation, Trim)
    assert found.relation.rows == 2
    assert isinstance(found.relation.child, Reduce)
    assert [fold.kind for fold in found.relation.child.folds] == ["sum", "count"]
    assert [(call.function, call.spoken) for call in found.aggregates] == [("sum", "SUM(cost)"), ("sum", "COUNT(*)")]
    assert [key.domain for key in found.keys] == [None]
    default = read(HEAD + "clinic, COUNT(*) FROM visits GROUP BY clinic")
    assert isinstance(default.relation, Trim)
    assert default.relation.rows == 1


def test_rows_are_chosen_where_rows_are_limited(read: Read) -> None:
    found = read(asked("max_rows_contributed=2", "clinic, SUM(cost), VAR_POP(cost) FROM visits GROUP BY clinic"))
    assert isinstance(found.relation, Trim)
    assert found.relation.rows == 2
    assert [call.function for call in found.aggregates] == ["sum", "var_pop"]


def test_percentiles_read_the_rows_of_the_chosen_groups(read: Read) -> None:
    found = read(asked("max_groups_contributed=2", "clinic, PERCENTILE_CONT(cost, 0.5) FROM visits GROUP BY clinic"))
    assert isinstance(found.relation, Filter)
    assert isinstance(found.relation.child, Mark)
    assert found.groups == 2


def test_groups_are_discovered_unless_they_are_public(read: Read) -> None:
    public = asked("group_selection_strategy=PUBLIC_GROUPS", "clinic, COUNT(*) FROM visits GROUP BY clinic")
    assert [key.domain for key in read(public).keys] == [("a", "b")]


def test_price_and_least_units_go_with_the_question(read: Read) -> None:
    options = "epsilon=.25, delta=1e-7, min_privacy_units_per_group=9"
    found = read(asked(options, "clinic, COUNT(*) FROM visits GROUP BY clinic"))
    assert (found.epsilon, found.delta, found.least_units) == (Fraction(1, 4), Fraction(1, 10**7), 9)
