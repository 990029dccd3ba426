"""The host's file tree below a root, so that tests can put another tree in its place."""

import os
from pathlib import Path

_PIECE_BYTES = 65_536


class HostFs:
    """Reads and writes host files by absolute host path, all below one root."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = str(root).rstrip("/")

    def path(self, host_path: str) -> Path:
        """Where a host path lies below the root; a path with `..` is refused."""
        return Path(self._place(host_path))

    def read(self, host_path: str) -> str:
        """The text of a file. Raises OSError.

        Hundreds are read each second, so neither a Path nor a file object is made for it.
        """
        descriptor = os.open(self._place(host_path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = b""
            while piece := os.read(descriptor, _PIECE_BYTES):
                found += piece
            return found.decode(errors="replace")
        finally:
            os.close(descriptor)

    def read_or_none(self, host_path: str) -> str | None:
        """The text of a file, None if it is not there or cannot be read."""
        try:
            return self.read(host_path)
        except OSError:
            return None

    def write(self, host_path: str, text: str) -> None:
        """Write one value to an existing control file. Only the executor calls this.

        A control file is never created: a missing one means the kernel lacks the control.
        """
        descriptor = os.open(self._place(host_path), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def is_dir(self, host_path: str) -> bool:
        """Whether a directory is there; not of a name that is too long for one."""
        return _is_dir(self.path(host_path))

    def is_dir_below(self, folder: str, below: str) -> bool:
        """Whether a directory is there, at its own place: no link led to it from elsewhere."""
        place = os.path.realpath(self._place(f"{folder}{below}"))
        own = os.path.realpath(self._place(folder)) + below.rstrip("/")
        return place == own and _is_dir(Path(place))

    def folders(self, host_path: str) -> list[str]:
        """The names of the folders in a folder, in order; none if it is not there."""
        try:
            return sorted(item.name for item in self.path(host_path).iterdir() if item.is_dir())
        except OSError:
            return []

    def identity(self, host_path: str) -> str | None:
        """What tells a directory from one that is made anew in its place; None if none is there.

        The number of a control group is never given again (kernfs).
        """
        try:
            return str(os.stat(self._place(host_path)).st_ino)  # noqa: PTH116  (as above)
        except OSError:
            return None

    def _place(self, host_path: str) -> str:
        if not host_path.startswith("/") or ".." in host_path.split("/"):
            raise ValueError(f"not an absolute host path without ..: {host_path!r}")
        return f"{self._root}{host_path}"


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
