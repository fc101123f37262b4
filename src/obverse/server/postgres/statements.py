"""What kind of thing a client asks for: a question, something about its own session, the catalogue, or nothing for here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from obverse.core.errors import Refused
from obverse.server.postgres.scan import Word
from obverse.server.postgres.scan import statements as split
from obverse.server.postgres.scan import words as cut


class Kind(Enum):
    QUESTION = auto()
    CATALOGUE = auto()  # of the shadow alone
    EXPLAIN = auto()
    SHOW = auto()
    SET = auto()
    RESET = auto()
    BEGIN = auto()
    COMMIT = auto()
    ROLLBACK = auto()
    ROLLBACK_TO = auto()
    SAVEPOINT = auto()
    RELEASE = auto()
    DISCARD = auto()
    DEALLOCATE = auto()
    NOTHING = auto()  # accepted, and nothing is done


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its kind, its own text, and the tag that tells that it was done."""

    kind: Kind
    text: str
    tag: str = ""

    @property
    def words(self) -> tuple[Word, ...]:
        """Its tokens; cut again each time, since many statements may be kept for long."""
        return cut(self.text)

    @property
    def rowless(self) -> bool:
        """Whether it ends in LIMIT 0, by which tools ask for names and types."""
        last = self.words[-2:]
        return [word.upper or word.text for word in last] == ["LIMIT", "0"]

    @property
    def ends_block(self) -> bool:
        return self.kind in (Kind.COMMIT, Kind.ROLLBACK, Kind.ROLLBACK_TO)


FIRST = {
    "BEGIN": Kind.BEGIN, "START": Kind.BEGIN, "COMMIT": Kind.COMMIT, "END": Kind.COMMIT, "ROLLBACK": Kind.ROLLBACK,
    "ABORT": Kind.ROLLBACK, "SAVEPOINT": Kind.SAVEPOINT, "RELEASE": Kind.RELEASE, "SET": Kind.SET, "RESET": Kind.RESET,
    "SHOW": Kind.SHOW, "DISCARD": Kind.DISCARD, "DEALLOCATE": Kind.DEALLOCATE, "EXPLAIN": Kind.EXPLAIN,
    "UNLISTEN": Kind.NOTHING, "CLOSE": Kind.NOTHING,
}  # fmt: skip
TAGS = {
    Kind.BEGIN: "BEGIN", Kind.COMMIT: "COMMIT", Kind.ROLLBACK: "ROLLBACK", Kind.ROLLBACK_TO: "ROLLBACK",
    Kind.SAVEPOINT: "SAVEPOINT", Kind.RELEASE: "RELEASE", Kind.SET: "SET", Kind.RESET: "RESET", Kind.SHOW: "SHOW",
    Kind.EXPLAIN: "EXPLAIN", Kind.DISCARD: "DISCARD ALL", Kind.DEALLOCATE: "DEALLOCATE",
}  # fmt: skip
STATEMENTS_MAX = 100  # of one message: each keeps the blanks before it
ASKING = ("SELECT", "WITH", "VALUES", "(", "TABLE", "FROM")
CHANGING = frozenset(
    "INSERT UPDATE DELETE MERGE CREATE DROP ALTER TRUNCATE GRANT REVOKE COMMENT VACUUM ANALYZE ANALYSE CLUSTER REINDEX "
    "REFRESH IMPORT SECURITY REASSIGN CHECKPOINT LOAD DO CALL LOCK ATTACH DETACH INSTALL PRAGMA EXPORT".split()
)
WAITING = {
    "LISTEN": "there are no notifications here.",
    "NOTIFY": "there are no notifications here.",
    "DECLARE": "there are no cursors of SQL here.",
    "FETCH": "there are no cursors of SQL here.",
    "MOVE": "there are no cursors of SQL here.",
    "PREPARE": "statements are prepared by the protocol, not by SQL.",
    "EXECUTE": "statements are prepared by the protocol, not by SQL.",
}


