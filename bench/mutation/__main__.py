"""Plant a seeded sample of small faults and tell which of them no test notices.

Run `python -m bench.mutation`. A fault is put into the imported module, in memory, in a process of
its own; no file is changed. Only tests that need no service run: those nearest to the module by
imports, and for what they miss those a little further. Exit status 1 below the asked ratio.
"""

import argparse
import json
import os
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from bench.mutation.imports import Importers, module_name
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
    equivalents = known_equivalents(options.equivalents)
    mutants = sample(options.paths, seed=options.seed, count=options.count)
    tried = [mutant for mutant in mutants if key_of(mutant) not in equivalents]
    verdicts = dict(_verdicts(tried, jobs=options.jobs, limit_s=options.limit))
    judged = [Judged(mutant=mutant, verdict=verdicts.get(mutant)) for mutant in mutants]
    rows = rows_of(judged)
    print(f"seed {options.seed}", *table_of(judged), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if rows[-1]["holds"] else 1


def key_of(mutant: Mutant) -> Key:
    """What the list of equivalent mutants knows it by; its line may move."""
    return mutant.path, mutant.before, mutant.after


def known_equivalents(path: Path = EQUIVALENTS) -> dict[Key, str]:
    """Why the product does the same with each of these mutants, so that no test can tell."""
    entries = tomllib.loads(path.read_text())["equivalent"]
    return {(one["file"], one["before"], one["after"]): one["reason"] for one in entries}


def sample(paths: Sequence[str], *, seed: int, count: int) -> list[Mutant]:
    """Up to `count` mutants of the modules below the paths, each as likely as any other."""
    files = sorted({file for path in paths for file in _modules(Path(path))})
    sources = {str(file): file.read_text() for file in files}
    places = [
        (path, number) for path, text in sources.items() for number in range(count_mutants(text))
    ]
    chosen = sorted(Random(seed).sample(places, min(count, len(places))))
    return [describe(path, sources[path], number) for path, number in chosen]


def _modules(path: Path) -> Iterator[Path]:
    if not path.exists():
        sys.exit(f"mutation: {path} does not exist; run in the checkout's root")
    yield from path.rglob("*.py") if path.is_dir() else [path]


def _verdicts(
    mutants: Sequence[Mutant], *, jobs: int, limit_s: float
) -> Iterator[tuple[Mutant, Verdict]]:
    """Try each mutant on the nearest tests, and what survives them on those further away."""
    importers = Importers(Path(), IMPORTING, through=PATHS)
    paths = sorted({mutant.path for mutant in mutants})
    rings = {path: importers.tests_of(module_name(Path(path))) for path in paths}
    left = list(mutants)
    for ring in range(2):
        quick = _quick({test for mutant in left for test in rings[mutant.path][ring]})
        trials = {
            Trial(path=mutant.path, number=mutant.number, tests=tests): mutant
            for mutant in left
            if (tests := _in_order(rings[mutant.path][ring], quick))
        }
        results = run_trials(list(trials), jobs=jobs, limit_s=limit_s)
        for done, (trial, verdict) in enumerate(results, start=1):
            if done % SHOWN_EVERY == 0:
                print(f"{done} of {len(trials)} tried", file=sys.stderr, flush=True)
            if verdict is Verdict.SURVIVED:
                print(f"unnoticed so far: {trials[trial]}", file=sys.stderr, flush=True)
            else:
                left.remove(trials[trial])
                yield trials[trial], verdict
    yield from ((mutant, Verdict.SURVIVED) for mutant in left)


def _quick(tests: Collection[str]) -> dict[str, float]:
    """Seconds of each file with quick tests; one that always fails would kill every mutant."""
    try:
        return quick_tests(sorted(tests)) if tests else {}
    except NotGreen:
        sys.exit("mutation: the tests fail without any fault; see `make test-fast`")


def _in_order(tests: Sequence[str], seconds: Mapping[str, float]) -> tuple[str, ...]:
    """The files with quick tests, those first that take the least time."""
    found = [test for test in tests if test in seconds]
    return tuple(sorted(found, key=lambda test: seconds[test]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample")
    parser.add_argument("--count", type=int, default=300, help="how many mutants to try")
    parser.add_argument("--paths", nargs="+", default=PATHS, help="files or folders to mutate")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one mutant's tests")
    parser.add_argument("--json", type=Path, help="write the rows of the result to this file")
    parser.add_argument("--equivalents", type=Path, default=EQUIVALENTS, help="known equivalents")
    return parser


if __name__ == "__main__":
    sys.exit(main())
