"""`sluice simulate`: the real service and real agents on virtual time, with faults from a seed."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, ArgumentTypeError
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.management.product_command import PrintingCommand
from accounts.models import Organisation
from accounts.table import table
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.scratch_database import on_scratch_database
from appliance.embedded.scratch_directory import scratch_directory
from appliance.embedded.stop_signals import interrupt_on_stop_signals
from appliance.simulation.play import play
from appliance.simulation.rows import rows_of
from config.paths import DataDir

TOLD_EVERY_S = 20.0
COLUMNS = ["what", "unit", "asked", "measured", "holds"]


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal()):
        raise ArgumentTypeError(f"{text!r} is neither a seed nor a range such as 1-30")
    seeds = range(int(first), int(last or first) + 1)
    if not seeds:
        raise ArgumentTypeError(f"there is no seed in {text}")
    return seeds


class Command(PrintingCommand):
    help = (
        "Play seeds: hosts with real agents and the real service on virtual time, with simulated "
        "faults of host, network and database, held to the invariants of docs/simulation.md. It "
        "happens in a database of its own, which is gone at the end. The exit status is 1 if an "
        "invariant did not hold; what happened before, and the command that repeats it, is told"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--seeds", type=_seeds, default=range(1, 31), metavar="A-B")
        parser.add_argument("--hosts", type=int, default=5)
        parser.add_argument("--minutes", type=float, default=20.0, help="of virtual time")
        parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
        parser.add_argument(
            "--here",
            action="store_true",
            help="in the database that this machine has, if no organisation is in it; nothing "
            "is kept there",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        interrupt_on_stop_signals()
        try:
            with ExitStack() as ends:
                ends.enter_context(_database(is_here=options["here"]))
                outcomes = []
                seeds = options["seeds"]
                told_s = time.monotonic()
                for outcome in play(seeds, hosts=options["hosts"], minutes=options["minutes"]):
                    outcomes.append(outcome)
                    if time.monotonic() - told_s > TOLD_EVERY_S:
                        told_s = time.monotonic()
                        self.stderr.write(f"simulate: {len(outcomes)} of {len(seeds)} seeds")
                    if outcome.violation is not None:
                        self.stderr.write(outcome.violation.text(_again(outcome.seed, options)))
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        rows = [asdict(row) for row in rows_of(outcomes)]
        self.stdout.write(table(rows, COLUMNS))
        if options["json"] is not None:
            options["json"].write_text(json.dumps(rows, indent=2) + "\n")
        if any(one.violation is not None for one in outcomes):
            raise SystemExit(1)


def _database(*, is_here: bool) -> AbstractContextManager[object]:
    if is_here:
        if Organisation.objects.exists():
            raise CommandError(
                "this database has organisations; without --here one of its own is made"
            )
        return nullcontext()
    ends = ExitStack()
    folder = ends.enter_context(scratch_directory())
    ends.enter_context(on_scratch_database(DataDir(folder)))
    return ends


def _again(seed: int, options: dict[str, Any]) -> str:
    return (
        f"sluice simulate --seeds {seed} --hosts {options['hosts']} "
        f"--minutes {options['minutes']:g}"
    )
