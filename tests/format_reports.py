"""The page of what devices send: frames, tokens, and the bytes of every protocol's report."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from obverse.collect import batch, tally, wire
from obverse.collect.protocols import PROTOCOLS, Direct, Fragments, LocalProtocol, Prefixes, Unary
from obverse.collect.protocols.base import bytes_for
from obverse.collect.protocols.local_hash import SEED_BYTES
from obverse.collect.randomness.coins import Coins
from obverse.collect.spec import canonical_json, protocol_json
from tests.make_vectors import Stream
from tests.pages import block, page, table
from tests.unit.collect.surveys import spec_for

SIZE = 100
EPSILON = Fraction(1)
SEED = 12345
Length = Callable[[Any], int]


def _bits(size: int) -> int:
    return (size + 7) // 8


# of each protocol: what its bytes are, one after the other, and how many of each
LAYOUT: dict[str, tuple[tuple[str, Length], ...]] = {
    "direct": (("the item's number", lambda p: bytes_for(p.size)),),
    "unary": (("a bit for each item", lambda p: _bits(p.size)),),
    "local_hash": (("the seed", lambda p: SEED_BYTES), ("the symbol", lambda p: bytes_for(p.answer.size))),
    "pooled_hash": (("hash number * symbols + symbol", lambda p: bytes_for(p.pool * p.answer.size)),),
    "hadamard": (("block * words of a block + word", lambda p: bytes_for(p.blocks * p.block)),),
    "projective": (("the point's number", lambda p: bytes_for(p.points)),),
    "subset": (("a bit for each item, set for those chosen", lambda p: _bits(p.size)),),
    "count_mean": (("the row", lambda p: bytes_for(p.rows)), ("a bit for each column", lambda p: _bits(p.columns))),
    "hadamard_count_mean": (("2 * cell + bit", lambda p: bytes_for(2 * p.rows * p.columns)),),
    "projective_sketch": (("row * columns + point", lambda p: bytes_for(p.rows * p.columns)),),
    "prefixes": (("group * cells + the sketch's number", lambda p: bytes_for(p.groups * p.sketch.cells)),),
    "fragments": (
        ("place * cells + the sketch's number of piece and hash", lambda p: bytes_for(p.pieces * p.sketch.cells)),
        ("the sketch's number of the word", lambda p: bytes_for(p.sketch.cells)),
    ),
    "rappor": (("the cohort", lambda p: bytes_for(p.cohorts)), ("the Bloom filter", lambda p: _bits(p.bits))),
    "loloha": (("hash number * symbols + symbol", lambda p: bytes_for(p.pool * p.symbols)),),
    "memoised_unary": (("a bit for each item", lambda p: _bits(p.size)),),
    "one_bit_mean": (("0 or 1, the end that is sent", lambda p: 1),),
    "piecewise_mean": (("the output", lambda p: bytes_for(p.outputs)),),
    "hybrid_mean": (("the output; the last two are those of one_bit_mean", lambda p: bytes_for(p.outputs)),),
    "one_of_several": (
        ("which question", lambda p: 1),
        ("its report, filled up with zero bytes", lambda p: max(part.length for part in p.parts)),
    ),
    "all_of_several": (("the reports, in the questions' order", lambda p: sum(part.length for part in p.parts)),),
}


def reports() -> str:
    spec = spec_for()
    told = canonical_json(spec.as_json()).decode()
    parts = [
        "What leaves a device, to the byte. Numbers are unsigned, least significant byte first; bit i of a vector is "
        "the "
        "bit of "
        "worth 2^i in that number. [Protocols](protocols.md) tells what each means and claims, "
        "[versions](../versions.md) what may change. "
        "`tests/vectors/local.json` holds golden vectors, which Python and JavaScript must both give.",
        "## A report",
        _frame(),
        "## Payloads",
        f"Examples are fitted to {SIZE} options (words: of six letters) at epsilon {EPSILON}, and answer the first of "
        "them.",
        _payloads(),
        "## Specification",
        f"A survey's specification is JSON with sorted keys, without blanks, in composed UTF-8. Its digest is "
        f'`SHA-256("obverse survey\\0" + bytes)`; the first {wire.ID_BYTES} bytes are the survey\'s id. '
        "Whatever changes in it, it is another survey. A protocol is its name and its integers; probabilities are over "
        "2^53.",
        block("json", told),
        f"Its id: `{spec.id}`.",
        "## Tokens",
        _tokens(),
        "## Batches and tallies",
        _batches(),
    ]
    return page("Reports", *parts)


def _frame() -> str:
    rows = [
        (f"{wire.ID_BYTES}", "the survey's id: the first bytes of its specification's digest"),
        (f"{wire.EPOCH_BYTES}", f"the epoch, 0 to {wire.EPOCH_MAX}"),
        ("fixed by the protocol", "the payload"),
    ]
    frame = table(("bytes", "what"), rows)
    return f"{frame}\n\nReports that are sent together stand one after the other, with nothing between them."


def _payloads() -> str:
    assert set(LAYOUT) == {kind.name for kind in PROTOCOLS}, "every protocol is on the page"
    rows = []
    for kind in PROTOCOLS:
        one = _example(kind)
        pieces = [(words, length(one)) for words, length in LAYOUT[kind.name]]
        assert sum(length for _, length in pieces) == one.length, kind.name
        sent = one.report(0, Coins(Stream(kind.name).raw), SEED).hex()
        sent = sent if len(sent) <= 40 else f"{sent[:40]}…"
        parameters = {
            name: value for name, value in protocol_json(one).items() if name != "name" and isinstance(value, int)
        }
        listed = ", ".join(f"{name} {value}" for name, value in parameters.items() if value < 2**32)
        layout = "; ".join(f"{words} ({length})" for words, length in pieces)
        rows.append((f"`{kind.name}`", layout, str(one.length), listed, f"`{sent}`"))
    return table(("protocol", "its bytes, and how many here", "in all", "here", "an example"), rows)


def _example(kind: type[LocalProtocol]) -> LocalProtocol:
    if kind in (Prefixes, Fragments):
        return kind.of_words(6, 29, EPSILON)  # type: ignore[attr-defined, no-any-return]
    if kind.name.endswith("_of_several"):
        return kind((Direct.fitted(3, EPSILON), Unary.fitted(9, EPSILON)))  # type: ignore[call-arg]
    return kind.fitted(SIZE, EPSILON)


def _tokens() -> str:
    return (
        f"A token has {wire.TOKEN_BYTES} bytes, written as hexadecimal digits: {wire.NONCE_BYTES} random ones, and "
        f"the first "
        f'{wire.MARK_BYTES} of `HMAC-SHA-256(secret, "obverse token\\0" + digest + nonce)`. The collector remembers of '
        f"a spent "
        f'one the first {wire.MARK_BYTES} bytes of `HMAC-SHA-256(secret, "obverse spent\\0" + digest + token)`. A line '
        "for "
        "`collect add` is the token, a blank, and the report in hexadecimal digits."
    )


def _batches() -> str:
    return (
        f"A shuffled batch (version {batch.VERSION}) is a line of canonical JSON (`version`, "
        f"`batch`: {batch.BATCH_ID_BYTES} random bytes, "
        "`survey`: the digest, `epoch`, `reports`: how many, `sha256` of the reports, `signature`), then the reports. "
        "Signed, by "
        'Ed25519, is `"obverse shuffled batch\\0"` and the line without its signature.\n\n'
        f"A tally begins with `{tally.MAGIC.decode().strip()}` and a line end, then a line of JSON (`survey`, `n`, "
        f"`rejected` by "
        "reason, `odd`, `collectors`: names by which the counts of a collector are known again, `gone`: how many more "
        "were "
        "deleted with their counts, if any), then the counts: signed "
        "64-bit numbers, least significant byte first, compressed by zlib."
    )
