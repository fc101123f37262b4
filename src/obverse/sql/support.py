"""The one table of SQL: what is answered and what is refused, with code, reason and fix.

Drives refusals, docs and tests.
"""

from __future__ import annotations

from dataclasses import dataclass

ROWS_FIX = "ask an aggregate, for example SELECT COUNT(*) FROM table."


@dataclass(frozen=True, slots=True)
class Refusal:
    """A construct that is refused: its stable code, what is said of it, why, and what to write instead."""

    code: str
    message: str
    why: str
    fix: str


REFUSALS: dict[str, Refusal] = {
    "statement": Refusal(
        "statement_kind",
        "only one SELECT is answered, not {what}.",
        "other statements change something, or show plans, statistics and rows.",
        "write one SELECT with aggregates.",
    ),
    "second_statement": Refusal(
        "statement_kind",
        "only one statement is answered, and there are several.",
        "each question has one price.",
        "send them one by one, or together as a batch (--batch FILE).",
    ),
    "rows": Refusal(
        "not_aggregate", "rows of {what} cannot be shown, only aggregates.", "a row is somebody's data.", ROWS_FIX
    ),
    "ungrouped": Refusal(
        "not_aggregate",
        "{what} stands outside an aggregate and is not in GROUP BY.",
        "it would show a row's own value.",
        "aggregate it, or group by it if its values are public.",
    ),
    "group_by_all": Refusal(
        "not_aggregate",
        "GROUP BY ALL is refused.",
        "keys are named, so that each is seen to be public.",
        "name the keys: GROUP BY a, b.",
    ),
    "undeclared_table": Refusal(
        "table_not_declared",
        "there is no table {what} here.",
        "only declared tables can be asked about.",
        "`obverse tables` lists them.",
    ),
    "undeclared_column": Refusal(
        "column_not_declared",
        "{what} is not a column that may be asked about.",
        "columns are hidden unless declared.",
        "`obverse tables` lists the columns.",
    ),
    "function": Refusal(
        "function_not_allowed",
        "the function {what} is not allowed.",
        "only functions proved total, bounded and free of side effects reach the engine.",
        "`obverse sql` lists the functions.",
    ),
    "table_function": Refusal(
        "function_not_allowed",
        "the table function {what} is not allowed.",
        "only declared tables can be read.",
        "name a declared table.",
    ),
    "random": Refusal(
        "nondeterministic_function",
        "{what} changes from row to row or from call to call.",
        "the sensitivity proof and the stored answers need one meaning.",
        "leave it out; CURRENT_DATE and now() are allowed and stand for one moment.",
    ),
    "aggregate": Refusal(
        "aggregate_not_private",
        "the aggregate {what} has no private answer.",
        "it can return one row's own value, or its sensitivity is not bounded.",
        "use COUNT, SUM, AVG, STDDEV, MEDIAN, QUANTILE_CONT, MIN, MAX of bounded numbers, or MODE of public values.",
    ),
    "nested_aggregate": Refusal(
        "not_aggregate",
        "an aggregate stands inside {what}.",
        "aggregates are noised once, after grouping.",
        "aggregate plain columns, or each unit's own aggregates: AVG(n) FROM (SELECT COUNT(*) AS n ... GROUP BY unit) "
        "AS t.",
    ),
    "subquery": Refusal(
        "private_subquery_as_scalar",
        "a subquery stands where a value is expected.",
        "its exact value would leak.",
        "ask it as a question of its own, and write its answer as a number.",
    ),
    "join_unit": Refusal(
        "join_not_on_privacy_unit",
        "rows of private tables meet here without being of the same unit.",
        "a row would belong to two units, and both could be told apart by it.",
        "join on the key that names the unit in both tables.",
    ),
    "public_left": Refusal(
        "unit_lost",
        "rows of a public table would stay here without a unit.",
        "whether a public row has a partner tells of those who could be it.",
        "put the private table on the side whose rows all stay.",
    ),
    "unit_lost": Refusal(
        "unit_lost",
        "{what} mixes rows of several units in a subquery.",
        "what comes out belongs to nobody, so nobody's share of it can be bounded.",
        "keep the unit's key in the subquery, in GROUP BY or beside DISTINCT, and aggregate outside of it.",
    ),
    "unit_nulled": Refusal(
        "unit_lost",
        "{what} may be NULL here after an outer join.",
        "rows of several units would be one group, that of NULL.",
        "take the key from the side whose rows all stay, or leave NULLs out: WHERE key IS NOT NULL.",
    ),
    "correlated": Refusal(
        "correlated_subquery",
        "this subquery reads rows outside of it in a way that is not understood.",
        "rows are looked up by equality alone.",
        "use EXISTS with equalities to the rows outside, or join them and count different units.",
    ),
    "private_filter": Refusal(
        "private_filter_on_public",
        "rows of a public table would be chosen by private ones.",
        "which public rows appear would tell of the private ones exactly.",
        "join the public table to the private one, and aggregate.",
    ),
    "nullable_in": Refusal(
        "unsupported_construct",
        "IN looks among private values that may be NULL.",
        "one NULL among them makes every NOT IN unknown.",
        "leave NULLs out in the subquery: WHERE x IS NOT NULL; or use EXISTS.",
    ),
    "ambiguous": Refusal(
        "ambiguous_column", "{what} stands for more than one thing.", "two sides have that name.", "write table.column."
    ),
    "fanout": Refusal(
        "unbounded_fanout",
        "{what} multiplies rows.",
        "a unit's rows must stay bounded.",
        "join a public table on a key of its own.",
    ),
    "recursive": Refusal(
        "recursive_cte",
        "WITH RECURSIVE is refused.",
        "it multiplies rows without bound.",
        "write WITH without RECURSIVE.",
    ),
    "set_operation": Refusal(
        "not_aggregate",
        "{what} of answers is not answered.",
        "each question has one price and one table of answers.",
        "ask each SELECT by itself, or aggregate over SELECT ... FROM (a UNION ALL b) AS t.",
    ),
    "window": Refusal(
        "window_function",
        "window functions are refused.",
        "their output is one row per person.",
        "use GROUP BY over public keys.",
    ),
    "distinct": Refusal(
        "not_aggregate",
        "SELECT DISTINCT lists values that are not public.",
        "a value that one person has would show it.",
        "GROUP BY them and count: values that enough people share are told.",
    ),
    "distinct_of_rows": Refusal(
        "distinct_needs_count",
        "SELECT DISTINCT lists declared values, and {what} would choose among them by rows.",
        "whether a value is left can depend on one person's row, and a list has no noise.",
        "GROUP BY them with COUNT(*) in place of DISTINCT; or leave that clause out, and all declared values are "
        "listed.",
    ),
    "distinct_aggregate": Refusal(
        "unsupported_construct",
        "DISTINCT inside {what} is not answered.",
        "it has no proof here.",
        "leave it out, or use COUNT(DISTINCT x).",
    ),
    "sample": Refusal(
        "unsupported_construct", "sampling is refused.", "it is random for each run.", "leave TABLESAMPLE out."
    ),
    "clause": Refusal("unsupported_construct", "{what} is not answered.", "it has no proof here.", "leave it out."),
    "expression": Refusal(
        "unsupported_construct",
        "{what} is not understood here.",
        "it has no proof here.",
        "`obverse sql` lists what is.",
    ),
    "grouping_sets": Refusal(
        "unsupported_construct",
        "{what} is not answered.",
        "subtotals are told of public keys only.",
        "declare the column's values, or ask one grouping.",
    ),
    "pattern": Refusal(
        "type_error", "LIKE takes a literal pattern.", "a pattern from a row has unbounded cost.", "write LIKE 'abc%'."
    ),
    "in_member": Refusal(
        "type_error", "IN takes literals.", "each member is compared with every row.", "list literal values."
    ),
    "parameter": Refusal(
        "type_error",
        "the parameter {what} has no value.",
        "questions are priced whole.",
        "give its value with the question (--param NAME=VALUE), or write it into the SQL.",
    ),
    "limit": Refusal(
        "type_error", "LIMIT and OFFSET take whole numbers.", "the number of rows must be public.", "write LIMIT 10."
    ),
    "where": Refusal(
        "type_error", "WHERE and HAVING take a condition.", "a row stays when it is true.", "write a comparison."
    ),
    "unit_key": Refusal(
        "privacy_id_in_output",
        "{what} names the protected unit and cannot be a key.",
        "every group would be one person.",
        "group by a column with public values.",
    ),
    "key_size": Refusal(
        "too_complex",
        "the keys have more than {what} combinations.",
        "each combination is answered and noised.",
        "group by fewer or coarser keys.",
    ),
    "no_aggregate": Refusal("not_aggregate", "no aggregate is asked for.", "only aggregates are answered.", ROWS_FIX),
}

