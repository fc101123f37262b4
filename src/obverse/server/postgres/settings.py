"""A session's settings: those of ordinary clients, which change little here; those of `obverse.` price a question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from obverse._version import __version__
from obverse.core.errors import Refused
from obverse.server.postgres.statements import Word
from obverse.session.planning import Wish

SERVER_VERSION = "15.0"
DEFAULTS: Mapping[str, str] = {
    "server_version": f"{SERVER_VERSION} (Obverse {__version__})",
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "session_authorization": "",
    "default_transaction_read_only": "on",
    "transaction_read_only": "on",
    "in_hot_standby": "off",
    "search_path": '"$user", public',
    "extra_float_digits": "1",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "transaction_deferrable": "off",
    "default_transaction_deferrable": "off",
    "bytea_output": "hex",
    "client_min_messages": "notice",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "lc_collate": "C.UTF-8",
    "lc_ctype": "C.UTF-8",
    "lc_messages": "C",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "jit": "off",
    "enable_seqscan": "on",
    "geqo": "on",
    "role": "none",
    "quote_all_identifiers": "off",
    "synchronize_seqscans": "on",
    "row_security": "on",
    "default_tablespace": "",
    "default_table_access_method": "heap",
    "xmloption": "content",
    "check_function_bodies": "on",
    "session_replication_role": "origin",
    "ssl_renegotiation_limit": "0",
    "backslash_quote": "safe_encoding",
    "escape_string_warning": "on",
    "work_mem": "4MB",
    "max_parallel_workers_per_gather": "2",
    "cursor_tuple_fraction": "0.1",
    "array_nulls": "on",
    "constraint_exclusion": "partition",
    "port": "5432",
    "block_size": "8192",
    "password_encryption": "scram-sha-256",
    "wal_level": "replica",
    "tcp_keepalives_idle": "0",
    "obverse.epsilon": "",
    "obverse.delta": "",
    "obverse.within": "",
    "obverse.confidence": "0.95",
    "obverse.purpose": "",
    "obverse.intervals": "off",
}
FIXED = frozenset(
    "server_version server_version_num server_encoding integer_datetimes is_superuser session_authorization "
    "in_hot_standby "
    "lc_collate lc_ctype max_identifier_length max_index_keys block_size port wal_level role".split()
)
REPORTED = {
    "server_version": "server_version",
    "server_encoding": "server_encoding",
    "client_encoding": "client_encoding",
    "application_name": "application_name",
    "datestyle": "DateStyle",
    "intervalstyle": "IntervalStyle",
    "timezone": "TimeZone",
    "integer_datetimes": "integer_datetimes",
    "standard_conforming_strings": "standard_conforming_strings",
    "is_superuser": "is_superuser",
    "session_authorization": "session_authorization",
    "in_hot_standby": "in_hot_standby",
    "default_transaction_read_only": "default_transaction_read_only",
}
ON = ("on", "true", "yes", "1", "t")
OFF = ("off", "false", "no", "0", "f")
NUMBERS = ("obverse.epsilon", "obverse.delta", "obverse.within", "obverse.confidence")
NUMBER = re.compile(r"[0-9]{0,20}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,2})?")
VALUE_MAX = 1_000
OWN_MAX = 50
VALUES = re.compile(r"-?x(,-?x)*")  # one value or several, each with its sign
OWN = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)+")


@dataclass(frozen=True, slots=True)
class Settings:
    """What was set, over what holds at the start of the session."""

    start: Mapping[str, str]
    now: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        name = name.lower()
        if name not in self.now:
            fix = "SHOW ALL lists the settings."
            raise Refused("unknown_setting", f"unrecognized configuration parameter {name[:63]!r}.", fix=fix)
        return self.now[name]

    def with_value(self, name: str, value: str | None) -> Settings:
        """Set one; None is its value of the start."""
        name = name.lower()
        if name not in self.now and not (OWN.fullmatch(name) and not name.startswith("obverse.")):
            self[name]
        if value is None:
            if name in self.start:
                return replace(self, now={**self.now, name: self.start[name]})
            return replace(self, now={known: held for known, held in self.now.items() if known != name})
        if len(value) > VALUE_MAX or (name not in self.now and len(self.now) > len(DEFAULTS) + OWN_MAX):
            raise Refused("bad_setting", "this is too much to be set.")
        return replace(self, now={**self.now, name: _checked(name, value, self.now.get(name, ""))})

    def reset(self) -> Settings:
        return replace(self, now=self.start)

    @property
    def intervals(self) -> bool:
        return self.now["obverse.intervals"] == "on"

    @property
    def purpose(self) -> str:
        return self.now["obverse.purpose"]

    @property
    def wish(self) -> Wish:
        epsilon, delta, within = (_number(self.now[name]) for name in NUMBERS[:3])
        return Wish(epsilon, delta, within, float(self.now["obverse.confidence"]))


def fresh(user: str, started: Mapping[str, str]) -> Settings:
    """The settings of a session that begins with these."""
    start = {**DEFAULTS, "session_authorization": user}
    found = Settings(start, start)
    for name, value in started.items():
        found = found.with_value(name, value)
    return replace(found, start=found.now)


def from_options(options: str) -> dict[str, str]:
    """Settings in the start's `options`: -c name=value, or --name=value."""
    parts = [part.replace("\\ ", " ") for part in re.split(r"(?<!\\)\s+", options.strip()) if part]
    found = {}
    waits = False
    for part in parts:
        if part == "-c":
            waits = True
            continue
        text = part if waits else part.removeprefix("--") if part.startswith("--") else part.removeprefix("-c")
        name, equals, value = text.partition("=")
        if not equals or (text is part and not waits):
            raise Refused("bad_setting", "options of a connection are written -c name=value.")
        found[name.replace("-", "_").lower()] = value
        waits = False
    return found


