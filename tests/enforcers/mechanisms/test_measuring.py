"""`sluice-enforcer measure` proposes a model of a disk that is quiet, and changes nothing."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from enforcers import cli
from enforcers.errors import CommandError
from enforcers.mechanisms.cgroup_io import measuring
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.cgroup_io.measuring import Measuring, NotMeasured
from tests.enforcers.fake_cgroups import FakeCgroups

RATES = {"read": 1900, "randread": 2000, "write": 900, "randwrite": 1000}


class FakeDisk:
    """sda, beside whose fio others read so many bytes for each of fio's, and idle before it."""

    def __init__(self, root: Path, *, by_others: float = 0.0, idle_iops: float = 0.0) -> None:
        self.host_fs = FakeCgroups(root, iocost=False)
        self.commands: list[list[str]] = []
        self.at_each_run: Callable[[Sequence[str]], None] = lambda argv: None
        self._by_others, self._idle_iops = by_others, idle_iops
        self._ios = self._sectors = 0
        self._show()

    def measuring(self) -> Measuring:
        return Measuring("sda", runner=self, host_fs=self.host_fs, seconds=5, sleep=self._pass)

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        assert not stdin
        self.commands.append(list(argv))
        pattern = next(word for word in argv if word.startswith("--rw=")).removeprefix("--rw=")
        own = 5 * RATES[pattern] * 4096
        self._sectors += round(own * (1 + self._by_others) / 512)
        self._show()
        for word in argv:
            if word.startswith("--filename=") and "/dev/" not in word:
                Path(word.removeprefix("--filename=")).touch()
        self.at_each_run(argv)
        side = {"iops": RATES[pattern] + 0.4, "bw_bytes": 123_456_789, "io_bytes": own}
        none = {"iops": 0.0, "bw_bytes": 0, "io_bytes": 0}
        is_read = "read" in pattern
        return json.dumps(
            {"jobs": [{"read": side if is_read else none, "write": none if is_read else side}]}
        )

    def _pass(self, seconds: float) -> None:
        self._ios += round(self._idle_iops * seconds)
        self._show()

    def _show(self) -> None:
        text = f"{self._ios} 0 {self._sectors} 0 0 0 0 0 0 0 0\n"
        self.host_fs.put("/sys/class/block/sda/stat", text)


def test_reads_are_measured_of_the_disk_itself_which_is_never_written(tmp_path: Path) -> None:
    disk = FakeDisk(tmp_path)

    found = disk.measuring().reads()

    assert found == {"rbps": 123_456_789, "rseqiops": 1900, "rrandiops": 2000}
    assert all({"--readonly", "--filename=/dev/sda"} <= set(words) for words in disk.commands)
    assert disk.host_fs.writes == []


def test_disk_at_work_is_not_measured(tmp_path: Path) -> None:
    disk = FakeDisk(tmp_path, idle_iops=6)

    with pytest.raises(NotMeasured, match=r"at work \(6 I/Os per second\); measure at a quiet"):
        disk.measuring().reads()

    assert disk.commands == []


@pytest.mark.parametrize("by_others", [0.06, 1.0])
def test_figure_of_a_disk_that_others_used_meanwhile_is_refused(
    tmp_path: Path, by_others: float
) -> None:
    disk = FakeDisk(tmp_path, by_others=by_others)

    with pytest.raises(NotMeasured, match="others moved"):
        disk.measuring().reads()


def test_disk_that_iocost_holds_to_a_model_is_not_measured(tmp_path: Path) -> None:
    disk = FakeDisk(tmp_path)
    disk.host_fs.put("/sys/fs/cgroup/io.cost.qos", "8:0 enable=1 ctrl=user\n")

    with pytest.raises(NotMeasured, match="iocost holds sda to a model"):
        disk.measuring().reads()


def test_folder_on_another_disk_is_refused_and_left_alone(tmp_path: Path) -> None:
    disk = FakeDisk(tmp_path)

    with pytest.raises(NotMeasured, match="does not lie on sda"):
        disk.measuring().whole(tmp_path)

    assert disk.commands == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One on sda."""
    monkeypatch.setattr(measuring, "_lies_on", lambda folder, device: device == "sda")
    place = tmp_path / "on-sda"
    place.mkdir()
    return place


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDisk:
    """The disk that the command measures."""
    disk = FakeDisk(tmp_path / "root")
    monkeypatch.setattr(measuring, "Measuring", lambda *_, **__: disk.measuring())
    return disk


def refused(argv: Sequence[str]) -> None:
    raise CommandError(argv, "No space left on device")


def told_to_end(number: int) -> Callable[[Sequence[str]], None]:
    return lambda argv: os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("at_each_run", "status"),
    [
        (refused, 1),
        (told_to_end(signal.SIGTERM), 128 + signal.SIGTERM),
        (told_to_end(signal.SIGHUP), 128 + signal.SIGHUP),
        (told_to_end(signal.SIGINT), 128 + signal.SIGINT),
    ],
    ids=["fio fails", "SIGTERM", "SIGHUP", "SIGINT"],
)
def test_file_is_gone_however_the_command_ends(
    folder: Path,
    disk: FakeDisk,
    at_each_run: Callable[[Sequence[str]], None],
    status: int,
) -> None:
    disk.at_each_run = at_each_run
    before = signal.getsignal(signal.SIGTERM)

    try:
        ended = cli.main(["measure", "sda", "--folder", str(folder)])
    except SystemExit as leaving:
        ended = leaving.code

    assert ended == status
    assert len(disk.commands) == 1
    assert list(folder.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_two_that_measure_in_one_folder_have_a_file_each(folder: Path, disk: FakeDisk) -> None:
    files: set[str] = set()
    disk.at_each_run = lambda argv: files.update(w for w in argv if w.startswith("--filename="))

    for _ in range(2):
        cli.main(["measure", "sda", "--folder", str(folder)])

    assert len(files) == 2


def test_folder_that_takes_no_file_is_told(folder: Path, disk: FakeDisk) -> None:
    folder.rmdir()

    with pytest.raises(NotMeasured, match=r"on-sda takes no file: No such file or directory"):
        disk.measuring().whole(folder)


def test_whole_model_is_proposed_as_the_configuration_takes_it_and_its_file_is_gone(
    folder: Path, disk: FakeDisk, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["measure", "sda", "--folder", str(folder)])

    (line,) = [one for one in capsys.readouterr().out.splitlines() if "models = " in one]
    (proposed,) = json.loads(line.partition(" = ")[2])
    assert proposed == (
        "sda rbps=123456789 rseqiops=1900 rrandiops=2000 "
        "wbps=123456789 wseqiops=900 wrandiops=1000"
    )
    agreed = CgroupIoConfig(devices=frozenset({"sda"}), models=frozenset({proposed}))
    assert agreed.model("sda") is not None
    assert list(folder.iterdir()) == []
    assert all("/dev/sda" not in word for words in disk.commands for word in words)
    assert disk.host_fs.writes == []
