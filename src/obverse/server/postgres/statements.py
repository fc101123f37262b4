"""What kind of thing a client asks for: a question, something about its own session, the catalogue, or nothing for
here.

The words of a text as PostgreSQL cuts them: only to tell statements apart. What is asked is read by the parsers alone.

PostgreSQL's own spellings: `public.visits` is `visits`, E'...' a plain text. Blanks fill the place: positions stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from obverse.core.errors import Refused, Span
from obverse.sql.parse import BYTES_MAX, DEPTH_MAX, TOKENS_MAX

LEXEME = re.compile(
    r"""(?P<blank>[ \t\r\n\f\v]+|--[^\n]*)
      | (?P<comment>/\*)
      | (?P<string>[eE]'(?:[^'\\]|''|\\.)*'|(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*')
      | (?P<dollar>\$(?P<tag>[A-Za-z_]*)\$)
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<parameter>\$\d+)
      | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
      | (?P<word>[^\W\d]\w*\$?\w*)
      | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


ESCAPED = re.compile(r"\\(.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
UNREAD = re.compile(r"\\[0-7xuU]")  # characters by their numbers, which drivers do not write


@dataclass(frozen=True, slots=True)
class Word:
    """One token: a word or quoted name, a string, a number, a parameter or a sign."""

    kind: str
    text: str
    span: Span

    @property
    def upper(self) -> str:
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """As an identifier: unquoted ones in small letters; empty if it is none."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        return self.text.lower() if self.kind == "word" else ""

    @property
    def value(self) -> str:
        """As a value of a setting: a string without its quotes, else as written."""
        if self.kind != "string":
            return self.name if self.kind == "quoted" else self.text
        if self.text[0] == "$":
            return self.text.split("$", 2)[2].rsplit("$", 2)[0]
        inner = self.text[self.text.index("'") + 1 : -1].replace("''", "'")
        return ESCAPED.sub(lambda match: ESCAPES.get(match[1], match[1]), inner) if self.text[0] in "eE" else inner


def tokenize(text: str) -> tuple[Word, ...]:
    """All tokens, without blanks and comments. Refuses what is too long, too deep or not closed."""
    if len(text.encode("utf-8", "replace")) > BYTES_MAX:
        raise Refused("too_long", f"a question has at most {BYTES_MAX} bytes.", fix="ask something shorter.")
    found: list[Word] = []
    at = depth = 0
    while at < len(text):
        match = LEXEME.match(text, at)
        assert match is not None
        kind = str(match.lastgroup)
        end = match.end()
        if kind == "tag":
            kind = "dollar"
        if kind == "comment":
            end = _comment_end(text, at)
        elif kind == "dollar":
            end = _closed(text.find(match.group(), end), len(match.group()), at)
            kind = "string"
        elif kind == "sign" and match.group() in "'\"":
            _closed(-1, 0, at)
        if kind not in ("blank", "comment"):
            found.append(Word(kind, text[at:end], Span(at, end)))
            depth += (match.group() == "(") - (match.group() == ")")
        if len(found) > TOKENS_MAX or depth > DEPTH_MAX:
            raise Refused("too_complex", "the question is too long or too deeply nested.", fix="ask something simpler.")
        at = end
    return tuple(found)


def split_statements(text: str) -> list[tuple[Word, ...]]:
    """The tokens of each statement; empty ones are left out."""
    found: list[list[Word]] = [[]]
    for word in tokenize(text):
        if word.text == ";":
            found.append([])
        else:
            found[-1].append(word)
    return [tuple(part) for part in found if part]


def _comment_end(text: str, start: int) -> int:
    """Comments nest."""
    depth = 1
    at = start + 2
    while depth:
        opened = text.find("/*", at)
        closed = text.find("*/", at)
        if closed < 0:
            _closed(-1, 0, start)
        if 0 <= opened < closed:
            depth = depth + 1
            at = opened + 2
        else:
            depth = depth - 1
            at = closed + 2
    return at


def _closed(found: int, size: int, start: int) -> int:
    if found < 0:
        raise Refused("parse_error", "a quote or comment is not closed.", span=Span(start, start + 1))
    return found + size


SCHEMA = "public"


def unqualified(text: str, words: Sequence[Word], database: str) -> str:
    """The text without `public.` and `database.public.` before names; left alone where something else is called so."""
    if any(word.name == SCHEMA and _alias(words, at) for at, word in enumerate(words)):
        return text
    for at, word in enumerate(words[:-2]):
        if word.name != SCHEMA or words[at + 1].text != "." or not (words[at + 2].name or words[at + 2].text == "*"):
            continue
        begin = word.span.start
        if at and words[at - 1].text == ".":
            if at < 2 or words[at - 2].name != database or (at > 2 and words[at - 3].text == "."):
                continue
            begin = words[at - 2].span.start
        end = words[at + 1].span.end
        text = text[:begin] + " " * (end - begin) + text[end:]
    return text


def plain_strings(text: str, words: Sequence[Word]) -> str:
    """Texts that drivers write as E'...', since they hold a backslash, as plain ones; they are never longer."""
    for word in words:
        if word.kind == "string" and word.text[0] in "eE" and not UNREAD.search(word.text):
            plain = "'" + word.value.replace("'", "''") + "'"
            text = text[: word.span.start] + plain.ljust(len(word.text)) + text[word.span.end :]
    return text


def _alias(words: Sequence[Word], at: int) -> bool:
    """Whether a name is given here, and not used."""
    before = words[at - 1] if at else None
    after = words[at + 1].text if at + 1 < len(words) else ""
    if before is None or after == ".":
        return False
    return before.upper == "AS" or bool(before.name and before.upper not in KEYWORDS) or before.text == ")"


KEYWORDS = frozenset(
    "SELECT FROM JOIN WHERE AND OR ON BY GROUP ORDER HAVING NOT IN CASE WHEN THEN ELSE DISTINCT LIMIT".split()
)


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
        return tokenize(self.text)

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
    """The statements of a text.

    A question stands alone, or behind settings: it has one price, and no block takes it back.
    """
    parts = split_statements(text)
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
    start = part[0].span.start
    end = part[-1].span.end
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
        options = part[2:close]
        start = close + 1
    else:
        options = tuple(word for word in part[1:3] if word.upper in ("ANALYZE", "ANALYSE", "VERBOSE"))
        start += len(options)
    off = {place for place, word in enumerate(options[1:]) if word.upper in ("FALSE", "OFF") or word.text == "0"}
    if any(word.upper in ("ANALYZE", "ANALYSE") and place not in off for place, word in enumerate(options)):
        why = "it would tell how long it takes."
        fix = "write EXPLAIN SELECT ..."
        raise Refused("statement_kind", "EXPLAIN ANALYZE is refused.", why=why, fix=fix)
    if start >= len(part):
        raise Refused("parse_error", "there is nothing to explain.", fix="write EXPLAIN SELECT ...")
    rest = part[start:]
    return Statement(Kind.EXPLAIN, " " * rest[0].span.start + text[rest[0].span.start :], "EXPLAIN")
