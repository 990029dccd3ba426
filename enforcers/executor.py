"""The only writer: every change to the kernel passes here."""

import logging
from dataclasses import dataclass

from enforcers.audit import AuditLog
from enforcers.change import Change, Command, FileWrite, in_safe_order
from enforcers.errors import CommandError
from enforcers.host_fs import HostFs
from enforcers.ledger import Ledger, LedgerEntry
from enforcers.runner import Runner

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """How far a run came; `error` is None if every change was made."""

    made: tuple[Change, ...]
    error: str | None


class Executor:
    """Makes changes in a safe order and notes each one.

    What was found is on disk before the first write. A dry run writes nothing at all.
    """

    def __init__(
        self,
        *,
        runner: Runner,
        host_fs: HostFs,
        ledger: Ledger,
        audit: AuditLog,
        dry_run: bool,
    ) -> None:
        self._runner = runner
        self._host_fs = host_fs
        self._ledger = ledger
        self._audit = audit
        self.dry_run = dry_run

    def run(self, changes: tuple[Change, ...], found: tuple[LedgerEntry, ...]) -> Execution:
        """Make the changes and stop at the first that fails.

        Raises StateError, before the kernel is touched, if the ledger cannot be written.
        """
        needed = [change for change in in_safe_order(changes) if change.before != change.after]
        if self.dry_run or not needed:
            return Execution(made=(), error=None)
        self._ledger.record(found)
        assert self._ledger.holds(found), (
            "invariant ledger-before-kernel: a thing is about to change and cannot be put back"
        )
        made: list[Change] = []
        for change in needed:
            error = self._make(change)
            self._audit.record(change, error=error)
            if error is not None:
                log.warning("change failed", extra={"change": str(change), "error": error})
                return Execution(made=tuple(made), error=error)
            log.info("change made", extra={"change": str(change)})
            made.append(change)
        return Execution(made=tuple(made), error=None)

    def release(self, restored: tuple[LedgerEntry, ...]) -> None:
        """Forget what has been put back."""
        if not self.dry_run:
            self._ledger.release(restored)

    def _make(self, change: Change) -> str | None:
        match change.write:
            case Command(argv=argv):
                try:
                    self._runner.run(argv)
                except CommandError as error:
                    return str(error)
            case FileWrite(path=path, text=text):
                try:
                    self._host_fs.write(path, text)
                except OSError as error:
                    return f"{change.write}: {error.strerror}"
        return None
