"""How long the agent takes to bring a policy for many workloads into an uplink's HTB tree.

Run `python -m bench.enforce` as root. It works in a network namespace of its own, on an uplink and
vNICs that nobody uses. Time is from the document's arrival to the last look at what the kernel
has. How long old and new settings are in force together is from the first to the last class that
the kernel says it changed. Beside it stand the same changes by one bare `tc -batch`, and by one tc
for each.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from bench.class_changes import ClassChanges
from bench.fleet.rows import Row, as_json, at_most
from enforcers import kernel_news
from enforcers.audit import AuditLog
from enforcers.contract import (
    Allocation,
    PolicyDocument,
    ReservationMode,
    ResourceKind,
    ResourceSpec,
    Selector,
    Unit,
    encode_document,
    sign,
)
from enforcers.device_locks import DeviceLocks
from enforcers.enforcement import Enforcement
from enforcers.executor import Executor
from enforcers.host_fs import HostFs
from enforcers.ledger import Ledger
from enforcers.left import LeftFile
from enforcers.mechanism import HostAccess
from enforcers.mechanisms.tc_htb.found import TC_BATCH
from enforcers.mechanisms.tc_htb.mechanism import HtbConfig
from enforcers.qmp import SocketMonitors
from enforcers.registry import build_mechanisms
from enforcers.runner import SubprocessRunner
from enforcers.signed_document import DocumentReader

LINK_BITS_PER_S = 10e9
FIRST_ASKED_S = 0.3
CHANGE_ASKED_S = 0.1
MIXED_ASKED_S = 0.02
MIXED_CHANGES = 10
KEY = b"benchmark"
_INSIDE = "SLUICE_BENCH_NAMESPACE"


class Recorder:
    """Runs programs, counts them, and keeps the last batch."""

    def __init__(self) -> None:
        self.programs = 0
        self.batch = ""
        self._runner = SubprocessRunner()

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        self.programs += 1
        if tuple(argv) == TC_BATCH:
            self.batch = stdin
        return self._runner.run(argv, stdin=stdin)


def policy(workloads: int, *, limit_bits_per_s: float, revision: int) -> bytes:
    """A signed document: each workload has a reservation, a limit and shares."""
    now = datetime.now(UTC)
    uplink = ResourceSpec(
        name="uplink",
        kind=ResourceKind.UPLINK,
        device="up0",
        capacity=LINK_BITS_PER_S,
        unit=Unit.BITS_PER_S,
        mode=ReservationMode.ADDITIVE,
        mechanism="tc_htb",
    )
    allocations = tuple(
        Allocation(
            id=f"a{number}",
            workload=f"vm{number}",
            resource="uplink",
            selector=Selector(kind="vnic", value=f"p{number}"),
            reservation=LINK_BITS_PER_S / 2 / workloads,
            limit=limit_bits_per_s,
            shares=100 + number % 3 * 100,
            entitlement=LINK_BITS_PER_S / workloads,
        )
        for number in range(workloads)
    )
    document = PolicyDocument(
        host="h1",
        revision=revision,
        issued_at=now,
        expires_at=now + timedelta(hours=1),
        dry_run=False,
        resources=(uplink,),
        allocations=allocations,
    )
    return encode_document(sign(document, KEY))


def wall_s(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


def measure(workloads: int, folder: Path) -> list[Row]:
    """Rows of the first policy, of a change of every limit, and of the two ways beside it."""
    recorder, host_fs = Recorder(), HostFs()
    ledger = Ledger(folder / "ledger.json", boot_id="bench")
    executor = Executor(
        runner=recorder,
        host_fs=host_fs,
        monitors=SocketMonitors(),
        ledger=ledger,
        audit=AuditLog(folder / "audit.jsonl", lambda: datetime.now(UTC)),
        dry_run=False,
    )
    mechanisms = build_mechanisms(
        HostAccess(runner=recorder, host_fs=host_fs, hear=kernel_news.hear),
        {"tc_htb": HtbConfig(interfaces=frozenset({"up0"}))},
    )
    enforcement = Enforcement(
        mechanisms=mechanisms,
        executor=executor,
        ledger=ledger,
        locks=DeviceLocks(folder / "locks", host_fs, owner=folder),
        left=LeftFile(folder / "left.json", boot_id="bench"),
        first_retry_s=10.0,
    )
    # As an agent does when it starts.
    mechanisms["tc_htb"].support()

    reader = DocumentReader(KEY)

    def enforce(data: bytes) -> None:
        document = reader.read(data)
        result = enforcement.run(document, previous=None, now_s=time.monotonic())
        assert not result.has_failed, result

    rows: list[Row] = []
    batches: list[str] = []
    for what, asked_s, limit in (
        ("first policy", FIRST_ASKED_S, 2e9),
        ("change of every limit", CHANGE_ASKED_S, 1e9),
    ):
        data = policy(workloads, limit_bits_per_s=limit, revision=len(rows) + 1)
        recorder.programs = 0
        took_s = wall_s(partial(enforce, data))
        batches.append(recorder.batch)
        note = f"{recorder.batch.count(chr(10))} changes, {recorder.programs} programs"
        rows.append(at_most(f"{what}, {workloads} workloads", "s", asked_s, took_s, note))
    rows.append(_mixed(workloads, enforce))
    return [*rows, *_beside(batches[0])]


def _mixed(workloads: int, enforce: Callable[[bytes], None]) -> Row:
    """The longest of several changes, of which each moves every limit up or down."""
    took_s: list[float] = []
    for number in range(MIXED_CHANGES):
        data = policy(workloads, limit_bits_per_s=(2e9, 1e9)[number % 2], revision=10 + number)
        with ClassChanges() as changes:
            enforce(data)
        assert changes.count == workloads, changes.count
        took_s.append(changes.took_s)
    note = f"median {statistics.median(took_s) * 1e3:.1f} ms of {MIXED_CHANGES} changes"
    what = f"old and new together, change of every limit, {workloads} workloads, longest"
    return at_most(what, "s", MIXED_ASKED_S, max(took_s), note)


def _beside(batch: str) -> list[Row]:
    def anew() -> None:
        subprocess.run(["tc", "qdisc", "del", "dev", "up0", "root"], check=True)

    def one_batch() -> None:
        subprocess.run(TC_BATCH, input=batch, text=True, check=True)

    def one_by_one() -> None:
        for line in batch.splitlines():
            subprocess.run(["tc", *line.split()], check=True)

    rows = []
    for what, work in (("the same by a bare tc -batch", one_batch), ("by a tc each", one_by_one)):
        anew()
        rows.append(
            Row(what=what, unit="s", asked="", measured=wall_s(work), holds=True, note="floor")
        )
    return rows


def _make_links(workloads: int) -> None:
    lines = ["link add up0 type veth peer name up1", "link set up0 up", "link set up1 up"]
    lines += [f"link add p{n} type veth peer name e{n}" for n in range(workloads)]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.enforce", description=__doc__)
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("only root can make a network namespace")
    if _INSIDE not in os.environ:
        os.environ[_INSIDE] = "1"
        os.execvp(
            "unshare", ["unshare", "--net", sys.executable, "-m", "bench.enforce", *sys.argv[1:]]
        )
    _make_links(options.workloads)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(options.workloads, Path(folder))
    for row in rows:
        asked = f"asked {row.asked} " if row.asked else ""
        print(f"{row.what}: {row.measured:.3f} {row.unit} {asked}({row.note})")
    if options.json:
        options.json.write_text(json.dumps(as_json(rows), indent=2))


if __name__ == "__main__":
    main()
