"""Keeps child processes running, whatever happens to them, and stops all in order.

Each child is looked at on its own, so one that does not come up keeps nobody from bringing another
one back. Who ends is started again for ever, after pauses that grow while it keeps on ending. A
first start that fails is told and raised: somebody sits in front of it, or systemd does.
"""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.embedded.child import Child, ChildSpec
from appliance.embedded.errors import ChildFailed
from appliance.embedded.leftovers import Running

CHECK_INTERVAL_S = 0.2
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
STEADY_S = 60.0
"""Whoever did its work for so long starts again with the first pause."""
LOOK_EACH_S = 0.2
"""How often a child that is not ready yet is asked; asking web or worker takes some CPU."""
ALIVE_EACH_S = 10.0
MAX_LOG_BYTES = 20 * 1024 * 1024


@dataclass(slots=True)
class _Watched:
    """A child and what is known of it; without a process it waits until `next_start_at`.

    `why` says why it ended last.
    """

    spec: ChildSpec
    began_at: float
    child: Child | None = None
    pauses: int = 0
    next_start_at: float = 0.0
    next_look_at: float = 0.0
    ready_since: float | None = None
    alive_at: float = 0.0
    why: str = ""


class Supervisor:
    """Starts children group by group, watches them, and stops the last started first."""

    def __init__(self, say: Callable[[str], None], running: Running | None = None) -> None:
        self._say = say
        self._running = running
        self._watched: dict[str, _Watched] = {}
        self._groups: list[tuple[str, ...]] = []
        self._copies_from = 0.0

    def start(self, *specs: ChildSpec) -> None:
        """Start children side by side and wait until each does its work.

        Those that were started before are watched meanwhile. Raises ChildFailed with the end of
        its log when an essential one ends or takes too long.
        """
        self._groups.append(tuple(spec.name for spec in specs))
        for spec in specs:
            self._watched[spec.name] = _Watched(spec, time.monotonic())
            self._launch(self._watched[spec.name])
        new = [self._watched[spec.name] for spec in specs if spec.essential]
        while waiting := [one for one in new if one.ready_since is None]:
            for one in waiting:
                _check_first_start(one)
            self.check()
            time.sleep(CHECK_INTERVAL_S / 4)

    def watch(self, each: Callable[[], None] = lambda: None) -> None:
        """Bring back what ends, for ever; `each` is called after every look."""
        while True:
            self.check()
            each()
            time.sleep(CHECK_INTERVAL_S)

    def check(self) -> None:
        """One look at every child, as `watch` does again and again."""
        for one in list(self._watched.values()):
            self._look(one, time.monotonic())

    def stop(self) -> None:
        """End every child, each after those that were started later and may depend on it."""
        for names in reversed(self._groups):
            group = [one.child for name in names if (one := self._watched[name]).child]
            for child in group:
                if child.exit_status is None:
                    self._say(f"stopping {child.spec.name}")
                child.request_stop()
            for child in group:
                child.stop()
        self._watched.clear()
        self._groups.clear()
        self._note()

    def processes(self) -> list[int]:
        """The numbers of those that it started and has not seen end for good."""
        return [one.child.process.pid for one in self._watched.values() if one.child]

    def _look(self, one: _Watched, now: float) -> None:
        trim_log(one.spec.log)
        if one.child is None:
            # A fork server without an answer keeps each of its copies waiting for seconds.
            may_start_at = max(
                one.next_start_at, self._copies_from if one.spec.fork_server else 0.0
            )
            if now >= may_start_at and self._has_needs(one):
                self._launch(one)
        elif one.child.exit_status is not None:
            self._pause(one, one.child.describe_end(), now)
        elif now >= one.next_look_at:
            self._ask(one, one.child, now)

    def _ask(self, one: _Watched, child: Child, now: float) -> None:
        """Whether a process that runs does its work, or anything at all."""
        if one.ready_since is None:
            one.next_look_at = now + LOOK_EACH_S
            if child.is_ready():
                self._ready(one, now)
                return
        else:
            one.next_look_at = now + ALIVE_EACH_S
            if now - one.ready_since >= STEADY_S:
                one.pauses = 0
        # Whoever needs another one cannot be judged without it.
        if not self._has_needs(one) or child.is_alive():
            one.alive_at = now
        elif now - one.alive_at > (may_be_silent_s := _may_be_silent_s(one)):
            why = f"gave no answer for {may_be_silent_s:.0f} s"
            self._pause(one, child.failure(why), now)

    def _ready(self, one: _Watched, now: float) -> None:
        one.ready_since = one.alive_at = now
        # Without a question it counts as ready at once, which says nothing.
        if one.pauses and (one.spec.is_ready or one.spec.alive_file):
            self._say(f"{one.spec.name} works again")

    def _has_needs(self, one: _Watched) -> bool:
        """Whether those that it needs do their work; they were started before it."""
        needed = (self._watched[name] for name in one.spec.needs if name in self._watched)
        return all(other.child is not None and other.ready_since is not None for other in needed)

    def _pause(self, one: _Watched, why: str, now: float) -> None:
        """End what is left of a child, and have it started after a while."""
        if one.child is not None:
            # What it started may hold its port or files.
            one.child.stop(at_once=True)
        pause_s = min(FIRST_PAUSE_S * 2.0**one.pauses, LONGEST_PAUSE_S)
        self._say(f"{why}\nstarting {one.spec.name} again in {pause_s:g} s")
        one.why, one.child, one.ready_since = why, None, None
        # A power of two that grows for ever would overflow.
        one.pauses = min(one.pauses + 1, 16)
        one.next_start_at = now + pause_s

    def _launch(self, one: _Watched) -> None:
        now = time.monotonic()
        try:
            one.child = Child(one.spec)
        except OSError as error:
            # No memory, no process number, no room for a log: all of that may pass.
            self._pause(one, f"{one.spec.name} cannot be started: {error}", now)
            if one.spec.fork_server:
                self._copies_from = time.monotonic() + FIRST_PAUSE_S
            return
        one.alive_at, one.next_look_at = now, now
        self._note()

    def _note(self) -> None:
        """Keep what runs in the data directory, for the next run if this one is killed."""
        if self._running is not None:
            self._running.keep(self.processes())


def _may_be_silent_s(one: _Watched) -> float:
    """Who starts has the time for that; a loaded machine takes minutes to load programs."""
    if one.ready_since is not None:
        return one.spec.silent_timeout_s
    return max(one.spec.silent_timeout_s, one.spec.ready_timeout_s)


def _check_first_start(one: _Watched) -> None:
    """Raises ChildFailed if it ended, or is not ready in its time."""
    child, spec = one.child, one.spec
    if child is None:
        # The fork server comes back by itself.
        if spec.fork_server and time.monotonic() < one.began_at + spec.ready_timeout_s:
            return
        raise ChildFailed(one.why)
    if child.exit_status is not None:
        raise ChildFailed(child.describe_end())
    if time.monotonic() > child.started_at + spec.ready_timeout_s:
        raise ChildFailed(child.failure(f"was not ready after {spec.ready_timeout_s:.0f} s"))


def trim_log(log: Path) -> None:
    """Keep one earlier part of a log that has grown large; its writer appends to the same file."""
    # On a full disk the copy fails; the log itself is cut nevertheless.
    with suppress(FileNotFoundError):
        if log.stat().st_size <= MAX_LOG_BYTES:
            return
        with suppress(OSError):
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        with log.open("r+b") as file:
            file.truncate()
