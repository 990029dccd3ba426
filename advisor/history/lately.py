"""What this process wrote or read lately: it is most often who reads next what it wrote."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Stored = TypeVar("Stored", bound=str | bytes)
Value = TypeVar("Value")


class Lately(Generic[Stored, Value]):
    """Values by the text or bytes that they are stored as, the `most` that were used last.

    The stored form says all of a value, so none is ever out of date. Nobody changes them.
    """

    def __init__(self, read: Callable[[Stored], Value], *, most: int) -> None:
        self._read = read
        self._most = most
        self._values: OrderedDict[Stored, Value] = OrderedDict()

    def note(self, stored: Stored, value: Value) -> None:
        """That this value was stored so."""
        self._values[stored] = value
        self._values.move_to_end(stored)
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def value_of(self, stored: Stored) -> Value:
        """What the stored form says; it is read if it is not known."""
        value = self._values[stored] if stored in self._values else self._read(stored)
        self.note(stored, value)
        return value
