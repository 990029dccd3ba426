"""What a replay answers, and what a model of an experiment hands over for it."""

from collections.abc import Mapping
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


Value = float | str | None
"""A number of a model, a text made of such, or None for what was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a model gives: its numbers by name, some of them by place (VM, pattern), and figures.

    A study's file refers to the names.
    """

    values: Mapping[str, Value | Mapping[str, Value]]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One experiment replayed: what went in, what came out beside the study, and its figures."""

    experiment: str
    study: str
    title: str
    premises: tuple[Premise, ...]
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...]
