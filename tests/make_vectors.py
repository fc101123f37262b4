"""Golden vectors of the local model, which Python and JavaScript must both give: `python -m tests.make_vectors` renews
them.

Renew them only on purpose: reports that devices out there send are made by these rules.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from obverse.collect.device import Record, Step, consented, declined, made, marked, next_step, withdrawn
from obverse.collect.protocols import (
    AllOfSeveral,
    CountMean,
    Direct,
    Hadamard,
    HadamardCountMean,
    LocalHash,
    LocalProtocol,
    Loloha,
    MemoisedUnary,
    OneOfSeveral,
    PooledHash,
    Projective,
    Rappor,
    Subset,
    Unary,
)
from obverse.collect.randomness.coins import HALF, ONE, Coins, Memo
from obverse.collect.randomness.hashing import WORD, digest_word, item_key, key_symbol, mix, symbol
from obverse.collect.spec import Spec, protocol_json
from obverse.core.errors import Refused
from tests.unit.collect.surveys import several_spec, spec_for

PATH = Path(__file__).parent / "vectors" / "local.json"
TEXTS = ["no", "Z\u00fcrich", "Zu\u0308rich", "\ufb01", "\u1e9b\u0323", "\uac00", "\u1100\u1161"]
TEXTS += ["\U0001f600", "\U0001d15e", " a b ", "\u212b"]
SEEDS = [0, 1, 2**32, 2**63 + 12345, WORD]
KEY = hashlib.sha256(b"a device").digest()
LONG = 80  # bytes of a report from which on only their hash is written down
PARTS = (("item", ()), ("item", (b"",)), ("item", (b"a", b"bc")), ("item", (b"ab", b"c")), ("seed", (KEY, b"")))
Told = dict[str, Any]


class Stream:
    """Bytes that anybody can make from a name: SHA-256 of the name and a counter. Counts how many were read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.read = 0
        self.block = 0
        self.left = b""

    def raw(self, n: int) -> bytes:
        while len(self.left) < n:
            self.left += hashlib.sha256(self.name.encode() + self.block.to_bytes(8, "little")).digest()
            self.block += 1
        self.read += n
        found = self.left[:n]
        self.left = self.left[n:]
        return found


def shown(report: bytes) -> Told:
    return {"hex": report.hex()} if len(report) <= LONG else {"sha256": hashlib.sha256(report).hexdigest()}


def hashes() -> Told:
    words = [0, 1, 2**32 - 1, 2**63, WORD, 0x0123456789ABCDEF]
    items = [(seed, item, size) for seed in SEEDS for item, size in ((0, 2), (1, 3), (2**32 - 1, 256), (77, 2**32))]
    keys = [(seed, key, size) for seed in (0, 65535, 2**20) for key in words for size in (2, 1024, 2**16, 2**20)]
    return {
        "digest_word": [
            {"kind": kind, "parts": [part.hex() for part in parts], "word": str(digest_word(kind, *parts))}
            for kind, parts in PARTS
        ],
        "item_key": [[text, str(item_key(text))] for text in TEXTS],
        "mix": [[str(word), str(mix(word))] for word in words],
        "symbol": [[str(seed), item, size, symbol(seed, item, size)] for seed, item, size in items],
        "key_symbol": [[str(seed), str(key), size, key_symbol(seed, key, size)] for seed, key, size in keys],
    }