def read(text: str, is_catalogue: Callable[[str], bool]) -> list[Statement]:
    """The statements of a text. A question stands alone, or behind settings: it has one price, and no block takes it back."""
    parts = split(text)
    if len(parts) > STATEMENTS_MAX:
        raise Refused("too_complex", f"a message has at most {STATEMENTS_MAX} statements.", fix="send fewer at a time.")
    blank = re.sub(r"[^\n]", " ", text)
    found = [_statement(_text(text, blank, part), part, is_catalogue) for part in parts]
    asked = [one for one in found if one.kind is Kind.QUESTION]
    beside = [one for one in found if one.kind not in (Kind.QUESTION, Kind.SET, Kind.RESET)]
    if asked and (len(asked) > 1 or beside):
        raise Refused(
            "statement_kind",
            "a question stands alone, or behind settings, and here are several statements.",
            why="each question has one price, and no block takes it back.",
            fix="send them one by one.",
        )
    return found


def _text(text: str, blank: str, part: tuple[Word, ...]) -> str:
    """A statement's own text; blanks stand for what comes before, so that positions stay."""
    start, end = part[0].span.start, part[-1].span.end
    return blank[:start] + text[start:end]


def _statement(text: str, part: tuple[Word, ...], is_catalogue: Callable[[str], bool]) -> Statement:
    first = part[0].upper or part[0].text
    second = part[1].upper if len(part) > 1 else ""
    if first == "COPY":
        raise Refused("copy_refused", "COPY is refused.", why="a row is somebody's data.", fix="ask an aggregate.")
    if first in WAITING:
        fix = "ask with SELECT; drivers fetch an answer in parts by themselves."
        raise Refused("unsupported_construct", f"{first} is refused: {WAITING[first]}", fix=fix)
    if first in CHANGING:
        why = "here one asks, and changes nothing."
        raise Refused("read_only", f"{first} is refused.", why=why, fix="write one SELECT with aggregates.")
    kind = FIRST.get(first)
    if kind is Kind.ROLLBACK and any(word.upper == "TO" for word in part[1:4]):
        kind = Kind.ROLLBACK_TO
    if second == "PREPARED" and kind in (Kind.COMMIT, Kind.ROLLBACK):
        raise Refused("unsupported_construct", "there are no prepared transactions here.")
    if kind is Kind.EXPLAIN:
        return _explained(text, part)
    if kind is None:
        asked = first in ASKING and is_catalogue(text)
        return Statement(Kind.CATALOGUE if asked else Kind.QUESTION, text)
    tag = TAGS.get(kind) or ("CLOSE CURSOR ALL" if first == "CLOSE" else first)
    return Statement(kind, text, tag)


def _explained(text: str, part: tuple[Word, ...]) -> Statement:
    """EXPLAIN with what it explains; ANALYZE would run it."""
    start = 1
    if len(part) > 1 and part[1].text == "(":
        close = next((n for n, word in enumerate(part) if word.text == ")"), len(part) - 1)
        options, start = part[2:close], close + 1
    else:
        options = tuple(word for word in part[1:3] if word.upper in ("ANALYZE", "ANALYSE", "VERBOSE"))
        start += len(options)
    off = {place for place, word in enumerate(options[1:]) if word.upper in ("FALSE", "OFF") or word.text == "0"}
    if any(word.upper in ("ANALYZE", "ANALYSE") and place not in off for place, word in enumerate(options)):
        why, fix = "it would tell how long it takes.", "write EXPLAIN SELECT ..."
        raise Refused("statement_kind", "EXPLAIN ANALYZE is refused.", why=why, fix=fix)
    if start >= len(part):
        raise Refused("parse_error", "there is nothing to explain.", fix="write EXPLAIN SELECT ...")
    rest = part[start:]
    return Statement(Kind.EXPLAIN, " " * rest[0].span.start + text[rest[0].span.start :], "EXPLAIN")
