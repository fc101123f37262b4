"""A query of the catalogue in words that sqlglot reads as PostgreSQL's: without its schemas, its own operators and types."""

from __future__ import annotations

from collections.abc import Sequence

from obverse.server.postgres.scan import Word

TYPES = {
    "oid": "BIGINT", "xid": "BIGINT", "cid": "BIGINT", "name": "TEXT", "char": "TEXT", "cstring": "TEXT", "aclitem": "TEXT",
    "sql_identifier": "TEXT", "character_data": "TEXT", "yes_or_no": "TEXT", "cardinal_number": "INT", "unknown": "TEXT",
    "information_schema.sql_identifier": "TEXT", "int2vector": "SMALLINT[]", "oidvector": "BIGINT[]", "regrole": "REGROLE",
    "bpchar": "TEXT", "void": "TEXT", "anyarray": "TEXT", "pg_node_tree": "TEXT", "timestamptz": "TIMESTAMP",
    "interval": "TEXT",
}  # fmt: skip
RESERVED = ("SELECT", "TABLE", "UPDATE", "INSERT", "DELETE", "SCHEMA", "ROLE")  # that tools give as names
DROPPED = ("pg_catalog", "information_schema")


def plainly(words: Sequence[Word]) -> str:
    """The same query, its tokens with blanks between them."""
    parts: list[str] = []
    at, ended = 0, -1  # where the last token ended that was kept as it was
    while at < len(words):
        word, rest = words[at], [one.text for one in words[at + 1 : at + 6]]
        typed = _after_cast(words, at)
        named = rest[:1] == ["."] and (typed or word.name == "pg_catalog" or "".join(rest[1:2]).startswith("_pg_"))
        if named and word.name in DROPPED:
            at += 2
        elif word.upper == "OPERATOR" and rest[:1] == ["("]:
            close = next((n for n in range(at, min(at + 9, len(words))) if words[n].text == ")"), at)
            signs = [one.text for one in words[at + 2 : close] if one.text != "." and one.name not in DROPPED]
            parts += [" ", "".join(signs), " "]
            at = max(close, at) + 1
        elif word.upper == "COLLATE" and rest:
            at += 4 if rest[1:2] == ["."] else 2
        elif typed and word.name in TYPES:
            parts += [" ", TYPES[word.name]]
            at += 1
        elif word.kind == "string" and (word.text[0] in "eE$"):
            parts += [" '", word.value.replace("'", "''"), "'"]
            at += 1
        elif word.upper in RESERVED and at and (words[at - 1].text == "." or words[at - 1].upper == "AS") and rest[:1] != ["("]:
            parts += ["" if word.span.start == ended else " ", f'"{word.name}"']
            at, ended = at + 1, word.span.end
        else:
            tight = word.span.start == ended  # signs that stood together stay together: operators are of several
            parts += ["" if tight else " ", word.text]
            at, ended = at + 1, word.span.end
    return "".join(parts)


def _after_cast(words: Sequence[Word], at: int) -> bool:
    """Whether a type stands here: after :: or after AS in CAST, with or without its schema."""
    before = [word.text for word in words[max(0, at - 4) : at]]
    if len(before) >= 2 and before[-1] == "." and before[-2].strip('"').lower() in DROPPED:
        before = before[:-2]
    if before[-2:] == [":", ":"]:
        return True
    return bool(before) and before[-1].upper() == "AS" and _inside_cast(words, at)


def _inside_cast(words: Sequence[Word], at: int) -> bool:
    depth = 0
    for n in range(at - 1, max(0, at - 200), -1):
        depth += (words[n].text == ")") - (words[n].text == "(")
        if depth < 0:
            return words[n - 1].upper == "CAST"
    return False
