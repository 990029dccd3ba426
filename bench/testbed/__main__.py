"""`python -m bench.testbed`: what the agent must hold on real kernels, and what it does hold.

Each row says its rung. A: storage in guests, in virtual time; it needs root, QEMU and the kernels
of `make testbed-programs`. B: network namespaces on this machine's kernel, in real time; they need
root. C: two hosts with one datastore in a guest; they also need PostgreSQL and valkey. D: the
agent's package on a Debian 13 in a guest; it also needs PostgreSQL. Looks at many control groups
are taken of a tree of files, and QEMU holds a limit in a process of this machine: both are on no
rung.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench.fleet.rows import Row, as_document, as_json, as_table, not_measured
from bench.testbed import qemu, storage, storage_pass, studies, with_database
from bench.testbed.asked import why_nothing
from bench.testbed.endings import clean_up_when_told_to_end
from bench.testbed.kept import keep, present_commit
from bench.testbed.musts import misses
from bench.testbed.network import part as network_part
from bench.testbed.network import rows as network
from bench.testbed.plots.files import write_plots
from bench.testbed.rungs import Rung, on_rung
from tests.testbed.programs import kernel_file, missing_for_guests
from tests.testbed.storage.guest import KERNELS, Kernel

WHAT_STORAGE = ("all rows of storage on one host", "rows", "all")
GROUPS = {"storage": storage.PARTS, "network": network.PARTS}
PARTS = (
    *storage.PARTS, *network.PARTS, storage_pass.PART, qemu.PART, *with_database.PARTS,
    studies.PART,
)  # fmt: skip


def main() -> None:
    """Print the table; status 1 where a row that must hold does not."""
    options = _options()
    clean_up_when_told_to_end()
    parts = _parts(options.parts)
    rows = [*_storage(options, parts), *_network(options, parts)]
    if storage_pass.PART in parts:
        rows += storage_pass.storage_pass_rows()
    if qemu.PART in parts:
        rows += qemu.qemu_rows()
    rows += with_database.rows_with_database(parts, is_short=options.short)
    if studies.PART in parts:
        rows += studies.study_rows(rows)
    print(f"\n{as_table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(as_json(rows), indent=1) + "\n")
    if options.keep:
        keep(options.keep, rows, commit=present_commit(), at=datetime.now(UTC))
    if options.plots:
        written = write_plots(options.plots, rows)
        print(f"plots beside the studies' numbers: {len(written)} SVG files in {options.plots}")
    missed = misses(rows, _parts(options.must), GROUPS)
    if missed:
        sys.exit("\n".join(["must hold and does not:", *missed]))


def _parts(names: Sequence[str]) -> list[str]:
    return [part for name in names for part in GROUPS.get(name, (name,))]


def _options() -> argparse.Namespace:
    names = [kernel.name for kernel in KERNELS]
    parser = argparse.ArgumentParser(prog="python -m bench.testbed", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FILE",
        help="add the rows to a file of one line a run, with the commit",
    )
    parser.add_argument(
        "--plots",
        type=Path,
        metavar="FOLDER",
        help="draw what was measured beside the studies' numbers, one SVG file for each study",
    )
    parser.add_argument("--kernels", nargs="+", choices=names, default=names, metavar="KERNEL",
                        help=f"of {', '.join(names)}")  # fmt: skip
    parser.add_argument("--parts", nargs="+", choices=(*GROUPS, *PARTS), default=PARTS,
                        metavar="PART",
                        help=f"what is measured, of {', '.join((*GROUPS, *PARTS))}")  # fmt: skip
    parser.add_argument("--must", nargs="+", choices=(*GROUPS, *PARTS), default=(),
                        metavar="PART",
                        help="status 1 where a row of one of them does not hold")  # fmt: skip
    parser.add_argument("--short", action="store_true", help="few seconds of everything")
    parser.add_argument(
        "--agent-s",
        type=float,
        metavar="SECONDS",
        default=60.0,
        help="how long the part agent-cost looks at the agent's process (default: 60)",
    )
    return parser.parse_args()


def _storage(options: argparse.Namespace, parts: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    if not set(parts) & set(storage.PARTS):
        return rows
    for kernel in [kernel for kernel in KERNELS if kernel.name in options.kernels]:
        began_s = time.monotonic()
        rows += _measured(kernel, storage.SHORT if options.short else storage.WHOLE, parts)
        print(f"kernel {kernel.name}: {time.monotonic() - began_s:.0f} s", flush=True)
    return rows


def _network(options: argparse.Namespace, parts: Sequence[str]) -> list[Row]:
    effort = network_part.SHORT if options.short else network_part.WHOLE
    effort = replace(effort, agent_s=options.agent_s)
    rows: list[Row] = []
    began_s = time.monotonic()
    for row in network.network_rows(effort, parts):
        rows.append(row)
        print(as_document([row]), flush=True)
    if rows:
        print(f"network: {time.monotonic() - began_s:.0f} s", flush=True)
    return rows


def _measured(kernel: Kernel, effort: storage.Effort, parts: Sequence[str]) -> list[Row]:
    """The rows on one kernel, printed as they come; the last one says why there are no more."""
    what, unit, asked = WHAT_STORAGE
    why = missing_for_guests()
    if why is None and not kernel_file(kernel.name, "vmlinuz").exists():
        why = "no such kernel; make testbed-programs obtains it"
    rows: list[Row] = []
    if why is None:
        try:
            for row in storage.storage_rows(kernel, effort, parts):
                rows.append(row)
                print(as_document([row]), flush=True)
        except Exception as error:  # noqa: BLE001  (one kernel must not cost the others' rows)
            why = why_nothing(error)
    if why is not None:
        none = not_measured(f"{what}, Linux {kernel.name}", unit, asked, why)
        rows += on_rung(Rung.STORAGE, "storage", [none])
    return rows


if __name__ == "__main__":
    main()
