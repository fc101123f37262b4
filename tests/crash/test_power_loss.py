"""The log cut anywhere, or a byte of it flipped: what is left is a past of the ledger, and the anchor knows the
present.
"""

import shutil
from fractions import Fraction

import pytest

from obverse.core.errors import LedgerError
from obverse.ledger.anchor import NoAnchor
from obverse.ledger.sqlite import SqliteLedger


@pytest.fixture
def live(project):
    """A project whose ledger still has all its records in the log, and the history of its heads."""
    made = project()
    home, opened = made.open()
    heads = [opened.ledger.head()]
    for n in range(8):
        receipt = made.reserve(opened, f"question {n}", Fraction(1, 10))
        heads.append(opened.ledger.head())
        opened.ledger.settle(receipt, b"answer" * 100)
        heads.append(opened.ledger.head())
    yield made, heads
    opened.ledger.close()
    home.close()


def left_of(made, log: bytes, folder):
    """The head that a ledger with this log opens at; None when it does not open at all."""
    folder.mkdir()
    shutil.copy(made.root / "ledger.db", folder / "ledger.db")
    (folder / "ledger.db-wal").write_bytes(log)
    ledger = SqliteLedger(folder / "ledger.db", NoAnchor())
    try:
        return ledger.head()
    except LedgerError:
        return None
    finally:
        ledger.close()


def test_a_log_cut_anywhere_leaves_a_past_of_the_ledger(live, tmp_path):
    made, heads = live
    log = (made.root / "ledger.db-wal").read_bytes()
    found = {left_of(made, log[:cut], tmp_path / f"cut {cut}") for cut in range(0, len(log) + 1, len(log) // 60)}
    assert found <= {*heads, None}
    assert len(found) > 5


def test_a_flipped_byte_of_the_log_leaves_a_past_of_the_ledger(live, tmp_path):
    made, heads = live
    log = (made.root / "ledger.db-wal").read_bytes()
    for offset in range(0, len(log), len(log) // 60):
        flipped = bytearray(log)
        flipped[offset] ^= 1
        assert left_of(made, bytes(flipped), tmp_path / f"flip {offset}") in {*heads, None}


def test_a_ledger_that_lost_its_log_is_noticed_by_its_anchor(project, killed):
    made = project()

    def spend(die):
        _, opened = made.open()
        made.reserve(opened, "question", Fraction(1, 10))
        die("now")
        return 0

    home, opened = made.open()
    opened.ledger.close()
    home.close()
    assert killed("now", spend) < 0
    for suffix in ("-wal", "-shm"):
        (made.root / f"ledger.db{suffix}").unlink()
    with pytest.raises(LedgerError) as caught:
        made.open()
    assert caught.value.code == "ledger_rolled_back"
