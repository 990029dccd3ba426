"""Who wants more: what was measured decides, and pressure counts where Little's law agrees."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.waiting import Waited, wants

UNKNOWN = np.nan
RATIOS = st.floats(0, 1) | st.just(UNKNOWN)
AMOUNTS = st.floats(0, 1e4) | st.just(UNKNOWN)


def waited(**said):
    """One workload in one window: of 100 I/Os a second that take 20 ms, two are in flight."""
    columns = {one.name: UNKNOWN for one in fields(Waited)}
    columns |= {"iops": 100.0, "device_ms": 20.0, "limited": False}
    return Waited(**{name: np.array([[value]]) for name, value in (columns | said).items()})


def said_of(seen):
    """1 for more, 0 for no more, None if it is not known; and whether a queue showed it."""
    found = wants(seen)
    more = found.more[0, 0]
    return None if np.isnan(more) else int(more), bool(found.queued[0, 0])


@st.composite
def anything(draw):
    """What may be said of a workload."""
    ratios = {name: draw(RATIOS) for name in ("pressure", "held")}
    amounts = {
        name: draw(AMOUNTS) for name in ("iops", "device_ms", "unsent", "in_flight", "own_ms")
    }
    return waited(**ratios, **amounts, limited=draw(st.booleans()))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param({}, None, id="nothing is said"),
        pytest.param({"pressure": 0.9}, 1, id="it sleeps for what is in flight"),
        pytest.param({"pressure": 0.0}, None, id="two in flight and nobody sleeps: asynchronous"),
        pytest.param({"pressure": 0.0, "iops": 4.0}, 0, id="0.08 in flight and nobody sleeps"),
        pytest.param({"pressure": 1.0, "iops": 0.0}, None, id="it sleeps at a ring and does none"),
        pytest.param({"pressure": 1.0, "iops": 4.0}, None, id="it sleeps 12 times what it does"),
        pytest.param({"pressure": 1.0, "iops": 4.0, "limited": True}, 1, id="for its limit"),
        pytest.param({"pressure": 1.0, "iops": 0.0, "limited": True}, None, id="none, limited"),
        pytest.param({"pressure": 1.0, "device_ms": UNKNOWN}, 1, id="nothing contradicts sleep"),
        pytest.param({"pressure": 0.0, "device_ms": UNKNOWN}, 0, id="nor that nobody sleeps"),
        pytest.param({"pressure": 0.0, "iops": 0.0}, 0, id="it does nothing and wants nothing"),
        pytest.param({"in_flight": 2.0, "own_ms": 20.0}, 1, id="its own disk has two in flight"),
        pytest.param({"in_flight": 0.1, "own_ms": 1.0}, 0, id="a cache answers in 1 ms of 20"),
        pytest.param({"in_flight": 0.01, "own_ms": 20.0}, 0, id="its own disk is idle"),
        pytest.param({"in_flight": 3.0}, 1, id="a mount waits for answers"),
    ],
)
def test_who_waits_without_a_queue(told, expected):
    assert said_of(waited(**told)) == (expected, False)


@pytest.mark.parametrize("told", [{"held": 0.05}, {"unsent": 0.05}], ids=["iocost", "mount"])
def test_queue_in_front_of_the_device_decides(told):
    assert said_of(waited(**told, pressure=0.0, in_flight=0.0)) == (1, True)


@pytest.mark.parametrize("told", [{"held": 0.04}, {"unsent": 0.04}], ids=["iocost", "mount"])
def test_queue_that_is_hardly_there_says_nothing(told):
    assert said_of(waited(**told)) == (None, False)


@given(anything())
def test_who_does_nothing_wants_nothing_for_its_pressure_alone(seen):
    idle = replace(
        seen,
        iops=np.zeros((1, 1)),
        **{name: np.full((1, 1), UNKNOWN) for name in ("held", "unsent", "in_flight")},
    )

    assert said_of(idle)[0] != 1


@given(anything(), RATIOS)
def test_pressure_changes_nothing_where_something_was_measured(seen, pressure):
    is_measured = seen.in_flight >= 0
    other = replace(seen, pressure=np.array([[pressure]]))

    if is_measured.any():
        assert said_of(seen) == said_of(other)


@given(anything(), st.floats(0, 1))
def test_longer_queue_never_says_less(seen, longer):
    more = replace(seen, held=np.fmax(seen.held, longer))

    before, after = said_of(seen), said_of(more)
    assert before[1] <= after[1]
    if before[0] == 1:
        assert after[0] == 1


@given(st.lists(anything(), min_size=1, max_size=5))
def test_each_window_is_judged_alone(windows):
    together = Waited(
        **{
            one.name: np.concatenate([getattr(seen, one.name) for seen in windows])
            for one in fields(Waited)
        }
    )

    found = wants(together)

    alone = [wants(seen) for seen in windows]
    assert np.array_equal(found.more, np.concatenate([one.more for one in alone]), equal_nan=True)
    assert np.array_equal(found.queued, np.concatenate([one.queued for one in alone]))
