"""The only writer: every change to the kernel passes here."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

from enforcers.audit import AuditLog
from enforcers.change import Change, Command, FileWrite, MonitorOrder, in_safe_order
from enforcers.errors import CommandError, MonitorError, MonitorRefused
from enforcers.host_fs import HostFs
from enforcers.ledger import Ledger, LedgerEntry
from enforcers.qmp import Monitors
from enforcers.runner import Runner

log = logging.getLogger(__name__)

_FAILED_LINE = re.compile(r"Command failed \S*:(\d+)")
# A busy host must make it within the time limit of a program: the kernel looks at all classes of
# a tree when one is added, which takes milliseconds where there are thousands.
LONGEST_BATCH = 750
# Quotes, backslashes and # have a meaning in a batch.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.:/@+=,%-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """How far a run came; `error` is None if every change was made.

    `made` holds also what may have been made by a program, or a guest, that was cut short.
    """

    made: tuple[Change, ...]
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """How many changes were made and failed since the start, and how many small ones made."""

    made: int = 0
    failed: int = 0
    adjusted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """How one run of a program went. Of `doubtful` changes nobody knows: it was cut short."""

    made: Sequence[Change] = ()
    failed: Sequence[Change] = ()
    doubtful: Sequence[Change] = ()
    error: str | None = None


class Executor:
    """Makes changes in a safe order and notes each one.

    What was found is on disk before the first write. A dry run writes nothing at all.
    """

    def __init__(
        self,
        *,
        runner: Runner,
        host_fs: HostFs,
        monitors: Monitors,
        ledger: Ledger,
        audit: AuditLog,
        dry_run: bool,
    ) -> None:
        self._runner = runner
        self._host_fs = host_fs
        self._monitors = monitors
        self._ledger = ledger
        self._audit = audit
        self.dry_run = dry_run
        self._writes = Counter[str]()

    @property
    def writes(self) -> Writes:
        """How many writes to the kernel there were."""
        return Writes(**self._writes)

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
        for together in _runs(needed):
            step = self._make(together)
            self._tell(step.made, error=None)
            made += step.made
            if step.error is not None:
                self._tell([*step.failed, *step.doubtful], error=step.error)
                return Execution(made=(*made, *step.doubtful), error=step.error)
        return Execution(made=tuple(made), error=None)

    def adjust(self, write: FileWrite, found: tuple[LedgerEntry, ...]) -> None:
        """Make a small change of what is in force already, as often as each second.

        It has no audit line of its own: that of the policy tells it. `found` is empty once it
        is in the ledger. Raises OSError, and StateError if the ledger cannot be written.
        """
        if self.dry_run:
            return
        if found:
            self._ledger.record(found)
        assert self._ledger.holds(found), (
            "invariant ledger-before-kernel: a thing is about to change and cannot be put back"
        )
        self._host_fs.write(write.path, write.text)
        self._writes["adjusted"] += 1
        if log.isEnabledFor(logging.DEBUG):
            log.debug("adjusted", extra={"change": str(write)})

    def adjust_together(self, changes: Sequence[Change]) -> None:
        """Make small changes of what is in the ledger and in force already, as `adjust` does.

        Raises OSError at the first that fails.
        """
        if self.dry_run:
            return
        for together in _runs(changes):
            step = self._make(together)
            self._writes["adjusted"] += len(step.made)
            if step.error is not None:
                raise OSError(step.error)

    def release(self, restored: tuple[LedgerEntry, ...]) -> None:
        """Forget what has been put back."""
        if not self.dry_run:
            self._ledger.release(restored)

    def _tell(self, changes: Sequence[Change], *, error: str | None) -> None:
        self._audit.record(changes, error=error)
        self._writes["made" if error is None else "failed"] += len(changes)
        for change in changes:
            if error is None:
                log.info("change made", extra={"change": str(change)})
            else:
                log.warning("change failed", extra={"change": str(change), "error": error})

    def _make(self, together: Sequence[Change]) -> _Step:
        first = together[0]
        batch = _batch(first)
        if batch is not None:
            return self._make_batch(batch, together)
        try:
            match first.write:
                case Command(argv=argv):
                    self._runner.run(argv)
                case FileWrite(path=path, text=text):
                    self._host_fs.write(path, text)
                case MonitorOrder() as told:
                    self._tell_monitor(told)
        except (CommandError, MonitorRefused) as error:
            return _Step(failed=(first,), error=str(error))
        except MonitorError as error:
            # It may have heard the order, and only its answer is lost.
            return _Step(doubtful=(first,), error=str(error))
        except OSError as error:
            return _Step(failed=(first,), error=f"{first.write}: {error.strerror}")
        return _Step(made=(first,))

    def _tell_monitor(self, told: MonitorOrder) -> None:
        place = str(self._host_fs.path(told.monitor.path))
        try:
            self._monitors.say(replace(told.monitor, path=place), [told.order])
        except MonitorError as error:
            raise type(error)(f"{told}: {error}") from error

    def _make_batch(self, batch: tuple[str, ...], together: Sequence[Change]) -> _Step:
        argvs = [change.write.argv for change in together if isinstance(change.write, Command)]
        try:
            self._runner.run(batch, stdin="".join(f"{' '.join(argv[1:])}\n" for argv in argvs))
        except CommandError as error:
            failed = _FAILED_LINE.search(error.answer)
            if failed is None:
                return _Step(doubtful=together, error=str(error))
            count = int(failed[1]) - 1
            answer = _FAILED_LINE.sub("", error.answer).strip()
            return _Step(
                made=together[:count],
                failed=together[count : count + 1],
                error=str(CommandError(argvs[count], answer)),
            )
        return _Step(made=together)


def _runs(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Neighbours that one program makes in one run; a change without a batch is alone."""
    for batch, neighbours in groupby(changes, _batch):
        longest = 1 if batch is None else LONGEST_BATCH
        while together := list(islice(neighbours, longest)):
            yield together


def _batch(change: Change) -> tuple[str, ...] | None:
    """The program for a run of changes; None if it would read a word in another way."""
    write = change.write
    if not isinstance(write, Command) or not all(map(_PLAIN_WORD.fullmatch, write.argv)):
        return None
    return write.batch
