"""Who may change a device: one agent at a time, whatever its state directory."""

import logging
import os
import weakref
from hashlib import sha256
from pathlib import Path

from enforcers.errors import DeviceTaken, StateError
from enforcers.file_lock import try_lock
from enforcers.host_fs import HostFs

log = logging.getLogger(__name__)

RUN_DIR = Path("/run/sluice-enforcer")
NETWORK_NAMESPACE = "/proc/self/ns/net"

LONGEST_NAME_BYTES = 4096
_OWNER_MARK = ", state directory "

Target = tuple[str, str]


class DeviceLocks:
    """Locks on files named after devices. The kernel opens them when the process ends.

    The files stay: a lock on a file that was removed would keep nobody out.
    """

    def __init__(self, folder: Path, host_fs: HostFs, *, owner: Path) -> None:
        """`owner` is the state directory, for the agent that finds a device taken."""
        self._folder = folder
        self._host_fs = host_fs
        self._owner = owner
        self._held: dict[Target, int] = {}
        weakref.finalize(self, _close_all, self._held)

    def hold(self, target: Target, *, may_lack: bool = False) -> None:
        """Be the only agent on a device of a mechanism.

        `may_lack` allows a lock that cannot be made, so that a full disk prevents no restore.

        Raises DeviceTaken, which says who has it, or StateError if no lock can be made.
        """
        if target in self._held:
            return
        path = self._folder / f"{target[0]}-{identity(self._host_fs, target[1])}.lock"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            problem = f"{path} cannot be opened: {error.strerror}"
            if not may_lack:
                raise StateError(problem) from error
            log.warning("going on without a lock", extra={"error": problem})
            return
        if not try_lock(descriptor):
            holder = os.read(descriptor, LONGEST_NAME_BYTES).decode(errors="replace").strip()
            os.close(descriptor)
            raise DeviceTaken(
                f"another agent governs {target[1]} ({holder}); end it, or take the device out "
                "of one of the two configurations"
            )
        self._held[target] = descriptor
        _write_owner(descriptor, f"process {os.getpid()}{_OWNER_MARK}{self._owner}\n")

    def release(self, target: Target) -> None:
        """Let another agent have it."""
        descriptor = self._held.pop(target, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Let go of all."""
        _close_all(self._held)


def owners(folder: Path) -> set[Path]:
    """The state directories of agents that have, or had, a lock of this folder."""
    found: set[Path] = set()
    for path in sorted(folder.glob("*.lock")):
        try:
            text = path.read_text(errors="replace")
        except OSError as error:
            log.warning("lock not read", extra={"file": str(path), "error": str(error)})
            continue
        _, mark, owner = text.rstrip("\n").partition(_OWNER_MARK)
        if mark and Path(owner).is_absolute():
            found.add(Path(owner))
    return found


def identity(host_fs: HostFs, device: str) -> str:
    """What a device is whatever it is called, as part of a file name.

    A block device is its number; an interface is its index in its network namespace; a mount or
    an export is its name.
    """
    if "/" in device:
        return f"place-{sha256(device.encode()).hexdigest()[:32]}"
    number = host_fs.read_or_none(f"/sys/class/block/{device}/dev")
    if number is not None or ":" in device:
        return f"block-{(number or device).strip().replace(':', '-')}"
    namespace = host_fs.identity(NETWORK_NAMESPACE)
    index = host_fs.read_or_none(f"/sys/class/net/{device}/ifindex")
    return f"net-{namespace}-{device if index is None else index.strip()}"


def folder_for_locks(run_dir: Path, fallback: Path) -> Path:
    """The folder of all agents; without the right to it, one of this state directory's own.

    Such an agent has no right to the host's devices either, only to those of a namespace.
    """
    try:
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_open = os.access(run_dir, os.W_OK | os.X_OK)
    except OSError:
        is_open = False
    if is_open:
        return run_dir
    log.info("devices are locked among agents of one state directory only")
    return fallback


def _close_all(held: dict[Target, int]) -> None:
    while held:
        os.close(held.popitem()[1])


def _write_owner(descriptor: int, text: str) -> None:
    """For people, and `owners`; the lock counts without it, also on a full disk."""
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, text.encode())
    except OSError as error:
        log.warning("lock without a name", extra={"error": str(error)})
