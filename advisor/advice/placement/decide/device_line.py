"""Which line of latency over outstanding I/O holds for a datastore with a mix of I/Os on it.

The device model knows reads from writes and small I/Os from large ones, so it is asked first, for
mixes like those it was fitted on. Else the one line through all windows has to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from advisor.core.device.device_model import DeviceLine, DeviceModel
from advisor.core.number_checks import check_positive, check_ratio

SIZE_MARGIN = 1.25
"""A model speaks about I/Os up to so many times larger or smaller than those it saw.

Windows of one size cannot tell what each I/O costs from what each byte does.
"""
READ_MARGIN = 0.1
"""And about this much more or less reads."""


class LineSource(StrEnum):
    """What a predicted latency comes from."""

    DEVICE_MODEL = "device_model"
    FITTED_LINE = "fitted_line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Mean size of I/Os, and the part of them that are reads."""

    mean_io_bytes: float
    read_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenModel:
    """A fitted device model, and between which mixes its windows lay."""

    model: DeviceModel
    least_io_bytes: float
    most_io_bytes: float
    least_read_ratio: float
    most_read_ratio: float

    def __post_init__(self) -> None:
        check_positive("least_io_bytes", self.least_io_bytes)
        check_positive("most_io_bytes", self.most_io_bytes)
        check_ratio("least_read_ratio", self.least_read_ratio)
        check_ratio("most_read_ratio", self.most_read_ratio)

    def line_at(self, mix: Mix) -> DeviceLine | None:
        """The line for this mix; None where the model never saw its like, or knows no slope."""
        if (
            not self.least_io_bytes / SIZE_MARGIN
            <= mix.mean_io_bytes
            <= (self.most_io_bytes * SIZE_MARGIN)
        ):
            return None
        low, high = self.least_read_ratio - READ_MARGIN, self.most_read_ratio + READ_MARGIN
        if not low <= mix.read_ratio <= high:
            return None
        line = self.model.line_at(mean_io_bytes=mix.mean_io_bytes, read_ratio=mix.read_ratio)
        known = isfinite(line.intercept_ms) and isfinite(line.slope_ms)
        return line if known and line.intercept_ms > 0 and line.slope_ms > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenLines:
    """One line per mix asked for, all from the same source."""

    lines: tuple[DeviceLine, ...]
    source: LineSource


def choose_lines(
    seen: SeenModel | None, fitted: DeviceLine | None, mixes: Sequence[Mix | None]
) -> ChosenLines | None:
    """The model's lines if it speaks about every mix, else the fitted one, else None.

    What is compared comes from one source: half a model and half a line would show a difference
    that is none. A mix of None has no I/O in it, and takes the line of the others.
    """
    known = [mix for mix in mixes if mix is not None]
    if seen is not None and known:
        found = [None if mix is None else seen.line_at(mix) for mix in mixes]
        first = next((line for line in found if line is not None), None)
        if first is not None and all(
            line is not None or mix is None for line, mix in zip(found, mixes, strict=True)
        ):
            lines = tuple(first if line is None else line for line in found)
            return ChosenLines(lines=lines, source=LineSource.DEVICE_MODEL)
    if fitted is None:
        return None
    return ChosenLines(lines=(fitted,) * len(mixes), source=LineSource.FITTED_LINE)
