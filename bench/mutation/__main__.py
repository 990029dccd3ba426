"""Plant a seeded sample of small faults and tell which of them no test notices.

Run `python -m bench.mutation`. A fault is put into the imported module, in memory, in a process of
its own; no file is changed. Only tests that need no service run: those nearest to the module by
imports, and for what they miss those a little further. Exit status 1 below the asked ratio.
"""

import argparse
import hashlib
import json
import os
import signal
import sys
import tomllib
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from heapq import nsmallest
from pathlib import Path

from bench.mutation.imports import Importers, module_name
from bench.mutation.journal import Journal
from bench.mutation.mutants import Mutant, count_mutants, describe
from bench.mutation.report import Judged, rows_of, table_of
from bench.mutation.trial import NotGreen, Trial, Verdict, quick_tests, run_trials

PURE_ROOMS = sorted(map(str, Path("advisor/advice").glob("*/decide")))
PATHS = ("advisor/core", *PURE_ROOMS, "advisor/resource_kinds", "ingest/core", "enforcers")
IMPORTING = ("advisor", "appliance", "config", "enforcers", "ingest", "tests", "web")
EQUIVALENTS = Path(__file__).with_name("equivalents.toml")
SHOWN_EVERY = 20
Key = tuple[str, str, str]


def main() -> int:
    """Measure, print and answer with the exit status."""
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    equivalents = known_equivalents(options.equivalents)
    mutants = sample(options.paths, seed=options.seed, count=options.count)
    verdicts = _judge(
        [mutant for mutant in mutants if key_of(mutant) not in equivalents],
        Journal(options.journal),
        jobs=options.jobs,
        limit_s=options.limit,
    )
    judged = [
        Judged(mutant=mutant, verdict=verdicts.get(mutant))
        for mutant in mutants
        if mutant in verdicts or key_of(mutant) in equivalents
    ]
    rows = rows_of(judged)
    print(f"seed {options.seed}", *table_of(judged), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    if untried := len(mutants) - len(judged):
        print(f"stopped: {untried} of {len(mutants)} mutants have no verdict")
    return 0 if rows[-1]["holds"] and not untried else 1


def key_of(mutant: Mutant) -> Key:
    """What the list of equivalent mutants knows it by; its line may move."""
    return mutant.path, mutant.before, mutant.after


def known_equivalents(path: Path = EQUIVALENTS) -> dict[Key, str]:
    """Why the product does the same with each of these mutants, so that no test can tell."""
    entries = tomllib.loads(path.read_text())["equivalent"]
    return {(one["file"], one["before"], one["after"]): one["reason"] for one in entries}


def sample(paths: Sequence[str], *, seed: int, count: int) -> list[Mutant]:
    """Up to `count` mutants of the modules below the paths, each as likely as any other.

    When a module changes, the choice among the others changes only by those that take the place
    of its own.
    """
    files = sorted({file for path in paths for file in _modules(Path(path))})
    sources = {str(file): file.read_text() for file in files}
    places = [
        (path, number) for path, text in sources.items() for number in range(count_mutants(text))
    ]
    chosen = nsmallest(count, places, key=lambda place: _drawn(seed, *place))
    return [describe(path, sources[path], number) for path, number in sorted(chosen)]


def _drawn(seed: int, path: str, number: int) -> bytes:
    return hashlib.sha256(f"{seed} {path} {number}".encode()).digest()


def _modules(path: Path) -> Iterator[Path]:
    if not path.exists():
        sys.exit(f"mutation: {path} does not exist; run in the checkout's root")
    yield from path.rglob("*.py") if path.is_dir() else [path]


def _judge(
    mutants: Sequence[Mutant], journal: Journal, *, jobs: int, limit_s: float
) -> dict[Mutant, Verdict]:
    """The verdict of each mutant; when the run is stopped, of those that have one."""
    verdicts = {mutant: Verdict.KILLED for mutant in mutants if journal.has_killed(mutant)}
    if verdicts:
        _tell(f"{len(verdicts)} of {len(mutants)} were killed before")
    left = [mutant for mutant in mutants if mutant not in verdicts]
    try:
        with closing(_verdicts(left, jobs=jobs, limit_s=limit_s)) as found:
            for mutant, verdict in found:
                verdicts[mutant] = verdict
                journal.add(mutant, verdict)
                if verdict is not Verdict.KILLED:
                    _tell(f"{verdict}: {mutant}")
    except KeyboardInterrupt:
        _tell("stopped")
    return verdicts


def _verdicts(
    mutants: Sequence[Mutant], *, jobs: int, limit_s: float
) -> Generator[tuple[Mutant, Verdict]]:
    """Try each mutant on the nearest tests, and what survives them on those further away.

    Of the tests, those come first that take the least time.
    """
    importers = Importers(Path(), IMPORTING, through=PATHS)
    paths = sorted({mutant.path for mutant in mutants})
    modules = {path: module_name(Path(path)) for path in paths}
    quick = _quick(
        {test for name in modules.values() for test in importers.tests_that_reach(name)}
    )
    rings = {path: importers.tests_of(name, among=quick) for path, name in modules.items()}
    left = list(mutants)
    for ring in range(2):
        trials = {
            Trial(
                path=mutant.path,
                number=mutant.number,
                tests=tests,
                cpu_s=sum(quick[test] for test in tests),
            ): mutant
            for mutant in left
            if (tests := tuple(sorted(rings[mutant.path][ring], key=quick.__getitem__)))
        }
        results = run_trials(list(trials), jobs=jobs, limit_s=limit_s)
        with closing(results):
            for done, (trial, verdict) in enumerate(results, start=1):
                if done % SHOWN_EVERY == 0:
                    _tell(f"{done} of {len(trials)} tried")
                if verdict is Verdict.SURVIVED:
                    _tell(f"unnoticed so far: {trials[trial]}")
                else:
                    left.remove(trials[trial])
                    yield trials[trial], verdict
    yield from ((mutant, Verdict.SURVIVED) for mutant in left)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _quick(tests: Collection[str]) -> dict[str, float]:
    """Seconds of each file with quick tests; one that always fails would kill every mutant."""
    try:
        return quick_tests(sorted(tests)) if tests else {}
    except NotGreen:
        sys.exit("mutation: the tests fail without any fault; see `make test-fast`")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample")
    parser.add_argument("--count", type=int, default=300, help="how many mutants to try")
    parser.add_argument("--paths", nargs="+", default=PATHS, help="files or folders to mutate")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument(
        "--limit", type=float, default=1800, help="seconds for one mutant's tests, waits included"
    )
    parser.add_argument("--json", type=Path, help="write the rows of the result to this file")
    parser.add_argument(
        "--journal", type=Path, help="note verdicts here at once; do not repeat the kills in it"
    )
    parser.add_argument("--equivalents", type=Path, default=EQUIVALENTS, help="known equivalents")
    return parser


if __name__ == "__main__":
    sys.exit(main())