def assignment(words: Sequence[Word]) -> tuple[str, str | None, bool]:
    """Name, value and whether it is for the block alone, of a SET; an empty name where there is nothing to keep."""
    rest = list(words[1:])
    local = bool(rest) and rest[0].upper == "LOCAL"
    if rest and rest[0].upper in ("LOCAL", "SESSION") and not (len(rest) > 1 and rest[1].upper in ("AUTHORIZATION",)):
        rest = rest[1:]
    first = [word.upper for word in rest[:3]]
    if first[:1] == ["CHARACTERISTICS"] or first[:1] == ["TRANSACTION"] or first[:1] == ["CONSTRAINTS"]:
        return "", None, local
    if first[:2] == ["TIME", "ZONE"]:
        return "timezone", _value(rest[3:4] if first[2:] == ["INTERVAL"] else rest[2:]), local
    if first[:1] == ["NAMES"]:
        return "client_encoding", _value(rest[1:]) or "UTF8", local
    if first[:2] == ["SESSION", "AUTHORIZATION"]:
        return "session_authorization", _value(rest[2:]), local
    if first[:1] == ["ROLE"] and first[1:2] not in (["TO"], [""]):
        return "role", _value(rest[1:]), local
    at = next((n for n, word in enumerate(rest) if word.text == "=" or word.upper == "TO"), None)
    if not at or at + 1 >= len(rest):
        raise Refused("parse_error", "this SET cannot be read.", fix="write SET name = value.")
    return setting_name(rest[:at]), _value(rest[at + 1 :]), local


def setting_name(words: Sequence[Word]) -> str:
    """A name with its dots."""
    if [word.upper for word in words] == ["TIME", "ZONE"]:
        return "timezone"
    if [word.upper for word in words] == ["TRANSACTION", "ISOLATION", "LEVEL"]:
        return "transaction_isolation"
    return "".join(word.text if word.text == "." else word.name for word in words)


def _value(words: Sequence[Word]) -> str | None:
    if not words or (len(words) == 1 and words[0].upper == "DEFAULT"):
        return None
    listed = "".join("," if word.text == "," else "-" if word.text in "+-" else "x" for word in words)
    if not VALUES.fullmatch(listed):  # two that stand beside each other are none that somebody wrote: 1 2 is not 12
        raise Refused("parse_error", "this value cannot be read.", fix="write SET name = value, or 'value' in quotes.")
    return "".join(", " if word.text == "," else word.value for word in words)


def _checked(name: str, value: str, before: str) -> str:
    """The value as it is kept."""
    folded = value.strip().lower()
    if name in FIXED:
        if folded in (before.lower(), "default"):
            return before
        raise Refused("fixed_setting", f"parameter {name!r} cannot be changed.")
    if name == "client_encoding":
        if folded.strip("'").replace("-", "").replace("_", "") not in ("utf8", "unicode"):
            raise Refused("bad_setting", "only UTF8 is spoken here.", fix="SET client_encoding = 'UTF8'.")
        return "UTF8"
    if name == "datestyle":
        if not folded.startswith("iso"):
            raise Refused("bad_setting", "dates are written as ISO here.", fix="SET DateStyle = ISO.")
        return "ISO, MDY"
    if name in ("standard_conforming_strings", "transaction_read_only", "default_transaction_read_only"):
        if folded not in ON and name == "standard_conforming_strings":
            raise Refused("bad_setting", f"{name} is always on here.")
        return "on"  # nothing can be written, whatever a client allows itself
    if name == "obverse.intervals":
        if folded not in ON + OFF:
            raise Refused("bad_setting", "obverse.intervals is on or off.")
        return "on" if folded in ON else "off"
    if name in NUMBERS and value.strip():
        _number(value)
    if name == "obverse.confidence" and not value.strip():
        return DEFAULTS[name]
    return value.strip() if name in NUMBERS else value


def _number(value: str) -> Fraction | None:
    """A number that is written out, of bounded size; nothing where it is left to the project."""
    text = value.strip()
    if not text:
        return None
    try:
        if not NUMBER.fullmatch(text):
            raise ValueError
        return Fraction(Decimal(text))
    except (ValueError, InvalidOperation):
        raise Refused(
            "bad_setting", "this is no positive number.", fix="write 0.1, or '' for the project's own."
        ) from None
