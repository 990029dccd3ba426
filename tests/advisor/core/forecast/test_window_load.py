"""What came through does not tell whether less was asked for: whether work waited does."""

from __future__ import annotations

import numpy as np
import pytest

from advisor.core.forecast.window_load import window_loads

NAN = float("nan")
TOLD = np.array([80.0, 20.0])


@pytest.mark.parametrize(
    ("rates", "waits", "is_compared", "what"),
    [
        ((80, 20), (NAN, NAN), True, "as_told"),
        # 80 of 100 are as much, whoever got them
        ((20, 60), (NAN, NAN), True, "as_told"),
        ((79, 0), (NAN, 1), True, "held_back"),
        ((79, 0), (NAN, 0), False, "less"),
        # who got its part need not be known
        ((79, 0), (NAN, NAN), False, "unknown"),
        # one of two that fell short waited
        ((50, 5), (0, 1), True, "held_back"),
        ((50, 5), (0, NAN), False, "unknown"),
        # a queue of who got what was told says nothing
        ((70, 5), (1, 0), False, "less"),
        ((80, NAN), (NAN, 0), False, "unknown"),
    ],
)
def test_each_window_is_one_of_four(
    rates: tuple[float, ...], waits: tuple[float, ...], is_compared: bool, what: str
) -> None:
    found = window_loads(np.array([rates], dtype=float), np.array([waits], dtype=float), TOLD)

    kinds = {
        name: bool(getattr(found, name)[0]) for name in ("as_told", "held_back", "less", "unknown")
    }
    assert [name for name, is_it in kinds.items() if is_it] == [what]
    assert bool(found.compared[0]) is is_compared
