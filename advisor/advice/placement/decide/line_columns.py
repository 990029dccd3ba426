"""The lines of `device_line` for many datastores and mixes at once.

The same choice as `choose_lines` makes for one datastore, with arrays in place of objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from advisor.advice.placement.decide.device_line import READ_MARGIN, SIZE_MARGIN
from advisor.advice.placement.decide.disk_inputs import DatastoreState
from advisor.core.dependence import Floats
from advisor.core.device.device_model import mix_terms

Bools = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64] | slice


@dataclass(frozen=True, slots=True, kw_only=True)
class LineColumns:
    """latency = intercept + slope · outstanding, in ms; NaN where no line holds."""

    intercept_ms: Floats
    slope_ms: Floats

    def where(self, chosen: Bools, other: "LineColumns") -> "LineColumns":
        """These lines where chosen, else the others."""
        return LineColumns(
            intercept_ms=np.where(chosen, self.intercept_ms, other.intercept_ms),
            slope_ms=np.where(chosen, self.slope_ms, other.slope_ms),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficColumns:
    """I/Os, bytes and reads per second, one of each per cell."""

    iops: Floats
    bytes_per_s: Floats
    reads_per_s: Floats

    def plus(self, more: "TrafficColumns") -> "TrafficColumns":
        """Both together."""
        return TrafficColumns(
            iops=self.iops + more.iops,
            bytes_per_s=self.bytes_per_s + more.bytes_per_s,
            reads_per_s=self.reads_per_s + more.reads_per_s,
        )

    def less(self, gone: "TrafficColumns") -> "TrafficColumns":
        """What is left, never below 0."""
        return TrafficColumns(
            iops=np.maximum(self.iops - gone.iops, 0.0),
            bytes_per_s=np.maximum(self.bytes_per_s - gone.bytes_per_s, 0.0),
            reads_per_s=np.maximum(self.reads_per_s - gone.reads_per_s, 0.0),
        )

    def at(self, places: Places) -> "TrafficColumns":
        """The traffic of these rows."""
        return TrafficColumns(
            iops=self.iops[places],
            bytes_per_s=self.bytes_per_s[places],
            reads_per_s=self.reads_per_s[places],
        )

    def column(self) -> "TrafficColumns":
        """A row per cell, to be set beside a column per datastore."""
        return TrafficColumns(
            iops=self.iops[:, None],
            bytes_per_s=self.bytes_per_s[:, None],
            reads_per_s=self.reads_per_s[:, None],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceColumns:
    """What is known of each datastore's lines: the fitted one, and the model with its bounds.

    Without a model the bounds are NaN, so that no mix lies within them. `intercepts` and `slopes`
    have a row for each of the model's four factors.
    """

    fitted: LineColumns
    intercepts: Floats
    slopes: Floats
    bounds: Floats
    has_models: bool

    def at(self, places: Places) -> "DeviceColumns":
        """The datastores at these places."""
        return DeviceColumns(
            fitted=LineColumns(
                intercept_ms=self.fitted.intercept_ms[places],
                slope_ms=self.fitted.slope_ms[places],
            ),
            intercepts=self.intercepts[:, places],
            slopes=self.slopes[:, places],
            bounds=self.bounds[:, places],
            has_models=self.has_models,
        )

    def lines_of(self, traffic: TrafficColumns) -> LineColumns:
        """The line for each mix."""
        return self.lines_of_two(traffic, traffic)[0]

    def lines_of_two(
        self, before: TrafficColumns, after: TrafficColumns
    ) -> tuple[LineColumns, LineColumns]:
        """The lines for both mixes, from one source: the model if it speaks about both.

        A mix without I/O takes the line of the other.
        """
        if not self.has_models:
            return self.fitted, self.fitted
        old, new = self._model_lines(before), self._model_lines(after)
        has_old, has_new = ~np.isnan(old.slope_ms), ~np.isnan(new.slope_ms)
        by_model = (
            (has_old | has_new) & (has_old | (before.iops <= 0)) & (has_new | (after.iops <= 0))
        )
        return (
            old.where(has_old, new).where(by_model, self.fitted),
            new.where(has_new, old).where(by_model, self.fitted),
        )

    def _model_lines(self, traffic: TrafficColumns) -> LineColumns:
        """The model's lines; NaN without I/O, beyond what it saw, and where it knows no slope."""
        size = traffic.bytes_per_s / traffic.iops
        reads = np.clip(traffic.reads_per_s / traffic.iops, 0.0, 1.0)
        least_size, most_size, least_reads, most_reads = self.bounds
        seen = (traffic.iops > 0) & (least_size <= size) & (size <= most_size)
        seen = seen & (least_reads <= reads) & (reads <= most_reads)
        terms = mix_terms(size, reads)
        intercept, slope = _times(terms, self.intercepts), _times(terms, self.slopes)
        known = seen & np.isfinite(intercept) & np.isfinite(slope) & (intercept > 0) & (slope > 0)
        return LineColumns(
            intercept_ms=np.where(known, intercept, np.nan),
            slope_ms=np.where(known, slope, np.nan),
        )


def _times(terms: Sequence[Floats], factors: Floats) -> Floats:
    total: Floats = terms[0] * factors[0]
    for term, factor in zip(terms[1:], factors[1:], strict=True):
        total = total + term * factor
    return total


def device_columns(datastores: Sequence[DatastoreState]) -> DeviceColumns:
    """The lines of these datastores, in their order."""
    lines = [one.fitted_line for one in datastores]
    models = [one.seen_model for one in datastores]
    gap = (np.nan,) * 4
    return DeviceColumns(
        fitted=LineColumns(
            intercept_ms=np.array([line.intercept_ms if line else np.nan for line in lines]),
            slope_ms=np.array([line.slope_ms if line else np.nan for line in lines]),
        ),
        intercepts=np.array([seen.model.intercept if seen else gap for seen in models]).T,
        slopes=np.array([seen.model.slope if seen else gap for seen in models]).T,
        bounds=np.array(
            [
                (
                    seen.least_io_bytes / SIZE_MARGIN,
                    seen.most_io_bytes * SIZE_MARGIN,
                    seen.least_read_ratio - READ_MARGIN,
                    seen.most_read_ratio + READ_MARGIN,
                )
                if seen
                else gap
                for seen in models
            ]
        ).T,
        has_models=any(seen is not None for seen in models),
    )
