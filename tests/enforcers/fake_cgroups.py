"""A cgroup v2 tree as files, whose control files answer writes as the kernel does."""

from pathlib import Path

from enforcers.host_fs import HostFs

MOUNT = "/sys/fs/cgroup"
KEYS = ("rbps", "wbps", "riops", "wiops")
# UINT_MAX and U64_MAX of tg_set_limit in block/blk-throttle.c are `max`.
LIMITLESS = {"rbps": 2**64 - 1, "wbps": 2**64 - 1, "riops": 2**32 - 1, "wiops": 2**32 - 1}
DEBUG_STATS = "/sys/module/blk_cgroup/parameters/blkcg_debug_stats"
# Numbers as another program may have measured them, in the kernel's own words.
MEASURED = (
    "8:0 ctrl=user model=linear rbps=200000000 rseqiops=5000 rrandiops=2500 "
    "wbps=100000000 wseqiops=4000 wrandiops=1500\n"
)
MEASURED_QOS = (
    "8:0 enable=1 ctrl=user rpct=95.00 rlat=5000 wpct=95.00 wlat=9000 min=50.00 max=150.00\n"
)
# What the kernel takes for a disk of which it knows nothing (`autop[]` in blk-iocost.c).
GUESSED = (
    "8:0 ctrl=auto model=linear rbps=174019176 rseqiops=41708 rrandiops=370 "
    "wbps=178075866 wseqiops=42705 wrandiops=378\n"
)
GUESSED_QOS = (
    "8:0 enable={} ctrl=auto rpct=0.00 rlat=250000 wpct=0.00 wlat=250000 min=1.00 max=10000.00\n"
)


class FakeCgroups(HostFs):
    """Files below a directory; a write to a control file changes one device's line.

    With `iocost` somebody has measured a model and switched it on; without, it is as on every
    host after installation: the kernel has it, and was never told of a device.
    """

    def __init__(self, root: Path, *, iocost: bool = True) -> None:
        super().__init__(root)
        self.root = root
        self.writes: list[tuple[str, str]] = []
        self.refuse: str | None = None
        self.put("/proc/self/status", "CapEff:\t000001ffffffffff\n")
        self.put("/proc/self/mounts", f"cgroup2 {MOUNT} cgroup2 rw,nosuid 0 0\n")
        self.put(f"{MOUNT}/cgroup.controllers", "cpuset cpu io memory pids\n")
        self.put(f"{MOUNT}/io.cost.qos", MEASURED_QOS if iocost else "")
        self.put(f"{MOUNT}/io.cost.model", MEASURED if iocost else "")
        self.put(DEBUG_STATS, "N\n")
        self.put("/sys/dev/block/8:0/mq/0/nr_tags", "256\n")
        self.put("/sys/dev/block/8:0/dev", "8:0\n")
        self.put("/sys/class/block/sda/dev", "8:0\n")

    def put(self, path: str, text: str) -> None:
        """Make a file."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def add_group(self, group: str, *, io_max: str = "", weight: str = "default 100\n") -> None:
        """Make a control group with the io controller on."""
        self.put(f"{MOUNT}{group}/io.max", io_max)
        self.put(f"{MOUNT}{group}/io.weight", weight)
        self.put(f"{MOUNT}{group}/io.stat", "")

    def remove_group(self, group: str) -> None:
        """Remove it; another that is made in its place has another number."""
        folder = self.root / f"{MOUNT}{group}".lstrip("/")
        # Kept in another place, so that its number is not given again.
        folder.rename(self.root / f"removed-{folder.stat().st_ino}")

    def replace_disk(self) -> None:
        """Another disk gets the number 8:0, with an iocost that somebody has set up already."""
        folder = self.root / "sys/dev/block/8:0"
        # Kept in another place, so that its number is not given again.
        folder.rename(self.root / "unplugged")
        self.put("/sys/dev/block/8:0/mq/0/nr_tags", "256\n")
        self.put("/sys/dev/block/8:0/dev", "8:0\n")
        self.put(f"{MOUNT}/io.cost.qos", MEASURED_QOS)
        self.put(f"{MOUNT}/io.cost.model", MEASURED)

    def text(self, group: str, control: str) -> str:
        """What a control file shows."""
        return self.read(f"{MOUNT}{group}/{control}")

    def write(self, host_path: str, text: str) -> None:
        if self.refuse is not None and self.refuse in host_path:
            raise OSError(22, "Invalid argument")
        shown = self.read(host_path)
        if host_path.endswith("io.weight") and not self.read(f"{MOUNT}/io.cost.model"):
            raise OSError(95, "Operation not supported")
        self.writes.append((host_path.removeprefix(MOUNT), text))
        if host_path == DEBUG_STATS:
            self.put(host_path, f"{text}\n")
            return
        number, _, values = text.partition(" ")
        lines = {line.split()[0]: line for line in shown.splitlines()}
        if host_path.endswith("io.max"):
            old = lines.get(number, f"{number} {' '.join(f'{key}=max' for key in KEYS)}")
            both = [*old.split()[1:], *values.split()]
            pairs = {key: value for key, _, value in (word.partition("=") for word in both)}
            if {"0", "1"} & set(pairs.values()):
                # `val > 1` in tg_set_limit of block/blk-throttle.c, up to Linux 6.12.
                raise OSError(22, "Invalid argument")
            pairs = {
                key: "max" if text == "max" or int(text) >= LIMITLESS[key] else text
                for key, text in pairs.items()
            }
            lines[number] = f"{number} {' '.join(f'{key}={pairs[key]}' for key in KEYS)}"
            if all(pairs[key] == "max" for key in KEYS):
                del lines[number]
        elif host_path.endswith("io.cost.model"):
            self._list_device()
            lines[number] = text if "ctrl=user" in text else GUESSED.strip()
        elif host_path.endswith("io.cost.qos"):
            self._list_device()
            enable = dict(word.split("=") for word in values.split())["enable"]
            lines[number] = text if "ctrl=user" in text else GUESSED_QOS.format(enable).strip()
        elif values == "default":
            lines.pop(number, None)
        else:
            lines[number] = f"{number} {values}"
        self.put(host_path, "".join(f"{line}\n" for line in lines.values()))

    def _list_device(self) -> None:
        """A device of which iocost is told once has both lines for ever."""
        for control, text in (("model", GUESSED), ("qos", GUESSED_QOS.format(0))):
            if not self.read(f"{MOUNT}/io.cost.{control}"):
                self.put(f"{MOUNT}/io.cost.{control}", text)
