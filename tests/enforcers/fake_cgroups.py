"""A cgroup v2 tree as files, whose control files answer writes as the kernel does."""

from pathlib import Path

from enforcers.host_fs import HostFs

MOUNT = "/sys/fs/cgroup"
KEYS = ("rbps", "wbps", "riops", "wiops")


class FakeCgroups(HostFs):
    """Files below a directory; a write to `io.max` or `io.weight` changes one device's line."""

    def __init__(self, root: Path, *, iocost: bool = True) -> None:
        super().__init__(root)
        self.root = root
        self.writes: list[tuple[str, str]] = []
        self.refuse: str | None = None
        self.put("/proc/self/status", "CapEff:\t000001ffffffffff\n")
        self.put("/proc/self/mounts", f"cgroup2 {MOUNT} cgroup2 rw,nosuid 0 0\n")
        self.put(f"{MOUNT}/cgroup.controllers", "cpuset cpu io memory pids\n")
        qos = "8:0 enable=1 ctrl=auto rpct=0.00\n" if iocost else "8:0 enable=0 ctrl=auto\n"
        self.put(f"{MOUNT}/io.cost.qos", qos)
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

    def text(self, group: str, control: str) -> str:
        """What a control file shows."""
        return self.read(f"{MOUNT}{group}/{control}")

    def write(self, host_path: str, text: str) -> None:
        if self.refuse is not None and self.refuse in host_path:
            raise OSError(22, "Invalid argument")
        shown = self.read(host_path)
        self.writes.append((host_path.removeprefix(MOUNT), text))
        number, _, values = text.partition(" ")
        lines = {line.split()[0]: line for line in shown.splitlines()}
        if host_path.endswith("io.max"):
            old = lines.get(number, f"{number} {' '.join(f'{key}=max' for key in KEYS)}")
            pairs = dict(word.split("=") for word in old.split()[1:])
            pairs.update(word.split("=") for word in values.split())
            lines[number] = f"{number} {' '.join(f'{key}={pairs[key]}' for key in KEYS)}"
            if all(pairs[key] == "max" for key in KEYS):
                del lines[number]
        elif values == "default":
            lines.pop(number, None)
        else:
            lines[number] = f"{number} {values}"
        self.put(host_path, "".join(f"{line}\n" for line in lines.values()))
