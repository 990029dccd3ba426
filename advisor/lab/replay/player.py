"""Replay experiments, several at once, and say what came out as rows, text or a timeline.

Nothing is stored: an experiment always gives the same answer, and needs no database.
"""

import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from typing import Any

from advisor.core.explanation.rounding import round_all
from advisor.errors import UnknownExperiment
from advisor.lab.replay.catalogue import MODELS
from advisor.lab.replay.experiment import Replay
from advisor.lab.replay.figure import FigureKind
from advisor.lab.replay.finding import Finding, Relation
from advisor.lab.replay.runner import replay_of
from advisor.lab.replay.study import Experiment, experiments, find_experiment
from advisor.lab.replay.timeline import timeline_of

NAMES = tuple(each.name for each in experiments())
PROCESSES = 2
LONGEST = ("sioc-nfs-day", "sioc-ssd-tiers", "sioc-ssd-shares", "sioc-nfs-shares")
TIMELINES = "timelines.json"
"""In this package; `sluice replay --all --timelines` writes it."""
TIMELINE_DIGITS = 5


def play(
    names: Sequence[str],
    *,
    processes: int = PROCESSES,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Replay]:
    """The replays of these experiments, in the order of the names; the same in every run.

    Each process plays whole experiments, those of one file in a row; `tell` hears the name of
    each when it has been played.
    UnknownExperiment for a name that is none.
    """
    for name in names:
        _find(name)
    workers = min(processes, len(names))
    if workers > 1:
        return _play_side_by_side(names, workers=workers, tell=tell)
    replays = []
    for name in names:
        replays.append(_play_one(name))
        tell(name)
    return replays


def _play_side_by_side(
    names: Sequence[str], *, workers: int, tell: Callable[[str], None]
) -> list[Replay]:
    played: dict[str, Replay] = {}
    with _players(workers) as pool:
        waiting = [pool.submit(_play_together, group) for group in _groups(names)]
        for done in as_completed(waiting):
            for replay in done.result():
                played[replay.experiment] = replay
                tell(replay.experiment)
    return [played[name] for name in names]


def _groups(names: Sequence[str]) -> list[list[str]]:
    """What one process plays in a row: models of one file, which have runs in common.

    The long ones come first, or the last would be played alone.
    """
    groups: dict[str, list[str]] = {}
    for name in sorted(set(names), key=NAMES.index):
        groups.setdefault(MODELS[name].__module__, []).append(name)
    return sorted(groups.values(), key=_is_short)


def _is_short(group: Sequence[str]) -> tuple[bool, int]:
    """After all that are in `LONGEST`, which are in their order."""
    places = [LONGEST.index(name) for name in group if name in LONGEST]
    return not places, min(places, default=0)


@contextmanager
def _players(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that are gone after the block; one that is left early ends them as they play."""
    before = set(active_children())
    # A fresh interpreter per process: threads of the caller's do not survive a fork.
    pool = ProcessPoolExecutor(
        max_workers=workers, mp_context=get_context("spawn"), initializer=_leave_interrupts
    )
    with ExitStack() as leaving_early:
        leaving_early.callback(pool.shutdown, cancel_futures=True)
        # Nobody waits for what is half played, least of all who pressed Ctrl-C.
        leaving_early.callback(_end_since, before)
        yield pool
        leaving_early.pop_all()
    pool.shutdown()


def _end_since(before: set[BaseProcess]) -> None:
    """End the children that have come since."""
    for process in set(active_children()) - before:
        process.terminate()


def _leave_interrupts() -> None:
    """Ctrl-C is for the process that plays side by side; it ends these."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def listing() -> list[dict[str, str]]:
    """What can be replayed."""
    return [
        {"experiment": each.name, "title": each.title, "study": each.study}
        for each in experiments()
    ]


def present_name(name: str) -> str:
    """The name of an experiment that may be given by what it was called up to 0.1."""
    return next((each.name for each in experiments() if each.old_name == name), name)


def rows_of(replays: Sequence[Replay]) -> list[dict[str, Any]]:
    """One row per check, with the keys programs rely on.

    Rows of one `experiment` and `number` check the same statement of the study; `kind` says
    whether it prints a number.
    """
    return [
        {
            "experiment": replay.experiment,
            "quantity": quantity_of(finding),
            "unit": finding.unit,
            "number": finding.number,
            "kind": str(finding.kind),
            "study_value": finding.study_value,
            "value": finding.value,
            "tolerance": finding.tolerance,
            "verdict": str(finding.verdict),
            "why": finding.why,
        }
        for replay in replays
        for finding in replay.findings
    ]


def quantity_of(finding: Finding) -> str:
    """What is compared, and how the printed number is meant if not as it stands."""
    if finding.relation is Relation.ABOUT:
        return finding.quantity
    return f"{finding.quantity} ({finding.relation})"


def timelines_of(replays: Sequence[Replay]) -> dict[str, Any]:
    """By experiment what a page needs to play it, as JSON types.

    Keys of each: experiment, study, title, duration_s, and panels with name, title, unit, times_s,
    series (label, values), marks (label, value), phases (at_s, label) and is_logarithmic; figures
    that are not over time; findings with the keys of `rows_of`; premises.
    """
    return {
        replay.experiment: _plain(
            {
                **asdict(timeline_of(replay)),
                "figures": [
                    asdict(figure)
                    for figure in replay.figures
                    if figure.kind is not FigureKind.OVER_TIME
                ],
                "findings": rows_of([replay]),
                "premises": [asdict(premise) for premise in replay.premises],
            }
        )
        for replay in replays
    }


def timeline_document(name: str) -> Mapping[str, Any]:
    """The recorded timeline of an experiment: nothing is simulated while a page waits.

    A test holds the recording against the simulation.
    """
    _find(name)
    document: Mapping[str, Any] = _recorded_timelines()[name]
    return document


@cache
def _recorded_timelines() -> dict[str, Any]:
    text = files("advisor.lab.replay").joinpath(TIMELINES).read_text()
    recorded: dict[str, Any] = json.loads(text)
    return recorded


def _find(name: str) -> Experiment:
    experiment = find_experiment(name)
    if experiment is None:
        known = name.lower()
        near = get_close_matches(known, NAMES, n=3, cutoff=0.6)
        near = near or [each for each in NAMES if known in each]
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise UnknownExperiment(
            f'there is no experiment "{name}"; {meant}there are: {", ".join(NAMES)}'
        )
    return experiment


def _play_one(name: str) -> Replay:
    return round_all(replay_of(_find(name), MODELS[name]()))


def _play_together(names: Sequence[str]) -> list[Replay]:
    return [_play_one(name) for name in names]


def _plain(value: Any) -> Any:
    """Tuples as lists, as JSON has them; numbers with the digits that a chart can show."""
    if isinstance(value, float):
        return float(f"{value:.{TIMELINE_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
