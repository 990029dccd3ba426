"""SIGTERM and SIGINT end a run by an exception, so that everything that was made is removed."""

from __future__ import annotations

import signal
import sys
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def clean_up_when_told_to_end() -> None:
    """From now on the first of these signals raises SystemExit; later ones are ignored."""
    for number in _SIGNALS:
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)
