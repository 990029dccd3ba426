"""Since when each allocation has been in force without a break."""

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from enforcers import canonical_json
from enforcers.atomic_file import write_atomically
from enforcers.contract import Allocation, EnforcementState, Outcome
from enforcers.enforcement import PassResult
from enforcers.errors import ContractError, StateError
from enforcers.outcomes import FALLS_SHORT

log = logging.getLogger(__name__)

FORMAT_VERSION = 1

# Somebody else had changed it, or it was not there yet on a thing that is new.
_BREAKS = frozenset({Outcome.DRIFTED, Outcome.REPLACED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """What was promised, and the seconds since boot from which on it was always in force."""

    allocation: Allocation
    boot_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SincePage:
    """All of one boot, as they are on disk."""

    schema_version: int = FORMAT_VERSION
    boot_id: str
    since: tuple[Since, ...]


class InForce:
    """Remembers by allocation what is in force, from one pass to the next and over a restart."""

    def __init__(self, file: Path | None = None) -> None:
        """`file` None: nothing is kept on disk."""
        self._file = file
        self._boot_id: str | None = None
        self._since: dict[str, Since] = {}
        # Of an agent before, until the first pass shows whether it still holds.
        self._inherited: frozenset[str] = frozenset()

    def begin(self, boot_id: str, *, was_in_force: bool, is_watched: bool) -> None:
        """Go on in this process, also with another configuration.

        At its start with what an agent before left, if `was_in_force` says that nobody put the
        policy back since. Not `is_watched`: no pass will be noted, so nothing is known later.
        """
        is_start = self._boot_id is None
        self._boot_id = boot_id
        found = self._read() if is_start and was_in_force and is_watched else {}
        if is_start:
            self._since, self._inherited = found, frozenset(found)
        if not is_watched:
            self._since, self._inherited = {}, frozenset()
        if not self._since and self._file is not None and self._file.exists():
            self._write()

    def take(self, result: PassResult, state: EnforcementState, *, boot_s: float) -> None:
        """Note a pass that ended at `boot_s`, in seconds since boot."""
        before = self._since
        if state is not EnforcementState.ENFORCING:
            self._since = {}
        else:
            self._since = {
                item.allocation.id: self._kept(item.allocation, item.outcome, boot_s)
                for item in result.enforced
                if item.outcome not in FALLS_SHORT
            }
        self._inherited = frozenset()
        if self._since != before:
            self._write()

    def since_boot_s(self, allocation: str) -> float | None:
        """The first pass from which on it was always in force; None if it is not."""
        found = self._since.get(allocation)
        return None if found is None else found.boot_s

    def _kept(self, allocation: Allocation, outcome: Outcome, boot_s: float) -> Since:
        before = self._since.get(allocation.id)
        # What somebody is entitled to changes with its neighbours; what it was promised does not.
        promised = replace(allocation, entitlement=0.0)
        is_broken = outcome in _BREAKS or (
            # What had to be written was not in force while no agent ran.
            allocation.id in self._inherited and outcome is not Outcome.UNCHANGED
        )
        if before is None or before.allocation != promised or is_broken:
            return Since(allocation=promised, boot_s=boot_s)
        return before

    def _read(self) -> dict[str, Since]:
        if self._file is None:
            return {}
        try:
            page = canonical_json.decode(
                SincePage, canonical_json.parse(self._file.read_bytes()), may_lack_defaults=True
            )
        except FileNotFoundError:
            return {}
        except (OSError, ContractError) as error:
            log.warning("enforced since not usable", extra={"error": str(error)})
            return {}
        is_known = page.schema_version == FORMAT_VERSION and page.boot_id == self._boot_id
        return {one.allocation.id: one for one in page.since} if is_known else {}

    def _write(self) -> None:
        if self._file is None or self._boot_id is None:
            return
        page = SincePage(boot_id=self._boot_id, since=tuple(self._since.values()))
        try:
            write_atomically(self._file, canonical_json.encode(page))
        except StateError as error:
            # It is shown all the same. What is on disk is over, so the next start begins anew.
            log.warning("enforced since not kept", extra={"error": str(error)})
            with suppress(OSError):
                self._file.unlink()
