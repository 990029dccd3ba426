"""The command `measure`: what a disk can do, by fio, as a model that a person may write down.

It reads the disk, and writes only to a file of its own in a folder that it is given. Nothing of
the kernel or of the configuration is changed.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from enforcers.errors import CommandError, EnforcerError
from enforcers.host_fs import HostFs
from enforcers.mechanisms.cgroup_io.iocost import COEFFICIENTS, Model
from enforcers.mechanisms.cgroup_io.observed import device_number, io_mount, read_iocost
from enforcers.runner import Runner

QUIET_S = 5.0
MOST_IOS_PER_S = 5.0
"""A disk on which others do more is not quiet."""
MOST_BY_OTHERS = 0.05
"""Of the bytes of a run; with more it measures what they leave."""
LONGEST_RUN_S = 120.0
_OUTSTANDING = 128
_FOLDER_NAME = ".sluice-enforcer-measures-"
_FILE_SIZE = "256M"
_SECTOR_BYTES = 512
_LARGE, _SMALL = "1M", "4k"


class NotMeasured(EnforcerError):
    """The disk cannot be measured, or not now; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One coefficient: how fio is asked for it, and which of its numbers it is."""

    coefficient: str
    pattern: str
    block: str
    number: str


READS = (
    Run(coefficient="rbps", pattern="read", block=_LARGE, number="bw_bytes"),
    Run(coefficient="rseqiops", pattern="read", block=_SMALL, number="iops"),
    Run(coefficient="rrandiops", pattern="randread", block=_SMALL, number="iops"),
)
WRITES = (
    Run(coefficient="wbps", pattern="write", block=_LARGE, number="bw_bytes"),
    Run(coefficient="wseqiops", pattern="write", block=_SMALL, number="iops"),
    Run(coefficient="wrandiops", pattern="randwrite", block=_SMALL, number="iops"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a disk has done so far."""

    ios: int
    bytes: int


class Measuring:
    """Measures one disk; `sleep` waits so many seconds."""

    def __init__(
        self,
        device: str,
        *,
        runner: Runner,
        host_fs: HostFs,
        seconds: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._device = device
        self._runner = runner
        self._host_fs = host_fs
        self._seconds = seconds
        self._sleep = sleep

    def reads(self) -> dict[str, int]:
        """The coefficients of reads, of the disk itself. Raises NotMeasured."""
        self._check_quiet()
        return self._all(READS, ["--readonly", f"--filename=/dev/{self._device}"])

    def whole(self, folder: Path) -> Model:
        """The model, by a file in a folder on this disk. Raises NotMeasured."""
        if not _lies_on(folder, self._device):
            raise NotMeasured(f"{folder} does not lie on {self._device} or a partition of it")
        self._check_quiet()
        with _new_file(folder) as file:
            target = [f"--filename={file}", f"--size={_FILE_SIZE}"]
            # Of a file that was never written a filesystem reads nothing from its disk.
            found = self._all([*WRITES, *READS], target)
        return Model(rates=tuple(found[key] for key in COEFFICIENTS))

    def _check_quiet(self) -> None:
        number = device_number(self._host_fs, self._device)
        if number is None:
            raise NotMeasured(f"there is no block device {self._device!r}")
        mount = io_mount(self._host_fs)
        if mount is not None and read_iocost(self._host_fs, mount, number).is_enabled:
            raise NotMeasured(
                f"iocost holds {self._device} to a model; stop the agent, or whoever set it, first"
            )
        before = self._counts()
        self._sleep(QUIET_S)
        rate = (self._counts().ios - before.ios) / QUIET_S
        if rate > MOST_IOS_PER_S:
            raise NotMeasured(
                f"{self._device} is at work ({rate:.0f} I/Os per second); measure at a quiet time"
            )

    def _all(self, runs: Sequence[Run], target: Sequence[str]) -> dict[str, int]:
        return {run.coefficient: self._one(run, target) for run in runs}

    def _one(self, run: Run, target: Sequence[str]) -> int:
        argv = [
            "fio", "--name=sluice", *target, f"--rw={run.pattern}", f"--bs={run.block}",
            "--direct=1", "--ioengine=libaio", f"--iodepth={_OUTSTANDING}", "--time_based",
            f"--runtime={self._seconds}", "--randrepeat=0", "--output-format=json",
            "--thread",  # who ends fio ends all of it
        ]  # fmt: skip
        before = self._counts()
        try:
            answer = self._runner.run(argv)
        except CommandError as error:
            raise NotMeasured(f"{error}; `measure` needs the program fio") from error
        side = json.loads(answer)["jobs"][0]["read" if "read" in run.pattern else "write"]
        moved, own = self._counts().bytes - before.bytes, side["io_bytes"]
        # What a file system writes beside a file, and what is laid out first, counts to no run.
        if run in READS and moved - own > MOST_BY_OTHERS * moved:
            raise NotMeasured(
                f"others moved {1 - own / moved:.0%} of the bytes of {self._device} meanwhile; "
                "measure at a quiet time"
            )
        rate: float = side[run.number]
        return max(1, round(rate))

    def _counts(self) -> Counts:
        text = self._host_fs.read_or_none(f"/sys/class/block/{self._device}/stat") or ""
        words = [int(word) for word in text.split()]
        if len(words) < 7:
            raise NotMeasured(f"{self._device} counts no I/O")
        return Counts(ios=words[0] + words[4], bytes=(words[2] + words[6]) * _SECTOR_BYTES)


def show(
    device: str,
    *,
    folder: Path | None,
    seconds: int,
    as_json: bool,
    runner: Runner,
    host_fs: HostFs,
) -> int:
    """Measure, and print what was found as a proposal; the exit status."""
    measuring = Measuring(device, runner=runner, host_fs=host_fs, seconds=seconds)
    if folder is None:
        rates, line = measuring.reads(), None
    else:
        model = measuring.whole(folder)
        rates = dict(zip(COEFFICIENTS, model.rates, strict=True))
        line = f"{device} {' '.join(model.words)}"
    if as_json:
        print(json.dumps({"device": device, "rates": rates, "model": line}))
        return 0
    for key, rate in rates.items():
        print(f"{key:10} {rate}")
    print()
    if line is None:
        print("Reads alone make no model: --folder FOLDER on this disk measures writes too.")
    else:
        print("If you agree, add this to the table [cgroup_io] of the agent's configuration:\n")
        print(f"    models = [{json.dumps(line)}]")
    print("Nothing was changed.")
    return 0


@contextmanager
def _new_file(folder: Path) -> Iterator[Path]:
    """A name that nobody else has, on the folder's filesystem; gone afterwards, whatever happens.

    Raises NotMeasured where the folder takes none.
    """
    try:
        # It loads packers of archives, of which the agent that runs needs none in its memory.
        import tempfile

        own = tempfile.TemporaryDirectory(prefix=_FOLDER_NAME, dir=folder)
    except OSError as error:
        raise NotMeasured(f"{folder} takes no file: {error.strerror}") from error
    with own as place:
        yield Path(place) / "file"


def _lies_on(folder: Path, device: str) -> bool:
    """Whether the filesystem of a folder lies on the disk, or on a partition of it."""
    try:
        number = folder.stat().st_dev
    except OSError:
        return False
    place = Path(os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"))
    return device in (place.name, place.parent.name)
