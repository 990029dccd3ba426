"""What was found before the first write, kept on disk so that it can always be put back."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from enforcers import canonical_json
from enforcers.doubled_file import copy_damaged, read_newest, write_both
from enforcers.errors import ContractError, StateError

log = logging.getLogger(__name__)

FORMAT_VERSION = 2
FORMER_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One thing the agent may have changed and the text that describes what it was.

    `identity` tells the very thing whatever it is called, as its mechanism writes it; None in
    entries of agents that did not note it.
    """

    mechanism: str
    device: str
    thing: str
    found: str
    identity: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes an entry unique."""
        return (self.mechanism, self.device, self.thing)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage:
    """All entries of one boot; the kernel forgets everything at the next.

    `lost` says why more may have been changed than the entries tell.
    """

    schema_version: int = FORMAT_VERSION
    boot_id: str
    entries: tuple[LedgerEntry, ...]
    lost: str | None = None

    def __post_init__(self) -> None:
        check_entries(self.entries)


class Ledger:
    """The entries on disk, twice. Every change is on disk before it returns."""

    def __init__(self, path: Path, *, boot_id: str) -> None:
        """Read both copies, and take the newest good one.

        If none is good the ledger is `lost`, and has no entries. Raises StateError if the files
        cannot be read, or a newer agent wrote them.
        """
        self._paths = (path, copy_of(path))
        newest = read_newest(self._paths, decode_page)
        page = newest.content
        self._number = newest.number
        self._is_whole = newest.is_whole and page is not None and page.boot_id == boot_id
        self.is_missing = page is None and not newest.problems
        self._page = LedgerPage(boot_id=boot_id, entries=())
        self._indexed: tuple[LedgerEntry, ...] = ()
        self._index: dict[tuple[str, str, str], LedgerEntry] = {}
        if page is not None and page.boot_id == boot_id:
            self._page = page
        elif page is None and newest.problems:
            self._page = replace(self._page, lost="; ".join(newest.problems))
        if page is not None and newest.problems:
            log.warning("one copy of the ledger is of no use", extra={"why": newest.problems})

    @property
    def lost(self) -> str | None:
        """Why more may have been changed than the entries tell; None if they tell all."""
        return self._page.lost

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
        return {entry.key for entry in found} <= self._known().keys()

    def record(self, found: tuple[LedgerEntry, ...]) -> None:
        """Keep what was found; an existing entry stays, because it is the original.

        One of another thing of that name goes: that thing is no more.
        """
        known = self._known()
        new = {entry.key: entry for entry in found if _is_new(entry, known.get(entry.key))}
        if new:
            left = tuple(entry for key, entry in known.items() if key not in new)
            self._store(left + tuple(entry for entry in found if entry.key in new))
        else:
            # What a write that failed left on disk may tell less.
            self.mend()

    def _known(self) -> Mapping[tuple[str, str, str], LedgerEntry]:
        """The entries by key; hundreds of weights are looked up in each pass on storage."""
        if self._indexed is not self._page.entries:
            self._indexed = self._page.entries
            self._index = {entry.key: entry for entry in self._indexed}
        return self._index

    def release(self, restored: tuple[LedgerEntry, ...]) -> None:
        """Forget entries whose things are as they were found."""
        gone = {entry.key for entry in restored}
        left = tuple(entry for entry in self._page.entries if entry.key not in gone)
        if left != self._page.entries:
            self._store(left)

    def lose(self, why: str) -> None:
        """Note that more may have been changed than the entries tell."""
        self._page = replace(self._page, lost=why)
        self._is_whole = False

    def find_again(self) -> None:
        """Note that all has been found again, or put back otherwise."""
        if self._page.lost is not None:
            self._page = replace(self._page, lost=None)
            self._store(self._page.entries)

    def mend(self) -> None:
        """Have two good copies on disk; what damaged ones hold is kept. Raises StateError."""
        if not self._is_whole:
            self._store(self._page.entries)

    def _store(self, entries: tuple[LedgerEntry, ...]) -> None:
        ordered = tuple(sorted(entries, key=lambda entry: entry.key))
        page = replace(self._page, entries=ordered)
        number = self._number + 1
        if not self._is_whole:
            copy_damaged(self._paths, decode_page)
        self._is_whole = False
        write_both(self._paths, canonical_json.to_plain(page), number=number)
        self._page, self._number, self._is_whole = page, number, True


def copy_of(path: Path) -> Path:
    """Where the second copy of a ledger lies."""
    return path.with_suffix(".copy.json")


def check_entries(entries: tuple[LedgerEntry, ...]) -> None:
    """Refuse a thing that is there twice, or out of order, before a write and after a read."""
    keys = [entry.key for entry in entries]
    if keys != sorted(set(keys)):
        raise ContractError("$.entries", "a thing appears twice, or they are out of order")


def decode_page(plain: Any) -> LedgerPage:
    """Raises ContractError if it is no page, StateError if a newer agent wrote it."""
    version = plain.get("schema_version") if isinstance(plain, dict) else None
    if type(version) is int and version > FORMAT_VERSION:
        raise StateError(
            f"the ledger has format {version}, and this agent knows {FORMAT_VERSION}: it was "
            "written by a newer agent, which alone can restore what it changed"
        )
    if version == FORMER_VERSION:
        return canonical_json.decode(
            LedgerPage, plain | {"schema_version": FORMAT_VERSION}, may_lack_defaults=True
        )
    return canonical_json.decode_known(LedgerPage, plain, known=FORMAT_VERSION)


def _is_new(entry: LedgerEntry, known: LedgerEntry | None) -> bool:
    if known is None:
        return True
    return None not in (entry.identity, known.identity) and entry.identity != known.identity
