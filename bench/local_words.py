"""Words that nobody listed: rates, time of the search and words found, beside pure-ldp; `python bench/local_words.py`.

100,000 people with made-up words of up to six letters, epsilon 4. Theirs is PEM over a count mean sketch of 64 rows of
1,024 columns, two letters more in each of three groups, the best 20 followed. One thread, CPU time.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import asking
import numpy as np
import people
import trips
from peers import setup
from stream import Stream

from obverse.catalog.spelling import ALPHABET, Spelling
from obverse.collect.protocols import Fragments, Prefixes, WordProtocol

EPSILON = 4
PEOPLE = 100_000
LETTERS = 6
TOP = 10
FALSE_ALARM = 0.05
CLIENT = 50
SERVER = 50
SEARCH_S = 10.0


def ours(protocol: WordProtocol) -> dict[str, Any]:
    spelling = Spelling(LETTERS, ALPHABET)
    known, held = people.words(PEOPLE)
    codes = np.array([spelling.code(word) for word in known], dtype=np.uint64)[held]
    rng = Stream()
    protocol.fold(protocol.reports(codes, rng))
    begun = time.process_time()
    payloads = protocol.reports(codes, rng)
    made = time.process_time()
    counts = protocol.fold(payloads)
    counted = time.process_time()
    found = protocol.discover(counts, PEOPLE, FALSE_ALARM)
    done = time.process_time()
    words = [spelling.word(int(code)) for code in found.codes]
    rates = {"client": PEOPLE / (made - begun), "server": PEOPLE / (counted - made)}
    return rates | {"search_s": done - counted, "words": words, "visible": protocol.visible(PEOPLE, FALSE_ALARM, 0.05)}


def theirs() -> dict[str, Any]:
    wrong = setup.install("pure_ldp")
    if wrong:
        return {"why": wrong}
    script = str(setup.BENCH / "peers" / "pure_ldp_words.py")
    command = [str(setup.python_of("pure_ldp")), script, str(EPSILON), str(PEOPLE)]
    return trips.in_child(command, {"PYTHONPATH": str(setup.BENCH)}, setup.LONGEST_S)


def bars() -> list[dict[str, Any]]:
    known, _ = people.words(PEOPLE)
    made = {
        kind.name: ours(kind.of_words(LETTERS, len(ALPHABET) + 2, Fraction(EPSILON))) for kind in (Prefixes, Fragments)
    }
    other = theirs()
    for name, told in [*made.items(), ("pure-ldp PEM", other)]:
        if "why" in told:
            print(f"  {name}: {told['why']}")
            continue
        right = len({*told["words"]} & {*known[:TOP]})
        false = len({*told["words"]} - {*known})
        seen = f", share {told['visible']:.2g} is visible" if "visible" in told else ""
        print(
            f"  {name:<13} client {told['client']:>12,.0f}/s  server {told['server']:>12,.0f}/s"
            f"  search {told['search_s']:.2f} s  found {len(told['words'])}, of the first ten {right}, false "
            f"{false}{seen}",
            flush=True,
        )
    mine = made["prefixes"]
    found = [
        asking.bar("words: search", f"{mine['search_s']:.1f} s", f"< {SEARCH_S:.0f} s", mine["search_s"] < SEARCH_S)
    ]
    for side, times in (("client", CLIENT), ("server", SERVER)):
        ratio = mine[side] / other[side] if side in other else None
        shown = "not measured" if ratio is None else f"{ratio:.0f}"
        found.append(asking.bar(f"words, {side}: rate / pure-ldp", shown, f">= {times}", ratio and ratio >= times))
    hit, missed = (len({*told.get("words", ())} & {*known[:TOP]}) for told in (mine, other))
    return [
        *found,
        asking.bar("words: of the first ten, found; theirs", f"{hit}; {missed}", ">= theirs", hit >= missed),
    ]


if __name__ == "__main__":
    raise SystemExit(0 if asking.print_bars(bars()) else 1)
