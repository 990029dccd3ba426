"""Show the progress of the demo, and wait with a reason."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from appliance.demo.errors import StepFailed

POLL_INTERVAL_S = 1.0
QUIET_S = 10.0
"""How often the reason for waiting is shown, at least."""

Found = TypeVar("Found")


@dataclass(slots=True)
class Progress:
    """The steps of the demo as they happen, with the seconds since its start."""

    say: Callable[[str], None]
    check: Callable[[], None] = lambda: None
    """Raises when it makes no sense to wait any longer."""
    step: str = "start"
    began_s: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began_s

    def begin(self, step: str) -> None:
        """Name the step that everything from here on belongs to."""
        self.step = step
        self.tell(step)

    def tell(self, text: str) -> None:
        self.say(f"[{self.seconds:5.1f} s] {text}")

    def wait(self, probe: Callable[[], Found | str], *, deadline_s: float) -> Found:
        """Ask `probe` until it gives something else than the reason why there is nothing yet.

        The reason is told every QUIET_S. Raises StepFailed with the last one when the deadline
        has passed.
        """
        end = time.monotonic() + deadline_s
        told_at = time.monotonic()
        while True:
            found = probe()
            if not isinstance(found, str):
                return found
            self.check()
            now = time.monotonic()
            if now > end:
                raise StepFailed(f"{found} (waited {deadline_s:.0f} s)")
            if now >= told_at + QUIET_S:
                self.tell(f"  not yet: {found}")
                told_at = now
            time.sleep(POLL_INTERVAL_S)
