"""A host with four groups on a disk of 2000 IOPS, whose counters a test moves on."""

from pathlib import Path

from enforcers.contract import Outcome, PolicyDocument
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import document, group
from tests.enforcers.rig import Rig, start_rig

PARENT = "/machine.slice"
NAMES = [f"{PARENT}/vm{number}" for number in range(1, 5)]
FIRST = NAMES[0]
POLICY = document(group(FIRST, reservation=800.0), *(group(name) for name in NAMES[1:]))


class Host:
    """Four groups, the first with 800 of 2000, and counters that a test moves on.

    A kernel that does not show how long a group waited has no `cost.wait` in its lines.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tracks: bool = True,
        models: frozenset[str] = frozenset(),
        policy: PolicyDocument = POLICY,
        shows_waiting: bool = True,
    ) -> None:
        self._policy = policy
        self._shows_waiting = shows_waiting
        self.cgroups = FakeCgroups(folder / "root", iocost=False)
        for name in NAMES:
            self.cgroups.add_group(name)
        devices = frozenset({"8:0"})
        config = CgroupIoConfig(
            subtrees=frozenset({PARENT}),
            devices=devices,
            capacity_is_measured=devices,
            models=models,
            track_capacity=devices if tracks else frozenset(),
        )
        configs = {"cgroup_io": config}
        self.rig: Rig = start_rig(folder, FakeTc(), host_fs=self.cgroups, configs=configs)
        self.now_s = 0.0
        self._ios = dict.fromkeys(NAMES, 0)
        self._waited_us = dict.fromkeys(NAMES, 0)
        self._disk_ios, self._disk_ms = 0, 0
        self._show()

    def run_pass(self) -> dict[str, Outcome]:
        result = self.rig.enforcement.run(self._policy, previous=None, now_s=self.now_s)
        return {item.allocation.selector.value: item.outcome for item in result.enforced}

    def second(self, ios: dict[str, int], waits: tuple[str, ...] = ()) -> None:
        """A second in which groups did so many I/Os, and these were held back all the time."""
        self.now_s += 1.0
        for name in NAMES:
            self._ios[name] += ios.get(name, 0)
            self._waited_us[name] += 1_000_000 if name in waits else 0
        self._show()
        self.rig.enforcement.follow(clock_s=lambda: self.now_s)

    def disk(self, *, ios: int, queue: int) -> None:
        """What the disk counts in the next second: so many I/Os, so many at a time."""
        self._disk_ios += ios
        self._disk_ms += queue * 1000
        stat = f"{self._disk_ios} 0 0 0 0 0 0 0 {queue} 0 {self._disk_ms} 0 0 0 0 0 0\n"
        self.cgroups.put("/sys/dev/block/8:0/stat", stat)

    def weights(self) -> dict[str, int]:
        texts = {name: self.cgroups.text(name, "io.weight").split() for name in NAMES}
        return {name: int(words[words.index("8:0") + 1]) for name, words in texts.items()}

    def parts(self, *names: str) -> list[float]:
        weights = self.weights()
        total = sum(weights[name] for name in names)
        return [weights[name] / total for name in names]

    def _show(self) -> None:
        rows = {name: (self._ios[name], self._waited_us[name]) for name in NAMES}
        everybody = tuple(map(sum, zip(*rows.values(), strict=True)))
        for name, (ios, waited_us) in {**rows, PARENT: everybody}.items():
            line = f"8:0 rbytes=0 wbytes=0 rios={ios} wios=0 cost.usage=1"
            waited = f" cost.wait={waited_us}" if self._shows_waiting else ""
            self.cgroups.put(f"{MOUNT}{name}/io.stat", f"{line}{waited}\n")


def idle_host(folder: Path) -> Host:
    """The policy is in force, and the groups have been idle so far."""
    host = Host(folder)
    host.run_pass()
    for _ in range(2):
        host.second({})
    return host
