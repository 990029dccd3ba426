"""`sluice-enforcer --check`: what this host supports."""

import json
import platform

from enforcers.canonical_json import to_plain
from enforcers.host_fs import HostFs
from enforcers.mechanism import HostAccess
from enforcers.registry import build_mechanisms
from enforcers.runner import Runner, SubprocessRunner
from enforcers.table import format_table
from enforcers.version import VERSION


def show(*, as_json: bool, runner: Runner | None = None, host_fs: HostFs | None = None) -> int:
    """Print the support of every mechanism; needs no configuration and changes nothing."""
    host = HostAccess(runner=runner or SubprocessRunner(), host_fs=host_fs or HostFs())
    found = [mechanism.support() for mechanism in build_mechanisms(host, {}).values()]
    if as_json:
        answer = {
            "agent_version": VERSION,
            "kernel": platform.release(),
            "mechanisms": [to_plain(item) for item in found],
        }
        print(json.dumps(answer, indent=2))
        return 0
    print(f"sluice-enforcer {VERSION} on Linux {platform.release()}\n")
    rows = [(item.mechanism, "yes" if item.supported else "no", item.reason) for item in found]
    print(format_table(("mechanism", "supported", "reason"), rows))
    return 0
