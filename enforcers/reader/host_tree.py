"""Quick reads of the host's file tree below a root; what cannot be read is noted, never raised."""

import errno
import os
import stat

_CHUNK_BYTES = 1 << 16
# A counter file that grows without end would never be over.
_LARGEST_FILE_BYTES = 64 * 1024 * 1024
# Files that vanish, or that a driver does not fill, are everyday life.
_NORMAL = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.ESRCH, errno.EINVAL}
    | {errno.EOPNOTSUPP, errno.ENODATA, errno.EISDIR}
)
_MOST_PROBLEMS = 100
_MOST_LINKS = 16


class HostTree:
    """Reads by absolute host path; `problems` are the reasons of what is missing in a pass."""

    def __init__(self, root: str = "/") -> None:
        self._root = root.rstrip("/")
        self.problems: dict[str, str] = {}

    def note(self, what: str, why: str) -> None:
        """Keep the reason why something is missing; so many are kept, and no more."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.setdefault(what, why)

    def read(self, path: str) -> bytes | None:
        """The whole file, however often the kernel hands out a part; None if it is not there."""
        try:
            descriptor = os.open(self.place(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            self._failed(path, error)
            return None
        try:
            first = os.read(descriptor, _CHUNK_BYTES)
            parts, size = [first], len(first)
            while part := os.read(descriptor, _CHUNK_BYTES):
                parts.append(part)
                size += len(part)
                if size > _LARGEST_FILE_BYTES:
                    self.note(path, f"is larger than {_LARGEST_FILE_BYTES} bytes")
                    break
        except OSError as error:
            self._failed(path, error)
            return None
        finally:
            os.close(descriptor)
        return first if len(parts) <= 1 else b"".join(parts)

    def text(self, path: str) -> str:
        """The text of a file, empty if it is not there; bytes that are no UTF-8 are kept apart."""
        data = self.read(path)
        return "" if data is None else data.decode("utf-8", "surrogateescape")

    def lines(self, path: str) -> list[str]:
        """The whole lines of a file, none if it is not there; one that breaks off is left out."""
        *lines, rest = self.text(path).split("\n")
        if rest:
            self.note(path, f"breaks off in line {len(lines) + 1}")
        return lines

    def word(self, path: str) -> str | None:
        """What a file of one value holds; None if it is not there or empty."""
        return self.text(path).strip(" \t\n\0") or None

    def names(self, path: str) -> list[str]:
        """The names in a directory in order, none if it is not there."""
        try:
            return sorted(os.listdir(self.place(path)))  # noqa: PTH208  no Path is needed
        except OSError as error:
            self._failed(path, error)
            return []

    def folders(self, path: str) -> list[str]:
        """The names of the directories in a directory, in order; links do not count."""
        try:
            with os.scandir(self.place(path)) as entries:
                return sorted(one.name for one in entries if one.is_dir(follow_symlinks=False))
        except OSError as error:
            self._failed(path, error)
            return []

    def has(self, path: str) -> bool:
        """Whether something is there."""
        return os.path.lexists(self.place(path))

    def link(self, path: str) -> str | None:
        """What a symbolic link says, word for word; None if it is none."""
        try:
            return os.readlink(self.place(path))  # noqa: PTH115  no Path is needed
        except OSError:
            return None

    def resolved(self, path: str) -> str:
        """The path with all its links followed, below the root; as far as they lead."""
        done, left = "", path.split("/")[1:]
        for _ in range(_MOST_LINKS * 16):
            if not left:
                break
            name, *left = left
            if name in {"", "."}:
                continue
            if name == "..":
                done = done.rpartition("/")[0]
                continue
            target = self.link(f"{done}/{name}")
            if target is None:
                done = f"{done}/{name}"
                continue
            if target.startswith("/"):
                done = ""
            left = [*target.split("/"), *left]
        return done or "/"

    def changed_at_ns(self, path: str) -> int | None:
        """When a plain file was changed last; None if it is not there."""
        try:
            found = os.stat(self.place(path))  # noqa: PTH116  no Path is needed
        except OSError:
            return None
        return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None

    def place(self, path: str) -> str:
        """Where a host path lies; no file has a name with a zero byte in it."""
        return self._root + (path.replace("\0", "\ufffd") if "\0" in path else path)

    def _failed(self, path: str, error: OSError) -> None:
        if error.errno not in _NORMAL:
            self.note(path, error.strerror or str(error))
