"""Functions of PostgreSQL that tools call about its catalogue, as macros of the shadow; and those of SQL that may be
used.

Casts to PostgreSQL's names of things: a table's name is its OID and the other way round; and to arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.server.pg_catalog.relations import OWNER, OWNER_NAME, READ, SPACES, Declared, Row, constant, shapes, types
from obverse.server.postgres.parameters import from_text
from obverse.server.postgres.types import ARRAY, INT8, TEXT


def cast(node: exp.Expression, declared: Declared) -> exp.Expression:
    """Casts to PostgreSQL's names of things, and to arrays."""
    if not isinstance(node, exp.Cast):
        return node
    kind = node.to.sql(dialect=READ).upper()
    inner = node.this
    literal = str(inner.this) if isinstance(inner, exp.Literal) and inner.args.get("is_string") else None
    if kind.endswith("[]") and literal is not None and literal.startswith("{"):
        whole = any(kind.startswith(name) for name in ("BIGINT", "INT", "SMALLINT"))
        items = from_text(literal, ARRAY[INT8] if whole else ARRAY[TEXT])
        return exp.cast(exp.Array(expressions=[constant(one) for one in items]), node.to)
    if kind in ("BIGINT", "INT") and isinstance(inner, exp.Cast) and inner.to.sql(dialect=READ).upper() == "REGCLASS":
        return _number(inner.this)
    if not kind.startswith("REG"):
        return node
    if kind == "REGCLASS":
        return _regclass(inner, literal, declared)
    if kind == "REGTYPE":
        if literal is None:
            return exp.Anonymous(this="format_type", expressions=[inner, exp.null()])
        found = regtype(literal)
        if found is None:
            raise Refused("catalogue_type", f"type {literal[:63]!r} does not exist.")
        return found
    if kind == "REGNAMESPACE" and bare(literal) in SPACES:
        return exp.Literal.number(SPACES[bare(literal)])
    if kind == "REGNAMESPACE" and literal is None:
        return exp.Anonymous(this="spelled_space", expressions=[inner])
    return exp.Literal.string(bare(literal)) if literal is not None else exp.cast(inner, "text")


def regtype(name: str) -> exp.Expression | None:
    """The OID of a type, by its name or its spelling."""
    wanted = name.strip().lower().removeprefix("pg_catalog.")
    found = [one.oid for one in types() if wanted in (one.name, one.shown)]
    return exp.Literal.number(found[0]) if found else None


def _regclass(inner: exp.Expression, literal: str | None, declared: Declared) -> exp.Expression:
    """A name is looked up, an OID is spelled."""
    if literal == "":
        return exp.null()
    if literal is not None and not literal.isdigit():
        name = bare(literal)
        if name in declared.tables:
            return exp.Literal.number(declared.tables[name])
        if name in shapes()["pg_catalog"]:
            return exp.Literal.number(1259 if name == "pg_class" else 1)
        raise Refused("catalogue_relation", f"relation {name[:63]!r} does not exist.")
    if isinstance(inner, exp.Cast) or literal is not None:
        return inner if literal is None else exp.Literal.number(literal)
    return exp.Anonymous(this="spelled_table", expressions=[inner])


def _number(inner: exp.Expression) -> exp.Expression:
    """The OID of a table that an expression names; one that is an OID stays."""
    return exp.Anonymous(this="numbered_table", expressions=[inner])


def bare(name: str | None) -> str:
    """A name without its schema and quotes."""
    last = (name or "").rpartition(".")[2]
    return last.strip('"') if '"' in last else last.lower()


