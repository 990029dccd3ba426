"""`sluice replay`: published experiments in the simulator. Needs no database."""

from __future__ import annotations

import itertools
import json
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.management.plain_command import PlainCommand
from accounts.table import table
from advisor.errors import AdvisorError, UnknownExperiment
from advisor.lab.replay.document import markdown_of, number, study_text
from advisor.lab.replay.experiment import Replay
from advisor.lab.replay.player import (
    NAMES,
    PROCESSES,
    listing,
    play,
    present_name,
    rows_of,
    timelines_of,
)
from advisor.lab.replay.plots import check_plotting, draw
from advisor.lab.replay.tally import summary_of

LIST = "list"
MISUSE = 2
"""Exit status of a wrong command line, as argparse has it."""


class Command(PlainCommand):
    help = "Run published experiments in the simulator and compare the results"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "names",
            nargs="*",
            metavar="LIST|NAME",
            help='"list", or experiments to replay, separated by spaces or commas',
        )
        parser.add_argument("--all", action="store_true", help="replay every experiment")
        shown = parser.add_mutually_exclusive_group()
        shown.add_argument(
            "--json", action="store_true", dest="as_json", help="print JSON for programs"
        )
        shown.add_argument("--markdown", action="store_true", help="print the page docs/replay.md")
        shown.add_argument(
            "--timelines",
            action="store_true",
            help="print the timelines of the replay pages as JSON",
        )
        parser.add_argument(
            "--plot", metavar="DIR", type=Path, help="write the figures as SVG files"
        )
        parser.add_argument(
            "--processes", type=int, default=PROCESSES, help="experiments to run at once"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        words = [name for word in options["names"] for name in word.split(",") if name]
        names = [self._present(word) for word in words]
        if options["all"] and names:
            raise CommandError("give --all or names, not both", returncode=MISUSE)
        if options["processes"] < 1:
            raise CommandError(
                f"--processes is {options['processes']}; it must be at least 1", returncode=MISUSE
            )
        if not options["all"] and (not names or [name.lower() for name in names] == [LIST]):
            self._show_list(options)
            return
        replays, drawn = self._play(
            NAMES if options["all"] else tuple(dict.fromkeys(names)), options
        )
        if options["as_json"]:
            self.stdout.write(json.dumps(rows_of(replays), indent=2, allow_nan=False))
        elif options["timelines"]:
            self.stdout.write(json.dumps(timelines_of(replays), allow_nan=False))
        elif options["markdown"]:
            self.stdout.write(markdown_of(replays), ending="")
        else:
            self._show(replays)
        if drawn:
            self.stderr.write(f"{len(drawn)} figures in {options['plot']}")

    def _present(self, word: str) -> str:
        """The present name; a former name works for one release, with a warning."""
        name = present_name(word)
        if name != word:
            self.stderr.write(f"{word} is now called {name}", str)
        return name

    def _play(
        self, names: Sequence[str], options: dict[str, Any]
    ) -> tuple[list[Replay], list[Path]]:
        """The replays and the files of their figures; wrong arguments are refused first."""
        try:
            if options["plot"]:
                check_plotting(options["plot"])
            replays = play(names, processes=options["processes"], tell=self._progress(len(names)))
            drawn = draw(replays, options["plot"]) if options["plot"] else []
        except UnknownExperiment as error:
            raise CommandError(str(error), returncode=MISUSE) from error
        except AdvisorError as error:
            raise CommandError(str(error)) from error
        return replays, drawn

    def _progress(self, count: int) -> Callable[[str], None]:
        """Prints each finished experiment on a terminal; prints nothing elsewhere."""
        numbers = itertools.count(1)

        def tell(name: str) -> None:
            if count > 1 and self.stderr.isatty():
                self.stderr.write(f"{next(numbers)} of {count}: {name}", str)

        return tell

    def _show_list(self, options: dict[str, Any]) -> None:
        unused = [word for word in ("plot", "markdown", "timelines") if options[word]]
        if unused:
            raise CommandError(
                f"--{unused[0]} needs --all or names of experiments", returncode=MISUSE
            )
        as_json, rows = options["as_json"], listing()
        self.stdout.write(
            json.dumps(rows, indent=2)
            if as_json
            else table(rows, ["experiment", "title", "study"])
        )

    def _show(self, replays: Sequence[Replay]) -> None:
        for replay in replays:
            self._show_one(replay)
        self.stdout.write(f"Each counted once: {summary_of(rows_of(replays))}")

    def _show_one(self, replay: Replay) -> None:
        self.stdout.write(self.style.MIGRATE_HEADING(f"{replay.experiment}  {replay.title}"))
        for premise in replay.premises:
            self.stdout.write(
                f"  {premise.basis}: {premise.quantity} = {number(premise.value)} "
                f"{premise.unit} ({premise.source})"
            )
        rows = [
            {
                **row,
                "study": study_text(row["study_value"], row["kind"]),
                "ours": number(row["value"]),
                "tolerance": number(row["tolerance"]),
            }
            for row in rows_of([replay])
        ]
        columns = ["quantity", "unit", "study", "ours", "tolerance", "verdict"]
        self.stdout.write(table(rows, columns))
        for row in rows:
            if row["verdict"] != "holds":
                self.stdout.write(f"  {row['verdict']}: {row['quantity']}: {row['why']}")
        self.stdout.write("")
