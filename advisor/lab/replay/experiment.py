"""What a replay is asked for and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from advisor.lab.replay.figure import Figure
from advisor.lab.replay.finding import Finding


class Basis(StrEnum):
    """Where a number that goes into a model comes from."""

    CALIBRATED = "calibrated"
    STATED = "stated"
    ASSUMED = "assumed"
    DEFAULT = "product default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Premise:
    """A number that went in: `source` says on what it was calibrated, or why it is assumed."""

    quantity: str
    value: float
    unit: str
    basis: Basis
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One experiment replayed: what went in, what came out beside the seed, and its figures."""

    experiment: str
    title: str
    premises: tuple[Premise, ...]
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment that can be replayed; `play` always gives the same answer."""

    name: str
    title: str
    play: Callable[[], Replay]