NOTHING = (  # of what the shadow does not have: names with how many arguments they take
    "pg_get_expr:2,3 pg_get_constraintdef:1,2 pg_get_indexdef:1,3 pg_get_viewdef:1,2 pg_get_ruledef:1,2 "
    "pg_get_triggerdef:1,2 "
    "pg_get_partkeydef:1 pg_get_functiondef:1 pg_get_function_arguments:1 pg_get_function_identity_arguments:1 "
    "pg_get_function_result:1 pg_get_function_sqlbody:1 pg_get_serial_sequence:2 pg_get_statisticsobjdef:1 "
    "pg_get_statisticsobjdef_columns:1 shobj_description:2 pg_tablespace_location:1 inet_server_addr:0 "
    "inet_client_addr:0 "
    "pg_size_pretty:1 pg_advisory_unlock_all:0 pg_get_partition_constraintdef:1 pg_describe_object:3 "
    "pg_stat_get_tuples_inserted:1"
).split()
UNCOUNTED = (
    "pg_relation_size:1,2 pg_total_relation_size:1 pg_table_size:1 pg_indexes_size:1 pg_database_size:1 "
    "pg_tablespace_size:1 "
    "pg_stat_get_numscans:1 pg_stat_get_live_tuples:1 pg_stat_get_dead_tuples:1 inet_server_port:0 "
    "inet_client_port:0 pg_postmaster_start_time:0 pg_conf_load_time:0 pg_last_xact_replay_timestamp:0"
).split()
VISIBLE = (
    "table type function operator opclass opfamily collation conversion statistics_obj ts_config ts_dict ts_parser "
    "ts_template"
).split()
PRIVILEGES = "table schema database column any_column function language sequence type tablespace".split()
ALLOWED = ("select", "usage", "connect", "execute")
MACROS = (
    "current_schemas(system) AS CASE WHEN system THEN ['pg_catalog', 'public'] ELSE ['public'] END",
    "pg_encoding_to_char(n) AS 'UTF8'",
    f"pg_get_userbyid(o) AS CASE WHEN o = {OWNER} THEN '{OWNER_NAME}' ELSE 'unknown (OID=' || o || ')' END",
    "pg_char_to_encoding(t) AS CASE WHEN upper(t) = 'UTF8' THEN 6 ELSE -1 END",
    "getdatabaseencoding() AS 'UTF8'",
    "pg_is_in_recovery() AS false",
    "pg_is_other_temp_schema(o) AS false",
    "pg_my_temp_schema() AS 0::UINTEGER",
    "pg_relation_is_publishable(o) AS false",
    "pg_relation_is_updatable(o, system) AS 0",
    "pg_column_is_updatable(o, n, system) AS false",
    "pg_has_role(a, b) AS false, (a, b, c) AS false",
    "row_security_active(o) AS false",
    "quote_ident(t) AS CASE WHEN regexp_full_match(t, '[a-z_][a-z0-9_$]*') THEN t "
    "ELSE '\"' || replace(t, '\"', '\"\"') || '\"' END",
    "quote_literal(t) AS '''' || replace(t, '''', '''''') || ''''",
    "array_upper(a, d) AS nullif(len(a), 0)",
    "array_lower(a, d) AS CASE WHEN len(a) > 0 THEN 1 END",
    "pg_truetypid(a, t) AS a.atttypid",
    "pg_truetypmod(a, t) AS a.atttypmod",
)
# ours, by the names that PostgreSQL gives them; what is answered without the engine is not among them
HERE = frozenset("spelled_table numbered_table spelled_space format_type obj_description col_description".split())
PLAIN = frozenset(  # DuckDB's own: total enough, and no larger than what they are given
    "abs array_agg array_append array_cat array_contains array_length array_position array_remove array_to_string avg "
    "bool_and "
    "bool_or cardinality ceil char_length coalesce concat concat_ws count date_part date_trunc every exists extract "
    "floor "
    "generate_subscripts greatest initcap isnull json_build_array json_build_object jsonb_build_object "
    "jsonb_build_array json_object json_array least left len length "
    "list_position lower ltrim max md5 min mod nullif now octet_length position regexp_matches regexp_replace replace "
    "reverse right "
    "round row_number rtrim sign split_part starts_with string_agg string_to_array strpos substr substring sum to_char "
    "trim "
    "trunc unnest upper any all array list_value rank dense_rank json_agg jsonb_agg array_to_json to_json row_to_json "
    "btrim "
    "sqrt cbrt exp ln log log10 log2 power pow pi sin cos tan asin acos atan atan2 degrees radians ceiling "
    "explode date_diff array_concat array_size str_position stuff current_timestamp current_date current_time "
    "timestamp_trunc "
    "time_to_str str_to_time generate_series exploding_generate_series lead lag first_value last_value string_split "
    "current_schemas listagg group_concat logical_or logical_and struct_extract "
    "json_extract ascii chr date to_timestamp".split()
)


