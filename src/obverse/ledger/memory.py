"""A ledger in memory, for notebooks and tests: all rules of the real one, forgotten when the process ends."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator

from obverse.core.ledger import Budget, Entry, Terms
from obverse.ledger import transitions
from obverse.ledger.chain import Draft, entry_of, seal
from obverse.ledger.ledger import ChainLedger, Decide, now
from obverse.ledger.state import Book, Debit

PLACE = "ledger in memory"


class MemoryLedger(ChainLedger):
    def __init__(self, dataset: str, terms: Terms, budget: Budget, *, clock: Callable[[], str] = now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._answers: dict[int, bytes] = {}
        self._notes: dict[int, bytes] = {}
        self._held = Book(PLACE)
        opening = transitions.open_ledger(secrets.token_hex(16), dataset, terms, budget)
        self._append("open", lambda book: opening)

    def entries(self) -> Iterator[Entry]:
        return iter(tuple(self._entries))

    def note(self, number: int) -> str:
        return self._notes.get(number, bytes(transitions.SALT_BYTES))[transitions.SALT_BYTES :].decode()

    def _append(self, step: str, decide: Decide) -> tuple[Entry | None, Debit | None]:
        with self._lock:
            drafted = decide(self._held)
            if drafted is None or isinstance(drafted, Debit):
                return None, drafted
            drafts = drafted if isinstance(drafted, tuple) else (drafted,)
            return [self._write(draft) for draft in drafts][-1], None

    def _write(self, draft: Draft) -> Entry:
        record = seal(self._held.head, self._held.count + 1, draft, self._clock())
        entry = entry_of(record.number, record.body, record.hash, PLACE)
        self._held.apply(entry)
        self._entries.append(entry)
        if draft.answer is not None:
            self._answers[draft.answer[0]] = draft.answer[1]
        if draft.note is not None:
            self._notes[record.number] = draft.note
        return entry

    def _answer(self, number: int) -> bytes | None:
        return self._answers.get(number)

    def _book(self) -> Book:
        return self._held
