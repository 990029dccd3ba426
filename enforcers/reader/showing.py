"""`sluice-enforcer read --once`: what one pass reads, for people and programs."""

import json
import sys
import time

from enforcers.reader.device_facts import Facts
from enforcers.reader.facts import Subject
from enforcers.reader.host_tree import HostTree
from enforcers.reader.reading import Reader

KINDS = ("host", "device", "nic", "mount", "workload")


def show_reading(host: str, *, root: str, as_json: bool, ask_qemu: bool) -> int:
    """Print the lines of one pass, or its facts as JSON; what could not be read goes to stderr."""
    reader = Reader(HostTree(root), host=host, ask_qemu=ask_qemu)
    reading = reader.read(at_ns=time.time_ns(), now_s=time.monotonic())
    if as_json:
        shown = {"host": host, "facts": _plain(reading.facts), "problems": reading.problems}
        print(json.dumps(shown, indent=2))
    else:
        print("\n".join(reading.lines))
    for what, reason in sorted(reading.problems.items()):
        print(f"sluice-enforcer: {what}: {reason}", file=sys.stderr)
    return 0


def _plain(facts: dict[Subject, Facts]) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Facts by kind, name and fact; each has a list, because some have several values."""
    plain: dict[str, dict[str, dict[str, list[str]]]] = {kind: {} for kind in KINDS}
    for (kind, name), found in sorted(facts.items()):
        plain[kind][name] = {key: list(values) for key, values in sorted(found.items())}
    return plain