def macros(descriptions: Sequence[Row], tables: Mapping[str, int]) -> list[str]:
    """The statements that make all of them."""
    made = [f"CREATE MACRO {one}" for one in (*MACROS, *_naming(tables))]
    made += [_constant(one, "NULL::VARCHAR") for one in NOTHING] + [_constant(one, "NULL::BIGINT") for one in UNCOUNTED]
    made += [f"CREATE MACRO pg_{kind}_is_visible(o) AS true" for kind in VISIBLE]
    holds = f"regexp_matches(lower(p), '{'|'.join(ALLOWED)}')"
    for what in PRIVILEGES:
        more = f", (u, o, c, p) AS {holds}" if what == "column" else ""
        made.append(f"CREATE MACRO has_{what}_privilege(o, p) AS {holds}, (u, o, p) AS {holds}{more}")
    spelled = " ".join(f"WHEN {one.oid} THEN '{one.shown}'" for one in types())
    unknown = "ELSE CASE WHEN o IS NOT NULL THEN '???' END"
    made.append(f"CREATE MACRO format_type(o, m) AS CASE o WHEN 0 THEN '-' {spelled} {unknown} END")
    said = _said(descriptions, whole=True)
    made.append(f"CREATE MACRO obj_description(o, c) AS {said}, (o) AS {said}")
    made.append(f"CREATE MACRO col_description(o, n) AS {_said(descriptions, whole=False)}")
    return made


def names() -> frozenset[str]:
    """All that may be called."""
    listed = {one.partition(":")[0] for one in (*NOTHING, *UNCOUNTED)} | {one.partition("(")[0] for one in MACROS}
    visible = {f"pg_{kind}_is_visible" for kind in VISIBLE}
    privileges = {f"has_{what}_privilege" for what in PRIVILEGES}
    return PLAIN | HERE | listed | visible | privileges


def _naming(tables: Mapping[str, int]) -> list[str]:
    """Tables and schemas by their OIDs, and the other way round."""
    spelled = " ".join(f"WHEN {oid} THEN '{_quoted(name)}'" for name, oid in tables.items())
    both = [(f"{prefix}{name}", oid) for name, oid in tables.items() for prefix in ("", "public.")]
    numbered = " ".join(f"WHEN '{_quoted(name)}' THEN {oid}" for name, oid in both)
    spaces = " ".join(f"WHEN {oid} THEN '{name}'" for name, oid in SPACES.items())
    return [
        f"spelled_table(o) AS CASE o {spelled} WHEN 0 THEN '-' ELSE CAST(o AS VARCHAR) END",
        f"numbered_table(t) AS CASE CAST(t AS VARCHAR) {numbered} ELSE TRY_CAST(t AS BIGINT) END",
        f"spelled_space(o) AS CASE o {spaces} END",
    ]


def _constant(spec: str, value: str) -> str:
    name, _, counts = spec.partition(":")
    forms = [f"({', '.join(f'a{n}' for n in range(int(count)))}) AS {value}" for count in counts.split(",")]
    return f"CREATE MACRO {name}{', '.join(forms)}"


def _said(descriptions: Sequence[Row], *, whole: bool) -> str:
    rows = [row for row in descriptions if (row["objsubid"] == 0) == whole]
    when = " ".join(
        f"WHEN o = {row['objoid']}{'' if whole else ' AND n = ' + str(row['objsubid'])} THEN "
        f"'{_quoted(row['description'])}'"
        for row in rows
    )
    return f"CASE {when} ELSE NULL::VARCHAR END" if rows else "NULL::VARCHAR"


def _quoted(text: str) -> str:
    return text.replace("'", "''")
