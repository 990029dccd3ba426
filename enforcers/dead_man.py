"""Puts the kernel back if the agent is gone and its policy is over: a timer calls it."""

import logging
import sys
from contextlib import ExitStack

from enforcers.assembly import assemble
from enforcers.config import AgentConfig
from enforcers.restoring import put_back
from enforcers.state_dir import StateDir

log = logging.getLogger(__name__)


def restore_if_over(config: AgentConfig) -> int:
    """Restore what an agent left that did not come back while its lease lasted.

    An agent that runs ends leases itself. A policy that cannot be read counts as over. The
    policy held is not forgotten, so that no older one is taken later. Raises StateError.
    """
    state_dir = StateDir(root=config.state_dir)
    if not state_dir.root.is_dir() or state_dir.running_pid() is not None:
        return 0
    with state_dir.exclusive(), ExitStack() as ends:
        parts = assemble(config, dry_run=False)
        ends.callback(parts.locks.close)
        latest = parts.store.latest
        if latest is not None and not latest.lease.is_over(parts.clocks.moment()):
            return 0
        restored = put_back(parts)
    for problem in restored.problems:
        print(f"sluice-enforcer: {problem}", file=sys.stderr)
    if restored.devices and not restored.problems:
        devices = ", ".join(restored.devices)
        log.warning("restored, because no agent came back in time", extra={"devices": devices})
    return 1 if restored.problems else 0
