"""What was found before the first write, kept on disk so that it can always be put back."""

from dataclasses import dataclass, replace
from pathlib import Path

from enforcers import canonical_json
from enforcers.atomic_file import write_atomically
from enforcers.errors import ContractError, StateError

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One thing the agent may have changed and the text that describes what it was."""

    mechanism: str
    device: str
    thing: str
    found: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes an entry unique."""
        return (self.mechanism, self.device, self.thing)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage:
    """All entries of one boot; the kernel forgets everything at the next."""

    schema_version: int = FORMAT_VERSION
    boot_id: str
    entries: tuple[LedgerEntry, ...]

    def __post_init__(self) -> None:
        check_entries(self.entries)


class Ledger:
    """The entries on disk. Every change is on disk before it returns."""

    def __init__(self, path: Path, *, boot_id: str) -> None:
        """Read the file. Raises StateError if it is damaged: guessing could harm the host."""
        self._path = path
        self._page = LedgerPage(boot_id=boot_id, entries=())
        page = _read(path)
        if page is not None and page.boot_id == boot_id:
            self._page = page

    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries, in a fixed order."""
        return self._page.entries

    def of(self, mechanism: str, device: str) -> tuple[LedgerEntry, ...]:
        """The entries of one device."""
        return tuple(
            entry
            for entry in self._page.entries
            if entry.mechanism == mechanism and entry.device == device
        )

    def holds(self, found: tuple[LedgerEntry, ...]) -> bool:
        """Whether each of these things has an entry, so that it can be put back."""
        return {entry.key for entry in found} <= {entry.key for entry in self._page.entries}

    def record(self, found: tuple[LedgerEntry, ...]) -> None:
        """Keep what was found; an existing entry stays, because it is the original."""
        known = {entry.key for entry in self._page.entries}
        new = tuple(entry for entry in found if entry.key not in known)
        if new:
            self._store(self._page.entries + new)

    def release(self, restored: tuple[LedgerEntry, ...]) -> None:
        """Forget entries whose things are as they were found."""
        gone = {entry.key for entry in restored}
        left = tuple(entry for entry in self._page.entries if entry.key not in gone)
        if left != self._page.entries:
            self._store(left)

    def _store(self, entries: tuple[LedgerEntry, ...]) -> None:
        ordered = tuple(sorted(entries, key=lambda entry: entry.key))
        page = replace(self._page, entries=ordered)
        write_atomically(self._path, canonical_json.encode(page))
        self._page = page


def check_entries(entries: tuple[LedgerEntry, ...]) -> None:
    """Refuse a thing that is there twice, or out of order, before a write and after a read."""
    keys = [entry.key for entry in entries]
    if keys != sorted(set(keys)):
        raise ContractError("$.entries", "a thing appears twice, or they are out of order")


def _read(path: Path) -> LedgerPage | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return canonical_json.decode_versioned(LedgerPage, data, known=FORMAT_VERSION)
    except ContractError as error:
        raise StateError(
            f"{path} is damaged ({error}); it says how to put the host back: repair it, "
            "or undo by hand as the mechanisms' README says and remove it"
        ) from error