# What is answered, by family; functions and aggregates come from their registries.
CLAUSES = (
    "SELECT ... FROM tables, WITH, subqueries",
    "JOIN (inner, left, right, full) of private tables on the unit's key, and with public tables on a key of theirs",
    "VALUES, UNNEST of a list of literals, and SELECT without FROM, as public rows",
    "UNION ALL, UNION, INTERSECT, EXCEPT in FROM, over rows that keep their unit",
    "IN (= ANY, <> ALL) and EXISTS over a public subquery, or over rows of the same unit",
    "GROUP BY the unit's key in a subquery: COUNT, SUM, AVG, MIN, MAX, COUNT(DISTINCT) of each unit, then an aggregate "
    "over it",
    "WHERE condition",
    "GROUP BY public keys: declared values, booleans, bounded integers and dates, CASE with literals, date parts; all "
    "listed",
    "GROUP BY any other key: values that enough units share are discovered, at the price of a delta",
    "GROUP BY ROLLUP, CUBE, GROUPING SETS over public keys, GROUPING(key, ...); SELECT DISTINCT over public keys"
    " of one table without WHERE, which lists declared values",
    "HAVING, ORDER BY, LIMIT, OFFSET on noisy values",
    "aggregate FILTER (WHERE condition)",
    "arithmetic and functions over aggregates",
    "CURRENT_DATE, CURRENT_TIMESTAMP, now(): one moment, recorded with the question",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...), GoogleSQL's form: epsilon, delta, max_groups_contributed (1 unless "
    "given)"
    " or max_rows_contributed, privacy_unit_column, group_selection_strategy, min_privacy_units_per_group; each at "
    "most what"
    " the project allows",
    "under it COUNT, SUM, AVG(x, contribution_bounds_per_group => (lo, hi)): each unit's own in each group is clamped, "
    "then"
    " added up or averaged over units; bounds that are left out are found privately first, with a quarter of the price,"
    " unless limits on them were declared or learned",
    "under it PERCENTILE_CONT, VAR_POP, STDDEV_POP(x, contribution_bounds_per_row => (lo, hi)), each row clamped, in a "
    "question"
    " of their own; with max_rows_contributed every aggregate goes by rows",
    "under it groups are discovered, also of declared values, and told if they have min_privacy_units_per_group units "
    "at least"
    " and pass the threshold beyond that; group_selection_strategy = PUBLIC_GROUPS tells all declared values instead, "
    "or all of"
    " a public table or list on the outer side of a join",
)

AGGREGATE_NAMES = frozenset(
    "any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_min argmax argmin array_agg "
    "bit_and "
    "bit_or bit_xor bitstring_agg bool_and bool_or checksum collect_list collect_set corr covar_pop covar_samp entropy "
    "every "
    "favg first first_value fsum geomean geometric_mean group_concat histogram json_agg jsonb_agg json_group_array "
    "json_object_agg kahan_sum kurtosis kurtosis_pop last last_value list listagg mad max_by min_by mode nth_value "
    "percentile_cont product quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept "
    "regr_r2 "
    "regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile sem skewness string_agg sumkahan xmlagg".split()
)
RANDOM_NAMES = frozenset(
    "clock_timestamp gen_random_uuid nextval currval rand random randn setseed statement_timestamp timeofday "
    "transaction_timestamp uuid uuidv4 uuidv7 uuid_string".split()
)
