"""What people are shown of advice: its changes as a table, its facts, and what approving does."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.advice.shared.picture import Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column with its unit, if all its numbers have the same."""

    title: str
    unit: str = ""
    is_number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceTable:
    """Rows of texts in the order of the columns; None is a value that is not known.

    `title` is empty where the rows say what would change.
    """

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[str | None, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One input of the formula, as people read it."""

    name: str
    text: str


NOTED = "Approved: it is noted that somebody will do it. Nothing was changed on any host."


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """What approving does and does not do, what the button says, and what is said afterwards.

    Most advice is work for a person: approving notes that it will be done.
    """

    does: str
    does_not: str
    undo: str
    button: str = "Approve: it will be done"
    done: str = NOTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One recommendation; without enough measurements there is no picture."""

    table: AdviceTable
    facts: tuple[Fact, ...]
    picture: Picture | None
    commitment: Commitment
