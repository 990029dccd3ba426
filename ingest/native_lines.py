"""The native crate (`ingest/native`), where it is built; without it nothing here does anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

try:
    import sluice_lines as _crate
except ImportError:
    _crate = None

IS_BUILT = _crate is not None


class Lines(Protocol):
    """What a book makes of a body; arrays are u32 and i64, times µs since 1970."""

    copies: Sequence[tuple[int, bytes, int]]
    series: bytes
    first_us: bytes
    last_us: bytes
    hours: Sequence[tuple[int, int]]
    parts: Sequence[int]
    watched: Sequence[tuple[int, int, int]]
    unknown: Sequence[tuple[bytes, list[bytes]]]
    refused: Sequence[tuple[bytes, int, int, int, int]]
    left: Sequence[tuple[int, int, int]]
    saying: Sequence[bytes]
    accepted: int
    ignored: int


Place = tuple[int, int] | None
"""Of a field: which of the head's series, and which column; None leaves it out."""


class LineBook(Protocol):
    """The heads that are known of one sender; `ingest/native/src/lib.rs` says more."""

    def learn(
        self,
        head: bytes,
        series: Sequence[tuple[int, int, int, int]],
        fields: Sequence[tuple[bytes, Place]],
        facts: bool,
    ) -> None: ...

    def names(self, head: bytes) -> list[bytes]: ...

    def refuse(self, head: bytes) -> None: ...

    def leave(self, head: bytes) -> None: ...

    def read(self, body: bytes, unit: int, earliest: int, latest: int) -> Lines: ...


def new_book(kinds: Sequence[Sequence[int]], watched: tuple[int, int]) -> LineBook:
    """A book for tables of these columns; `watched` is a table and column that is given back."""
    crate: Any = _crate
    book: LineBook = crate.LineBook(kinds, watched)
    return book


def unpacked(packed: bytes, most_bytes: int) -> bytes | None:
    """The content of a gzip body; None if Python has to say what it is."""
    if _crate is None:
        return None
    content: bytes | None = _crate.gunzip(packed, most_bytes)
    return content