def coins() -> list[Told]:
    """Single coins of given bytes; among them numbers that are drawn again."""
    found = []
    again = (ONE // 3 * 3).to_bytes(7, "little")
    calls: list[tuple[str, list[int], bytes]] = [
        ("number", [], b"\xff" * 7),
        ("number", [], bytes(range(1, 8))),
        ("flip", [5], (4).to_bytes(7, "little")),
        ("flip", [5], (5).to_bytes(7, "little")),
        ("flip", [5], (4 + ONE).to_bytes(7, "little")),  # a bit that is not looked at
        ("below", [3], again + again + (7).to_bytes(7, "little")),
        ("below", [1], (9).to_bytes(7, "little")),
        ("below", [2**48], b"\xfe" * 7),
        ("below", [2**32 - 5], b"\xff" * 6 + b"\x1f" + bytes(range(7))),
    ]
    for name, given, entropy in calls:
        stream = list(entropy)
        source = Coins(lambda n, stream=stream: bytes(stream.pop(0) for _ in range(n)))  # type: ignore[misc]
        told = int(getattr(source, name)(*given))
        found.append({"call": name, "given": given, "entropy": entropy.hex(), "gives": told, "left": len(stream)})
    for odds, size in ((HALF, 9), (ONE // 4 * 3, 8), (1, 3), (ONE - 1, 17), (0x15555555555555, 64), (5 << 48, 1)):
        stream_ = Stream(f"vector {odds} {size}")
        bits = Coins(stream_.raw).vector(odds, size).to_bytes((size + 7) // 8, "little")
        found.append(
            {"call": "vector", "given": [odds, size], "stream": stream_.name, "hex": bits.hex(), "read": stream_.read}
        )
    return found


def protocols() -> list[tuple[LocalProtocol, int]]:
    """With the number of items; few and many bits of odds, small and the largest sizes."""
    half = Fraction(1, 2)
    one = Fraction(1)
    four = Fraction(4)
    sure = Direct(256, ONE - 1)
    return [
        (Direct.two_coins(), 2),
        (Direct.fitted(7, one), 7),
        (Direct(256, ONE // 256), 256),
        (Direct(2**20, ONE - 1), 2**20),
        (Unary.fitted(9, one), 9),
        (Unary.symmetric(64, four), 64),
        (Unary(2**16, HALF, 1), 2**16),
        (LocalHash.fitted(100, one), 100),
        (LocalHash(2**24, sure), 2**24),
        (PooledHash.fitted(100, half), 100),
        (PooledHash(2**32, 2**24, Direct(2**20, ONE - 1)), 2**32),
        (Hadamard.fitted(5, half), 5),
        (Hadamard.fitted(1000, four), 1000),
        (Hadamard(2**24, 1, ONE // 2), 2**24),
        (Hadamard(2, 4, 1), 2),
        (Subset.fitted(30, one), 30),
        (Subset(4096, 4095, ONE - 1), 4096),
        (Subset(2, 1, HALF + 1), 2),
        (Projective.fitted(100, one), 100),
        (Projective.fitted(1000, four), 1000),
        (Projective(2**20, 2, 25, HALF), 2**20),
        (Projective(1022, 1021, 2, ONE - 1), 1022),
        (CountMean.fitted(2, four), 0),
        (CountMean(2**20, 2**16, ONE - 1), 0),
        (CountMean(3, 5, ONE // 4 * 3), 0),
        (HadamardCountMean.fitted(2, one), 0),
        (HadamardCountMean(2**20, 2**20, ONE // 4 * 3), 0),
        (HadamardCountMean(1, 2, HALF + 1), 0),
        (Rappor.published(), 0),
        (Rappor.fitted(2, one), 0),
        (Rappor(4096, 8, 2**16, HALF - 1, 1, ONE - 1), 0),
        (Loloha.fitted(50, one), 50),
        (Loloha(2**32, 2**24, sure, sure), 2**32),
        (MemoisedUnary.fitted(11, one), 11),
        *((kind(parts), kind(parts).size) for kind in (OneOfSeveral, AllOfSeveral) for parts in _parts()),
    ]


def _parts() -> list[Any]:
    one = Fraction(1)
    large = Direct(2**16, ONE - 1)
    several = (Direct.fitted(3, one), LocalHash.fitted(100, one), PooledHash.fitted(5, one), Unary.fitted(9, one))
    return [several, (Subset.fitted(30, one), Projective.fitted(100, one), Hadamard.fitted(5, one)), (large,) * 4]


def payloads() -> list[Told]:
    found = []
    for number, (protocol, size) in enumerate(protocols()):
        codes = (
            [item_key(text) for text in TEXTS[:3]] if protocol.coded == "key" else sorted({0, 1, size // 2, size - 1})
        )
        for place, code in enumerate(codes):
            seed = SEEDS[(number + place) % len(SEEDS)]
            stream = Stream(f"payload {number} {code}")
            sent = protocol.report(code, Coins(stream.raw), seed)
            told: Told = {
                "protocol": protocol_json(protocol),
                "code": str(code),
                "seed": str(seed),
                "stream": stream.name,
            }
            found.append({**told, "read": stream.read, **shown(sent)})
    return found


def memos() -> list[Told]:
    found = []
    for salt, label in ((b"", 0), (b"a question", WORD), (KEY, 7)):
        memo = Memo(KEY, salt)
        told: Told = {"key": KEY.hex(), "salt": salt.hex(), "label": str(label), "seed": str(memo.seed())}
        told |= {"answer": memo.coins(label).raw(100).hex(), "beyond": memo.beyond().raw(40).hex()}
        told["mark"] = memo.mark(label).hex()
        found.append(told)
    return found


def specs() -> dict[str, Spec]:
    many = "reports = 7\nper_day = 2\nlifetime = {}"
    letters = ["a", "Zu\u0308rich", "\U0001f600", "\u212b", '\x7f " \\ é']
    asked = {
        "two_coins": spec_for(protocol="two_coins", epsilon="1.0987", more=many.format(3)),
        "direct": spec_for(letters[:4], more=many.format(2)),
        "unary": spec_for(letters[:4], "unary", "1.5", many.format(100) + '\nnone = "a"'),
        "local_hash": spec_for(letters[:4], "local_hash", "2", many.format("4.000001")),
        "pooled_hash": spec_for(letters[:4], "pooled_hash", "2", many.format(4)),
        "hadamard": spec_for(letters[:4], "hadamard", "2", many.format(4)),
        "subset": spec_for(letters[:4], "subset", "2", many.format(4)),
        "projective": spec_for(letters[:4], "projective", "2", many.format(4)),
        "count_mean": spec_for(letters[:4], "count_mean", "2", many.format(4)),
        "hadamard_count_mean": spec_for(letters[:4], "hadamard_count_mean", "2", many.format(4)),
    }
    plain = asked["direct"]
    asked["rappor"] = replace(plain, protocol=Rappor.published(), survey=replace(plain.survey, lifetime=Fraction(5)))
    asked["loloha"] = replace(
        plain, protocol=Loloha.fitted(4, Fraction(1)), survey=replace(plain.survey, lifetime=Fraction(3))
    )
    # a second answer is used once, and paid for when it is forgotten
    roomy = replace(plain.survey, lifetime=Fraction(5))
    asked["memoised_unary"] = replace(plain, protocol=MemoisedUnary.fitted(4, Fraction(1)), survey=roomy)
    asked["texts"] = replace(
        plain, protocol=Rappor.published(), survey=replace(plain.survey, options=(), labels={}, none=None)
    )
    asked["labels"] = spec_for(["no", "yes"], more='labels = { "de" = { no = "nein \U0001f600", yes = "ja!" } }')
    asked["shuffled"] = spec_for(["no", "yes"], more=f'shuffler = {{ key = "{KEY.hex()}" }}')
    asked["one_of_several"] = several_spec("one", ("direct", "local_hash"), many.format(2))
    asked["all_of_several"] = several_spec("budget", ("pooled_hash", "unary"), many.format(2))
    return asked


def answers_of(spec: Spec) -> list[Any]:
    if spec.parts:
        return [{"smokes": "yes", "town": "Zu\u0308rich"}, {"smokes": "no"}, {"town": "c", "smokes": "yes"}]
    return list(spec.survey.options[:3]) or ["Zu\u0308rich", "\U0001f600", "ab"]


def reports() -> list[Told]:
    found = []
    for name, spec in specs().items():
        for tells in (True, False):
            for place, answer in enumerate(answers_of(spec)):
                token = hashlib.sha256(f"{name} {place}".encode()).digest()
                stream = Stream(f"report {name} {place} {tells}")
                step = Step(Record(consent="given"), tells)
                memo = Memo(KEY, spec.digest)
                sent = made(spec, step, answer, token=token, epoch=place * 300, coins=Coins(stream.raw), memo=memo)
                told: Told = {"survey": name, "answer": answer, "code": str(spec.code(answer)), "tells": tells}
                told |= {"token": token.hex(), "seed": str(spec.seed(token)), "epoch": place * 300, "key": KEY.hex()}
                found.append({**told, "stream": stream.name, "read": stream.read, **shown(sent)})
    return found


DO = {"consent": lambda spec, record: consented(record), "decline": declined, "withdraw": withdrawn}
EVENTS = (
    [
        ["report", 0, 1],
        ["consent"],
        ["report", 0, 1],
        ["report", 0, 1],
        ["report", 0, 1],
        ["report", 1, 0],
        ["report", 1, 2],
    ]
    + [["withdraw"], ["report", 0, 3], ["consent"], ["report", 0, 3], ["report", 1, 3], ["decline"], ["report", 0, 4]]
    + [["consent"], ["report", 2, 5], ["report", 0, 6], ["report", 0, 7]]
)


def lives() -> list[Told]:
    """What a device does one after the other, and what its ledger says after each."""
    found = []
    for name, spec in specs().items():
        stream = Stream(f"life {name}")
        told = list(_life(spec, Record(), Memo(KEY, spec.digest), stream))
        found.append({"survey": name, "key": KEY.hex(), "stream": stream.name, "events": told, "read": stream.read})
    return found


def _life(spec: Spec, record: Record, memo: Memo, stream: Stream) -> Iterator[Told]:
    for place, event in enumerate(EVENTS):
        told: Told = {"do": event[0]}
        if event[0] in DO:
            record = DO[str(event[0])](spec, record)
        else:
            options = answers_of(spec)
            answer = options[int(event[1]) % len(options)]
            token = hashlib.sha256(bytes([place])).digest()
            told |= {"answer": answer, "day": event[2], "token": token.hex()}
            try:
                step = next_step(spec, record, marked(spec, answer, memo), int(event[2]))
                record = step.record
                sent = made(spec, step, answer, token=token, epoch=1, coins=Coins(stream.raw), memo=memo)
                told |= shown(sent)
            except Refused as refused:
                told["refused"] = refused.code
        marks = {mark.hex(): again for mark, again in record.marks.items()}
        kept = {"consent": record.consent, "reports": record.reports, "spent": str(record.spent), "over": record.over}
        yield {**told, "record": {**kept, "day": record.day, "today": record.today, "marks": marks}}


def refused() -> list[str]:
    """Documents that no device may go by."""
    document = specs()["rappor"].document.decode()
    changes = [
        ('"version":1', '"version":2'),
        *(('"reports":7', f'"reports":{wrong}') for wrong in ("7.0", "0")),
        ('"per_day":2', '"per_day":"2"'),
        ('"name":"rappor"', '"name":"toString"'),
        ('"flip":', '"flap":'),
        ('"hashes":2', '"hashes":3'),  # then all losses are higher than written
        ('"consent":{', '"consent": {'),
        ('"none":null', '"none":"nobody"'),
        ("Z\u00fcrich", "Zu\u0308rich"),
        *(('"lifetime":"5"', f'"lifetime":"{wrong}"') for wrong in ("0", "5/0")),
    ]
    found = [document.replace(old, new) for old, new in changes]
    assert document not in found
    direct = specs()["direct"].document.decode()
    through = specs()["shuffled"].document.decode()
    found += [through.replace(KEY.hex(), wrong) for wrong in ("", KEY.hex().upper())]
    two = specs()["one_of_several"].document.decode()
    found += [
        two.replace(*change)
        for change in (
            ('"split":"one"', '"split":"budget"'),
            ('"split":"one",', ""),
            ('"name":"town"', '"name":"smokes"'),
            ('"c",', ""),
            ('"questions":[', '"options":["a","b"],"questions":['),
            ('"none":"nowhere"', '"none":"never"'),
        )
    ]
    assert two not in found
    return [*found, "", "{", "null", "[]", document + " ", direct.replace('"size":4', '"size":5')]


def vectors() -> Told:
    asked = specs().items()
    told = {
        name: {"document": spec.document.decode(), "digest": spec.digest.hex(), "id": spec.id} for name, spec in asked
    }
    return {
        "hashes": hashes(),
        "coins": coins(),
        "memos": memos(),
        "payloads": payloads(),
        "surveys": told,
        "refused": refused(),
        "reports": reports(),
        "lives": lives(),
    }


def text() -> str:
    return json.dumps(vectors(), indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="ascii")
