"""A guest in virtual time, in which storage is enforced on a disk of known capacity.

    with StorageGuest(KERNELS[0], folder) as guest:
        answer = guest.run("tests.testbed.storage.capacity", reads_ratio=1.0)

`run` calls the function `run` of a module inside the guest, with these arguments, and gives what
it answers, which must fit JSON. Modules are those of the checkout; nothing is installed.

The guest counts time in instructions (4 ns each) and skips what it would idle away, so figures
do not depend on the machine's load. While it waits for the host, as for an order or for a file
that it reads first, its time runs off: a measurement must not wait for either.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.testbed.guest import Boot, Guest
from tests.testbed.programs import kernel_file
from tests.testbed.storage.null_disk import SHARED_PARAMETER
from tests.testbed.storage.orders import PORT

CHECKOUT = Path(__file__).parents[3]
BOOT_DEADLINE_S = 420.0
DEADLINE_S = 900.0
"""Of one order, in the machine's time: it may be busy."""

_INIT = Path(__file__).with_name("init")
VIRTUAL_TIME = ("-icount", "shift=2,sleep=off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel of `scripts/kernels`, by its folder, and the processor that it needs."""

    name: str
    processor: str


KERNELS = (
    Kernel(name="6.12", processor="max,-cx16,-la57"),
    # Without cx16 a newer kernel has no timers of BPF.
    Kernel(name="newest", processor="max,-la57"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """What a guest makes of its root: by `first`, its first program, with these parameters.

    The machine's files are then below `prefix`, and orders are taken by `python`. A folder that
    is its `disk` is there for the next guest as this one has left it.
    """

    first: Path
    python: str
    parameters: str = ""
    prefix: str = ""
    disk: Path | None = None
    memory_mb: int = 512


class OrderFailed(Exception):
    """What went wrong inside the guest, with the end of what it said."""


class StorageGuest:
    """A running guest that takes orders."""

    def __init__(
        self,
        kernel: Kernel,
        folder: Path,
        *,
        root: Root | None = None,
        clock: Sequence[str] = VIRTUAL_TIME,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """Without a `clock` time is the machine's, as where programs wait for each other.

        Each order has until the deadline.
        """
        self._deadline_s = deadline_s
        root = root or Root(first=_INIT, python=_python())
        checkout = f"{root.prefix}{CHECKOUT}"
        self._script = f"cd {checkout}\nPYTHONPATH={checkout} exec {root.python} -m {_ORDERS}\n"
        self.kernel = kernel
        self._boot = _boot(kernel, root, clock)
        self._folder = folder
        self._left = b""

    def __enter__(self) -> StorageGuest:
        place = self._folder / "orders"
        place.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.bind(str(place))
            waiting.listen(1)
            waiting.settimeout(BOOT_DEADLINE_S)
            self._guest = Guest(
                "storage",
                self._folder,
                script=self._script,
                port=0,
                devices=_order_line(place),
                boot=self._boot,
            )
            try:
                self._line, _ = waiting.accept()
                self._answer(BOOT_DEADLINE_S)
            except BaseException:
                self._guest.stop()
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.close()
        self._guest.stop()

    def run(self, module: str, **arguments: Any) -> Any:
        """What the module's `run` answers. Raises OrderFailed."""
        order = {"module": module, "arguments": arguments}
        self._line.sendall(json.dumps(order).encode() + b"\n")
        return self._answer(self._deadline_s)

    def _answer(self, deadline_s: float) -> Any:
        ends_s = time.monotonic() + deadline_s
        while b"\n" not in self._left:
            self._line.settimeout(max(0.1, ends_s - time.monotonic()))
            try:
                more = self._line.recv(65536)
            except TimeoutError:
                raise OrderFailed(
                    f"no answer in {deadline_s:.0f} s\n{self._guest.said()}"
                ) from None
            if not more:
                raise OrderFailed(f"the guest has ended\n{self._guest.said()}")
            self._left += more
        line, self._left = self._left.split(b"\n", 1)
        said = json.loads(line)
        if "error" in said:
            raise OrderFailed(f"{said['error']}\n{self._guest.said()}")
        return said["answer"]


_ORDERS = "tests.testbed.storage.orders"


def _python() -> str:
    """The interpreter itself: the guest needs nothing of the environment around it."""
    return os.path.realpath(sys.executable)


def _boot(kernel: Kernel, root: Root, clock: Sequence[str]) -> Boot:
    return Boot(
        kernel=kernel_file(kernel.name, "vmlinuz"),
        initramfs=kernel_file(kernel.name, "initramfs"),
        first=root.first,
        clock=clock,
        processor=kernel.processor,
        # Each disk is made on its own, with a capacity of its own.
        parameters=f"null_blk.nr_devices=0 {SHARED_PARAMETER} nowatchdog {root.parameters}",
        disk=root.disk,
        memory_mb=root.memory_mb,
    )


def _order_line(place: Path) -> Sequence[str]:
    return [
        "-device", "virtio-serial-pci",
        "-chardev", f"socket,id=orders,path={place}",
        "-device", f"virtserialport,chardev=orders,name={PORT}",
    ]  # fmt: skip
