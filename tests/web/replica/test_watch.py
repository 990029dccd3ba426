"""When a process looks at the replica, and what it goes by until then."""

from __future__ import annotations

import pytest

from web.replica.lag import Lag
from web.replica.watch import AWAY_S, KNOWN_S, LOOK_EVERY_S, ReplicaWatch

GOOD, FAR = Lag(behind_s=0.5), Lag(behind_s=9.0)
GONE = Lag(behind_s=None, reason="connection refused")


class Scene:
    """A clock, a replica as it is, and how often somebody looked."""

    def __init__(self) -> None:
        self.now_s, self.found, self.looks = 100.0, GOOD, 0
        self.watch = ReplicaWatch(self.look, clock=lambda: self.now_s)

    def look(self) -> Lag:
        self.looks += 1
        return self.found

    def is_read(self) -> bool:
        return self.watch.may_be_read(most_lag_s=5)


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize(("found", "is_read"), [(GOOD, True), (FAR, False), (GONE, False)])
def test_what_is_near_enough_is_read(scene: Scene, found: Lag, is_read: bool) -> None:
    scene.found = found

    assert scene.is_read() is is_read


@pytest.mark.parametrize(
    ("found", "wait_s"), [(GOOD, LOOK_EVERY_S), (FAR, LOOK_EVERY_S), (GONE, AWAY_S)]
)
def test_it_is_looked_at_once_in_a_while(scene: Scene, found: Lag, wait_s: float) -> None:
    scene.found = found
    looks = []

    for passed_s in (0.0, wait_s - 0.1, 0.1):
        scene.now_s += passed_s
        scene.is_read()
        looks.append(scene.looks)

    assert looks == [1, 1, 2]


def test_while_one_looks_others_go_by_what_is_known(scene: Scene) -> None:
    scene.is_read()
    scene.now_s += LOOK_EVERY_S
    scene.watch._lock.acquire()
    known = scene.is_read()
    scene.now_s += KNOWN_S - LOOK_EVERY_S + 0.1

    assert (known, scene.is_read(), scene.looks) == (True, False, 1)


def test_what_stopped_answering_is_left_alone_and_comes_back(scene: Scene) -> None:
    reads = [scene.is_read()]
    scene.watch.leave_out("server closed the connection")
    for passed_s in (0.0, AWAY_S - 0.1, 0.1):
        scene.now_s += passed_s
        reads.append(scene.is_read())

    assert reads == [True, False, False, True]


def test_each_change_has_one_line(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for found in (GOOD, GOOD, FAR, GONE, GOOD):
        scene.found = found
        scene.now_s += AWAY_S
        scene.is_read()

    lines = [(one.levelname, one.message) for one in caplog.records]
    assert lines == [
        ("INFO", "replica is read"),
        ("WARNING", "replica is left out"),
        ("INFO", "replica is read"),
    ]
