"""How many files of the product a call goes through, and how often it comes back to one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import CO_GENERATOR
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("advisor", "ingest", "web")


class Walk:
    """Follows what one function does, from its call to its return.

    `files` are those of the product whose functions are entered. A function of a file that waits
    further down for what it called is a climb back: `climbs` says from where to what. What is
    handed down to be called, as the body of a generator or a lambda, is none.
    """

    def __init__(self, file: str, function: str) -> None:
        self._entry = file, function
        self._open: list[str | None] = []
        self.files: set[str] = set()
        self.climbs: set[str] = set()

    def follow(self, ask: Callable[[], object]) -> None:
        """Do this, and note the way of the function through it."""
        sys.setprofile(self._note)
        try:
            ask()
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _result: object) -> None:
        if event == "call":
            self._enter(frame.f_code)
        elif event == "return" and self._open:
            self._open.pop()

    def _enter(self, code: CodeType) -> None:
        file = _file_of(code)
        if not self._open and (file, code.co_name) != self._entry:
            return
        if file is not None:
            self.files.add(file)
            on_the_way = [one for one in self._open if one is not None]
            if file in on_the_way[:-1] and file != on_the_way[-1] and not _is_handed_down(code):
                self.climbs.add(f"{on_the_way[-1]} to {file}:{code.co_name}")
        self._open.append(file)


def _is_handed_down(code: CodeType) -> bool:
    return bool(code.co_flags & CO_GENERATOR) or code.co_name == "<lambda>"


def _file_of(code: CodeType) -> str | None:
    """The file of the product, None if the code is another's."""
    path = Path(code.co_filename)
    if not path.is_relative_to(ROOT):
        return None
    file = path.relative_to(ROOT)
    return str(file) if file.parts[0] in PACKAGES else None
