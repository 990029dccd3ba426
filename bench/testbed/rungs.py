"""The rungs of the testbed: on what the rows of a part are measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from bench.fleet.rows import Row


class Rung(StrEnum):
    """By the letter that the table shows; a row without one is of no kernel."""

    STORAGE = "A"
    """One host's storage: a guest in virtual time."""
    NETWORK = "B"
    """Network namespaces on this machine's kernel, in real time."""
    TWO_HOSTS = "C"
    """Two hosts with one datastore in one guest, with the real service."""
    PACKAGE = "D"
    """A Debian 13 with systemd, in which the agent's package is installed."""


def on_rung(rung: Rung, part: str, rows: Iterable[Row]) -> list[Row]:
    """The rows, each of which says its rung and its part."""
    return [replace(row, part=part, rung=rung) for row in rows]
