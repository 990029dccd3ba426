"""Puts the kernel back if the agent is gone and its policy is over: a timer calls it."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from enforcers import config
from enforcers.assembly import Parts, assemble, assemble_by_ledger
from enforcers.config import DEFAULT_STATE_DIR
from enforcers.device_locks import RUN_DIR, owners
from enforcers.errors import ConfigError, StateError
from enforcers.ledger import copy_of
from enforcers.restoring import Restored, put_back
from enforcers.state_dir import StateDir

log = logging.getLogger(__name__)


def restore_if_over(file: Path) -> int:
    """Restore what an agent left that did not come back while its lease lasted.

    An agent that runs ends leases itself. A policy that cannot be read counts as over. The
    policy held is not forgotten, so that no older one is taken later. `file` is the
    configuration; without one of use the ledger alone tells what to put back. Raises StateError,
    and ConfigError if no ledger is found either.
    """
    try:
        loaded = config.load(file)
    except ConfigError as error:
        roots = _left_roots(file)
        if not roots:
            raise
        log.info("no configuration of use, so by the ledger", extra={"error": str(error)})
        return max(restore_left(root, partial(assemble_by_ledger, root)) for root in roots)
    assembled = partial(assemble, loaded, dry_run=False)
    return restore_left(loaded.state_dir, assembled, is_dry=loaded.dry_run)


def restore_left(root: Path, assembled: Callable[[], Parts], *, is_dry: bool = False) -> int:
    """Restore what the agent of one state directory left, unless it runs or its lease lasts.

    `is_dry`: the agent only rehearsed. The exit status is 0 if nothing is left. Raises StateError.
    """
    state_dir = StateDir(root=root)
    if not state_dir.root.is_dir() or state_dir.running_pid() is not None:
        return 0
    with state_dir.exclusive(), ExitStack() as ends:
        parts = assembled()
        ends.callback(parts.locks.close)
        held = parts.store.governing(is_dry=is_dry)
        if held is not None and not held.lease.is_over(parts.clocks.moment()):
            return 0
        restored = put_back(parts)
        problems = [*restored.problems, *_forget_in_force(parts, restored)]
    for problem in problems:
        print(f"sluice-enforcer: {problem}", file=sys.stderr)
    if restored.devices and not problems:
        devices = ", ".join(restored.devices)
        log.warning("restored, because no agent came back in time", extra={"devices": devices})
    return 1 if problems else 0


def _forget_in_force(parts: Parts, restored: Restored) -> Iterator[str]:
    """Note that no policy governs the kernel any more, so that no agent goes back to one."""
    if restored.problems:
        return
    try:
        parts.store.keep_enforced(None)
    except StateError as error:
        yield str(error)


def _left_roots(file: Path) -> list[Path]:
    """State directories with a ledger: what the file still names, else all that are known.

    Those are the package's and the ones that agents wrote into the locks of devices.
    """
    named = config.state_dir_in(file)
    known = {Path(DEFAULT_STATE_DIR), *owners(RUN_DIR)} if named is None else {named}
    return [root for root in sorted(known) if _has_ledger(StateDir(root=root))]


def _has_ledger(state_dir: StateDir) -> bool:
    return state_dir.ledger.exists() or copy_of(state_dir.ledger).exists()
