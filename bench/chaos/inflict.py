"""Makes faults happen to the product, and ends them."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import assert_never

from bench.chaos.parts import choose, processes_now
from bench.chaos.preload import Preload
from bench.chaos.product import AGENT, PORT, SENDER, SUPERVISOR, Product
from bench.chaos.schedule import Cut, Fault, Kind, Part, Schedule
from bench.chaos.volatile_disk import VolatileDisk

End = Callable[[], object]
RESTARTED_AFTER_S = 1.0
"""Who starts `sluice run` waits so long, as a unit of systemd does."""
_DROPPED = {Cut.SENDER_WEB: SENDER, Cut.AGENT_WEB: AGENT, Cut.SUPERVISOR_WEB: SUPERVISOR}
_USERS = {
    Cut.WEB_DATABASE: "sluice_web",
    Cut.WORKERS_DATABASE: "sluice_worker",
    Cut.KEEPER_DATABASE: "sluice",
}
_STOPPED = {Cut.ALL_QUEUE: Part.QUEUE, Cut.WEB_SIGNER: Part.SIGNER}
_TABLE = "chaos"


class Machine:
    """The product with its disk, clock and network, all of which can fail."""

    def __init__(self, product: Product, disk: VolatileDisk, preload: Preload) -> None:
        self._product, self._disk, self._preload = product, disk, preload
        _nft(f"add table ip {_TABLE}; add chain ip {_TABLE} in"
             " { type filter hook input priority 0; }")  # fmt: skip

    def suffer(self, schedule: Schedule) -> int:
        """Everything of a schedule; how many faults found what they were meant for.

        Returns when the last of them is over.
        """
        with ThreadPoolExecutor(len(schedule.faults)) as pool:
            done = [pool.submit(self._suffer, schedule.seed, fault) for fault in schedule.faults]
        # What could not be made to happen ends the run.
        return sum(one.result() for one in done)

    def _suffer(self, seed: int, fault: Fault) -> bool:
        time.sleep(fault.at_s)
        end = self._begin(seed, fault)
        time.sleep(fault.lasts_s)
        if end is None:
            return False
        end()
        return True

    def _begin(self, seed: int, fault: Fault) -> End | None:
        """Let it happen; gives what ends it, None where there is nobody whom it could strike."""
        match fault.kind:
            case Kind.RESET:
                self._product.kill_supervisor()
                return self._start_again
            case Kind.POWER:
                self._cut_power(seed)
                return self._product.start
            case Kind.FULL_DISK | Kind.SLOW_DISK | Kind.FAILING_DISK:
                return self._begin_on_disk(fault)
            case Kind.CLOCK:
                self._preload.move_clock(fault.amount)
                return lambda: self._preload.move_clock(0.0)
            case Kind.PARTITION:
                return self._cut(Cut(fault.target))
            case Kind.KILL | Kind.STOP | Kind.NO_MEMORY:
                return self._begin_on_process(fault)
            case _:
                assert_never(fault.kind)

    def _begin_on_disk(self, fault: Fault) -> End:
        if fault.kind is Kind.FULL_DISK:
            return self._fill(fault.amount)
        if fault.kind is Kind.SLOW_DISK:
            self._disk.make_slow(fault.amount)
            return lambda: self._disk.make_slow(0.0)
        self._preload.fail(int(fault.amount), errno.EIO)
        return lambda: self._preload.fail(0, 0)

    def _begin_on_process(self, fault: Fault) -> End | None:
        """On the one that is chosen; None if there is none at this moment."""
        pid = choose(self._product.parts(), Part(fault.target), fault.draw)
        if pid is None:
            return None
        if fault.kind is Kind.STOP:
            return _stopped([pid])
        if fault.kind is Kind.NO_MEMORY:
            return self._starve(pid)
        _send(pid, signal.SIGKILL)
        return _nothing

    def _cut(self, cut: Cut) -> End | None:
        if address := _DROPPED.get(cut):
            for way in (f"daddr {address} tcp dport", f"saddr {address} tcp sport"):
                _nft(f"add rule ip {_TABLE} in ip {way} {PORT} drop")
            return _let_through
        if part := _STOPPED.get(cut):
            pids = [pid for pid, own in self._product.parts().items() if own is part]
            return _stopped(pids) if pids else None
        return self._silence(_USERS[cut])

    def _silence(self, user: str) -> End:
        """Stop the database's processes for one of its users, those that begin meanwhile too."""
        ended, stopped = Event(), set[int]()
        words = f"postgres: {user} "

        def keep_silent() -> None:
            while not ended.wait(0.05):
                for one in processes_now():
                    if one.command.startswith(words) and one.pid not in stopped:
                        stopped.add(one.pid)
                        _send(one.pid, signal.SIGSTOP)

        thread = Thread(target=keep_silent)
        thread.start()

        def go_on() -> None:
            ended.set()
            thread.join()
            for pid in stopped:
                _send(pid, signal.SIGCONT)

        return go_on

    def _fill(self, left_bytes: float) -> End:
        path = self._disk.mount_point / "full"
        found = os.statvfs(self._disk.mount_point)
        size = found.f_bavail * found.f_frsize - int(left_bytes)
        with path.open("wb") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, size)
        return path.unlink

    def _starve(self, pid: int) -> End:
        """It gets no more memory than it has, nor does who it starts."""
        with suppress(OSError, ValueError):
            resource.prlimit(pid, resource.RLIMIT_AS, (_size_bytes(pid), _ANY))
        return self._feed

    def _feed(self) -> None:
        for pid in self._product.processes():
            with suppress(OSError):
                resource.prlimit(pid, resource.RLIMIT_AS, (_ANY, _ANY))

    def _cut_power(self, seed: int) -> None:
        self._disk.cut_power(seed)
        self._product.kill_all()
        self._disk.take_away()
        self._disk.switch_on()

    def _start_again(self) -> None:
        time.sleep(RESTARTED_AFTER_S)
        self._product.start()


_ANY = resource.RLIM_INFINITY


def _nothing() -> None:
    """What ends by itself."""


def _stopped(pids: list[int]) -> End:
    for pid in pids:
        _send(pid, signal.SIGSTOP)

    def go_on() -> None:
        for pid in pids:
            _send(pid, signal.SIGCONT)

    return go_on


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _size_bytes(pid: int) -> int:
    """What it has of virtual memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _let_through() -> None:
    _nft(f"flush chain ip {_TABLE} in")


def _nft(commands: str) -> None:
    subprocess.run(["nft", "-f", "-"], input=commands.encode(), check=True)
