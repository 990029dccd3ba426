"""Waiting longer and longer before a change that failed is tried again."""

from dataclasses import dataclass
from typing import Any

LONGEST_WAIT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    wanted: Any
    error: str
    wait_s: float
    again_at_s: float


class Retries:
    """Per target the last failure; another wish is tried at once."""

    def __init__(self, *, first_s: float) -> None:
        self._first_s = first_s
        self._failures: dict[Any, _Failure] = {}

    def waiting(self, target: Any, wanted: Any, now_s: float) -> str | None:
        """The error to repeat while the wait lasts, None if it may be tried."""
        failure = self._failures.get(target)
        if failure is None or failure.wanted != wanted or now_s >= failure.again_at_s:
            return None
        return f"{failure.error} (next attempt in {failure.again_at_s - now_s:.0f} s)"

    def failed(self, target: Any, wanted: Any, now_s: float, *, error: str) -> None:
        """Note a failure; every further one of the same wish doubles the wait."""
        last = self._failures.get(target)
        wait_s = self._first_s
        if last is not None and last.wanted == wanted:
            wait_s = min(2 * last.wait_s, LONGEST_WAIT_S)
        self._failures[target] = _Failure(
            wanted=wanted, error=error, wait_s=wait_s, again_at_s=now_s + wait_s
        )

    def succeeded(self, target: Any) -> None:
        """Forget the failures of a target."""
        self._failures.pop(target, None)

    def forget(self) -> None:
        """Let everything be tried at once."""
        self._failures.clear()
