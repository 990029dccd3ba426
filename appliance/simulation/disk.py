"""A host's state directory: real files, of which a loss of power keeps what was synced, and of the
rest what the run's chance says."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from appliance.simulation.strikes import Strikes


class SimulatedDisk:
    """What is in the folder now, and what would be there after a loss of power.

    A name is there for sure once its folder was synced, and a content once its file was.
    """

    def __init__(self, root: Path, strikes: Strikes) -> None:
        self.root = root
        self.strikes = strikes
        self.told: Callable[[Path], None] = lambda _path: None
        self._synced: dict[str, bytes] = {}
        self._durable: dict[str, bytes] = {}

    def holds(self, path: str) -> bool:
        """Whether the folder, or a file in it, is meant."""
        return path == str(self.root) or path.startswith(f"{self.root}/")

    def before_write(self, halfway: Callable[[], object]) -> None:
        """Before bytes are written to a file."""
        self.strikes.disk_step(halfway)

    def before_change(self) -> None:
        """Before a name is made or goes."""
        self.strikes.disk_step()

    def sync(self, path: str) -> None:
        """A file, or all names of the folder, from now on outlive a loss of power."""
        self.strikes.disk_step()
        if path == str(self.root):
            self._durable = {name: self._surely(name) for name in self._names()}
        else:
            self._synced[Path(path).name] = Path(path).read_bytes()

    def renamed(self, source: str, target: str) -> None:
        """A file has another name, and its content goes with it."""
        content = self._synced.pop(Path(source).name, None)
        self._synced.pop(Path(target).name, None)
        if content is not None:
            self._synced[Path(target).name] = content
        self.told(Path(target))

    def outlives(self, name: str) -> bool:
        """Whether a file as it is now would be there after a loss of power."""
        path = self.root / name
        return path.exists() and self._durable.get(name) == path.read_bytes()

    def lose_power(self, rng: random.Random) -> None:
        """Leave what a disk may have after the power was cut."""
        for name in sorted({*self._names(), *self._durable}):
            path = self.root / name
            kept = self._durable.get(name)
            new = path.read_bytes() if path.is_file() else None
            if new != kept and rng.random() < 0.5:
                kept = None if new is None else self._synced.get(name, new[: rng.randrange(9)])
            if kept is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(kept)
        self._durable = {name: (self.root / name).read_bytes() for name in self._names()}
        self._synced = dict(self._durable)

    def _surely(self, name: str) -> bytes:
        """What was synced of a file; of one that never was, nothing."""
        return self._synced.get(name, b"")

    def _names(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir() if path.is_file())
