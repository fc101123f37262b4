"""PostgreSQL's own spellings: `public.visits` is `visits`, E'...' a plain text. Blanks fill the place: positions stay."""

from __future__ import annotations

from collections.abc import Sequence

from obverse.server.postgres.scan import UNREAD, Word

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


KEYWORDS = frozenset("SELECT FROM JOIN WHERE AND OR ON BY GROUP ORDER HAVING NOT IN CASE WHEN THEN ELSE DISTINCT LIMIT".split())
