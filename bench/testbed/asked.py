"""What is asked of a row, said before anything is measured: the row is there either way."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import ge, le, lt
from textwrap import shorten

from bench.fleet.rows import Row, not_measured

_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": le,
    "<": lt,
    ">=": ge,
}
LONGEST_REASON = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A row to come: its bound is `word`, one of `<=`, `<` and `>=`, and a number in the unit.

    Without a word nothing is asked, and the row holds once something was measured.
    """

    what: str
    unit: str
    word: str = ""
    bound: float = 0.0

    def row(self, measured: float, note: str = "") -> Row:
        """The row with what was measured."""
        return Row(
            what=self.what,
            unit=self.unit,
            asked=self._text,
            measured=measured,
            holds=not self.word or _HOLDS[self.word](measured, self.bound),
            note=note,
        )

    def open_row(self, why: str) -> Row:
        """The row where nothing was measured."""
        return not_measured(self.what, self.unit, self._text, why)

    @property
    def _text(self) -> str:
        return f"{self.word} {self.bound:g}" if self.word else ""


def why_nothing(error: Exception) -> str:
    """What a row says of the error that it was not measured for; all of it is printed."""
    traceback.print_exception(error)
    said = shorten(str(error), LONGEST_REASON, placeholder=" ...")
    return f"{type(error).__name__}: {said}"
