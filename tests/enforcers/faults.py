"""Faults at the n-th step towards disk or kernel: an error, a full disk, a killed process."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import pytest

from enforcers.errors import CommandError
from tests.enforcers.fake_cgroups import FakeCgroups
from tests.enforcers.fake_tc import FakeTc, Killed

NO_SPACE = 28


class Fault(StrEnum):
    """What happens at the step: before it, or with a write that is cut in the middle."""

    ERROR = "error"
    FULL_DISK = "full disk from then on"
    KILL = "kill"
    KILL_HALFWAY = "kill halfway"


class Steps:
    """Counts steps, and lets the n-th go wrong. Once killed, nothing has any effect."""

    def __init__(self, fault: Fault, at: int | None) -> None:
        self.count = 0
        self._fault = fault
        self._at = at
        self._is_dead = False

    @property
    def was_reached(self) -> bool:
        return self._at is not None and self.count >= self._at

    def step(self, *, is_on_disk: bool, halfway: Callable[[], object] | None = None) -> None:
        """Call before the step."""
        if self._is_dead:
            raise Killed
        self.count += 1
        is_it = self.count == self._at
        if self._fault in {Fault.KILL, Fault.KILL_HALFWAY} and is_it:
            self._is_dead = True
            if self._fault is Fault.KILL_HALFWAY and halfway is not None:
                halfway()
            raise Killed
        is_full = self._fault is Fault.FULL_DISK and self.was_reached
        if is_on_disk and (is_full or (self._fault is Fault.ERROR and is_it)):
            raise OSError(NO_SPACE, "No space left on device")


class Refusals:
    """The kernel refuses the n-th of its changes with an error, and no other."""

    def __init__(self, number: int, at: int) -> None:
        self.count = 0
        self._number = number
        self._at = at

    @property
    def was_reached(self) -> bool:
        return self.count >= self._at

    def step(self, *, is_on_disk: bool) -> None:
        """Call before the step."""
        self.count += not is_on_disk
        if not is_on_disk and self.count == self._at:
            raise OSError(self._number, os.strerror(self._number))


class FaultyTc(FakeTc):
    """A kernel's traffic control whose changes are steps."""

    steps: Steps | Refusals | None = None

    def run_one(self, argv: Sequence[str], stdin: str = "") -> str:
        if self.steps is not None and {"add", "change", "del", "replace"} & set(argv):
            try:
                self.steps.step(is_on_disk=False)
            except OSError as error:
                raise CommandError(argv, f"RTNETLINK answers: {error.strerror}") from error
        return super().run_one(argv, stdin)


class FaultyCgroups(FakeCgroups):
    """A cgroup tree whose changes are steps."""

    steps: Steps | Refusals | None = None

    def write(self, host_path: str, text: str) -> None:
        if self.steps is not None:
            self.steps.step(is_on_disk=False)
        super().write(host_path, text)


@contextmanager
def faulty_disk(monkeypatch: pytest.MonkeyPatch, steps: Steps) -> Iterator[None]:
    """Within the block every change of a file by the agent's own hand is a step."""
    write = os.write

    def write_or_fail(descriptor: int, data: bytes) -> int:
        steps.step(is_on_disk=True, halfway=lambda: write(descriptor, data[: len(data) // 2]))
        return write(descriptor, data)

    def before(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*args: Any, **options: Any) -> Any:
            # Opening to read, and a folder to sync, changes nothing.
            if name != "open" or args[1] & os.O_CREAT:
                steps.step(is_on_disk=name != "unlink")
            return real(*args, **options)

        return call

    with monkeypatch.context() as patch:
        for name in ("open", "fsync", "replace", "unlink"):
            patch.setattr(os, name, before(name))
        patch.setattr(os, "write", write_or_fail)
        yield
