"""An exact value can be revealed, and nothing else: it shows, compares, copies and travels nowhere."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from collections.abc import Callable

import pytest

from obverse.core.secret import Exact

SECRET = 8675309
HELD: Exact[dict[str, int]] = Exact({"m0": SECRET})


@pytest.mark.parametrize(
    "shown", [repr, str, lambda e: f"{e}", lambda e: f"{e:>20}", lambda e: f"{e!r}", lambda e: str([e])]
)
def test_no_text_of_it_holds_the_value(shown: Callable[[object], str]) -> None:
    assert str(SECRET) not in shown(HELD)
    assert "hidden" in shown(HELD)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: pickle.dumps(HELD),
        lambda: copy.copy(HELD),
        lambda: copy.deepcopy(HELD),
        lambda: HELD == HELD,
        lambda: HELD != {"m0": SECRET},
        lambda: hash(HELD),
        lambda: bool(HELD),
        lambda: len(HELD),  # type: ignore[arg-type]
        lambda: list(HELD),  # type: ignore[call-overload]
        lambda: json.dumps(HELD),
        lambda: HELD < HELD,  # type: ignore[operator]
        lambda: vars(HELD),
        lambda: {HELD},
    ],
)
def test_it_refuses_to_be_compared_copied_hashed_counted_or_sent(attempt: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        attempt()


def test_a_log_line_does_not_hold_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        logging.getLogger("obverse").info("answer %s", HELD)
    assert str(SECRET) not in caplog.text


def test_an_error_in_flight_does_not_show_it() -> None:
    with pytest.raises(ValueError) as raised:
        raise ValueError("wrong", HELD)
    assert str(SECRET) not in repr(raised.value)


def test_reveal_gives_what_was_held() -> None:
    assert HELD.reveal() == {"m0": SECRET}


def test_nothing_can_be_put_into_it_or_beside_it() -> None:
    with pytest.raises(AttributeError):
        HELD.other = 1  # type: ignore[attr-defined]
