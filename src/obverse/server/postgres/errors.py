"""The one table from our stable codes to SQLSTATE, and an error as the fields that a client of PostgreSQL reads."""

from __future__ import annotations

from collections.abc import Mapping

from obverse.core.errors import BudgetExceeded, Failed, LedgerError, ObverseError, Refused, Span

SQLSTATES: Mapping[str, str] = {
    # how one connects
    "protocol_violation": "08P01",
    "not_signed_in": "28P01",
    "tls_required": "28000",
    "not_a_client": "28000",
    "account_suspended": "28000",
    "too_many_connections": "53300",
    "too_many_requests": "53000",
    "idle_too_long": "57P05",
    "stopping": "57P01",
    "not_encodable": "22021",
    # what may be seen
    "not_aggregate": "42501",
    "aggregate_not_private": "42501",
    "privacy_id_in_output": "42501",
    "statement_kind": "42501",
    "not_allowed": "42501",
    "purpose_not_allowed": "42501",
    "purpose_not_declared": "42501",
    "keys_not_public": "42501",
    "private_subquery_as_scalar": "42501",
    "join_not_on_privacy_unit": "42501",
    "unit_lost": "42501",
    "no_bounds": "42501",
    "private_filter_on_public": "42501",
    "copy_refused": "42501",
    "read_only": "42501",
    # how it is written
    "parse_error": "42601",
    "table_not_declared": "42P01",
    "column_not_declared": "42703",
    "ambiguous_column": "42702",
    "function_not_allowed": "42883",
    "type_error": "42804",
    "bad_parameter": "22023",
    "unknown_interval": "42703",
    "catalogue_relation": "42P01",
    "catalogue_function": "42883",
    "catalogue_type": "42704",
    "number_out_of_range": "22003",
    "bad_value": "22P02",
    # settings, statements, portals, blocks
    "unknown_setting": "42704",
    "bad_setting": "22023",
    "fixed_setting": "55P02",
    "no_such_prepared": "26000",
    "prepared_twice": "42P05",
    "no_such_portal": "34000",
    "portal_twice": "42P03",
    "in_failed_block": "25P02",
    "no_block": "25P01",
    "no_such_savepoint": "3B001",
    "columns_changed": "0A000",
    # limits
    "too_long": "54000",
    "too_complex": "54001",
    "too_many_parameters": "54000",
    "too_costly": "54000",
    "too_large": "54000",
    "message_too_large": "54000",
    "too_many_rows": "54000",
    "budget_exhausted": "53400",
    "price_over_budget": "53400",
    "loss_out_of_reach": "53400",
    "cancelled": "57014",
    "catalogue_too_slow": "57014",
    "engine_failure": "XX000",
    "not_found": "42704",
    "engine_unavailable": "57P03",
    "project_unavailable": "57P03",
    "project_changed": "40001",
}
ROUTINES = {"columns_changed": "RevalidateCachedQuery"}  # by which asyncpg and JDBC know to prepare again by themselves
UNSUPPORTED = "0A000"
LIMIT = "53400"
SYSTEM = "58000"
INTERNAL = "XX000"
FREE = "No budget was used."


def sqlstate(error: ObverseError) -> str:
    """The SQLSTATE of an error: by its code, else by its class."""
    if error.code in SQLSTATES:
        return SQLSTATES[error.code]
    match error:
        case Refused():
            return UNSUPPORTED
        case BudgetExceeded():
            return LIMIT
        case LedgerError():
            return SYSTEM
        case _:
            return INTERNAL


def error_fields(error: ObverseError, sent: str = "", *, fatal: bool = False, free: bool = True) -> dict[str, str]:
    """The fields of an ErrorResponse. The stable code is its routine; a position is told where it is one of the sent
    text.

    `free`: nothing was charged before it, either.
    """
    severity = "FATAL" if fatal else "ERROR"
    fields = {
        "S": severity,
        "V": severity,
        "C": sqlstate(error),
        "M": error.message,
        "R": ROUTINES.get(error.code, error.code),
    }
    if error.why:
        fields["D"] = error.why
    refused = isinstance(error, Refused | BudgetExceeded) and not error.charged and error.code != "cancelled"
    free = free and refused and not fatal
    hint = " ".join(part for part in (error.fix, FREE if free else "") if part)
    if hint:
        fields["H"] = hint
    if error.span is not None and sent and _same(error.span, error.text, sent):
        fields["P"] = str(error.span.start + 1)
    return fields


def _same(span: Span, text: str, sent: str) -> bool:
    """Whether the span is of the sent text too: values were put in behind it, if any."""
    return text[: span.end].lstrip() != "" and text[span.start : span.end] == sent[span.start : span.end]


def defect(error: BaseException) -> str:
    """What the log says of a defect: its kind and place, and none of its words, which may hold values."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    return f"{type(error).__name__}{place}"


def unforeseen() -> ObverseError:
    """What is told of a defect: nothing of it."""
    return Failed(
        "engine_failure",
        "the question failed.",
        why="what failed is not told, since it might depend on the data; what was charged stays charged.",
        fix="ask again; if it fails again, tell the curator.",
    )
