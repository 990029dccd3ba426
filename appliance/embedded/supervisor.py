"""Keeps child processes running: restarts what crashes, gives up aloud, stops all in order."""

import shutil
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from appliance.embedded.child import Child, ChildSpec
from appliance.embedded.errors import ChildFailed

CHECK_INTERVAL_S = 0.2
RESTART_DELAY_S = 1.0
MAX_RESTARTS = 3
RESTART_WINDOW_S = 120.0
MAX_LOG_BYTES = 20 * 1024 * 1024


class Supervisor:
    """Starts children one by one, watches them, and stops the last started first."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._children: dict[str, Child] = {}
        self._restarts: dict[str, deque[float]] = {}

    def start(self, spec: ChildSpec) -> None:
        """Start a child and wait until it does its work.

        Raises ChildFailed with the end of its log when it does not.
        """
        trim_log(spec.log)
        child = Child(spec)
        self._children[spec.name] = child
        child.wait_until_ready()

    def watch(self) -> None:
        """Restart what ends, for ever.

        Raises ChildFailed when a child has ended more often than is worth another try.
        """
        while True:
            self.check()
            time.sleep(CHECK_INTERVAL_S)

    def check(self) -> None:
        """One look at every child, as `watch` does again and again."""
        for name, child in list(self._children.items()):
            if child.exit_status is not None:
                self._restart(name, child)
            trim_log(child.spec.log)

    def stop(self) -> None:
        """End every child, each after those that were started later and may depend on it."""
        for child in reversed(self._children.values()):
            if child.exit_status is None:
                self._say(f"stopping {child.spec.name}")
            child.stop()
        self._children.clear()

    def _restart(self, name: str, child: Child) -> None:
        now = time.monotonic()
        restarts = self._restarts.setdefault(name, deque(maxlen=MAX_RESTARTS))
        if len(restarts) == MAX_RESTARTS and now - restarts[0] < RESTART_WINDOW_S:
            self._give_up(name, child)
            return
        restarts.append(now)
        self._say(f"{child.describe_end()}\nrestarting {name}")
        child.stop()
        time.sleep(RESTART_DELAY_S)
        self.start(child.spec)

    def _give_up(self, name: str, child: Child) -> None:
        reason = (
            f"{child.describe_end()}\n"
            f"it was restarted {MAX_RESTARTS} times within {RESTART_WINDOW_S:.0f} s already"
        )
        if child.spec.essential:
            raise ChildFailed(reason)
        self._say(f"{reason}\neverything else goes on without {name}")
        del self._children[name]


def trim_log(log: Path) -> None:
    """Keep one earlier part of a log that has grown large; its writer appends to the same file."""
    if not log.exists() or log.stat().st_size <= MAX_LOG_BYTES:
        return
    shutil.copyfile(log, log.with_name(f"{log.name}.1"))
    with log.open("r+b") as file:
        file.truncate()
