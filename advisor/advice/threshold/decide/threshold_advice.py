"""Which congestion threshold a datastore should have: latency at a part of its peak throughput.

Below it the datastore still gives more for more outstanding I/O; above it workloads mostly wait
for one another, and shares should decide.
"""

from dataclasses import dataclass

from advisor.core.device.device_fit import DeviceFit, FitRefused, LoadPoint, fit_device
from advisor.core.explanation.answer import (
    Alternative,
    InsufficientData,
    Missing,
    NoChange,
)
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.effect import Effect
from advisor.core.explanation.explained import PredictedAnswer
from advisor.core.explanation.rounding import round_all
from advisor.core.iosize import REFERENCE_BYTES
from advisor.core.number_checks import check_positive

ENOUGH_WINDOWS = 30
PLENTY_WINDOWS = 120
WORTH_RATIO = 0.1
"""A threshold that would change by less stays as it is."""
MODEL_VERSION = "threshold-2"
REVERSIBILITY = "Reversible: the threshold is one number and takes effect with the next window."


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdInputs:
    """A datastore's windows at several depths, and the thresholds it has.

    Thresholds are latencies of I/Os of the reference size, and so are those of the windows.
    `placement_threshold_ms` is the latency from which on virtual disks are moved away; it should
    not lie above the congestion threshold. `same_disks` names datastores on the same disks.
    """

    datastore: str
    threshold_ms: float
    points: tuple[LoadPoint, ...]
    part_of_peak: float = 0.9
    placement_threshold_ms: float | None = None
    same_disks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_positive("threshold_ms", self.threshold_ms)
        check_positive("placement_threshold_ms", self.placement_threshold_ms)
        if not 0 < self.part_of_peak < 1:
            raise ValueError(
                f"part_of_peak is {self.part_of_peak!r}; it must be above 0 and below 1"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdAdvice(PredictedAnswer):
    """The threshold to set, on all of `datastores` alike."""

    threshold_ms: float
    datastores: tuple[str, ...]


ThresholdAnswer = ThresholdAdvice | NoChange | InsufficientData


def advise_threshold(inputs: ThresholdInputs) -> ThresholdAnswer:
    """The latency at the wanted part of peak throughput, if the windows support a fit."""
    if len(inputs.points) < ENOUGH_WINDOWS:
        return _insufficient(inputs, f"{len(inputs.points)} windows of {ENOUGH_WINDOWS}")
    fit = fit_device(inputs.points)
    if isinstance(fit, FitRefused):
        return _insufficient(inputs, fit.reason)
    wanted_ms = fit.latency_at_part_of_peak_ms(inputs.part_of_peak)
    if wanted_ms is None:
        return _insufficient(inputs, "its peak throughput is above what the fit can explain")
    change = abs(wanted_ms - inputs.threshold_ms) / inputs.threshold_ms
    if change < WORTH_RATIO:
        return NoChange(
            summary=f"Datastore {inputs.datastore} keeps its threshold of "
            f"{inputs.threshold_ms:.3g} ms, which "
            f"is about the latency at {inputs.part_of_peak:.0%} of its peak throughput: "
            f"{wanted_ms:.3g} ms",
            model_version=MODEL_VERSION,
        )
    return round_all(_advice(inputs, fit, wanted_ms))


def _insufficient(inputs: ThresholdInputs, why: str) -> InsufficientData:
    return InsufficientData(
        summary=f"No threshold can be derived for datastore {inputs.datastore}: {why}; "
        f"{inputs.threshold_ms:.3g} ms stays",
        missing=(
            Missing(
                what="windows that show latency over outstanding I/O",
                have=len(inputs.points),
                need=ENOUGH_WINDOWS,
            ),
        ),
        model_version=MODEL_VERSION,
    )


def _advice(inputs: ThresholdInputs, fit: DeviceFit, wanted_ms: float) -> ThresholdAdvice:
    summary = (
        f"Set the congestion threshold of datastore {inputs.datastore} to {wanted_ms:.3g} ms: "
        f"there it gives {inputs.part_of_peak:.0%} of its peak of {fit.peak_iops:.0f} IOPS "
        f"of {REFERENCE_BYTES / 1000:.0f} kB, "
        f"at {inputs.threshold_ms:.3g} ms {_part(fit, inputs.threshold_ms):.0%}"
    )
    if inputs.placement_threshold_ms is not None and inputs.placement_threshold_ms > wanted_ms:
        summary += f"; lower the placement threshold to it from {inputs.placement_threshold_ms:g}"
    return ThresholdAdvice(
        summary=summary,
        threshold_ms=wanted_ms,
        datastores=(inputs.datastore, *sorted(inputs.same_disks)),
        formula=f"latency = {fit.intercept_ms:.3g} ms + {fit.slope_ms:.3g} ms · outstanding; "
        "threshold = intercept / (1 - slope · part · peak)",
        effects=(
            Effect(
                quantity="throughput at the threshold, against the peak",
                unit="ratio",
                before=_part(fit, inputs.threshold_ms),
                after=inputs.part_of_peak,
                how="(1 - intercept / threshold) / slope / peak",
            ),
        ),
        alternatives=(
            Alternative(
                name=f"keep {inputs.threshold_ms:.3g} ms",
                reason="shares act late, when waiting has grown already"
                if inputs.threshold_ms > wanted_ms
                else "shares act early and cost throughput",
            ),
            Alternative(
                name="what is usual at that hour",
                reason="follows the load, so a datastore that is always slow is never congested",
            ),
        ),
        confidence=weakest(
            ground(
                "windows",
                fit.point_count / PLENTY_WINDOWS,
                f"{fit.point_count} windows, {PLENTY_WINDOWS} are plenty",
            ),
            ground("fit", fit.r_squared, "part of the latency that the line explains"),
        ),
        reversibility=REVERSIBILITY,
        model_version=MODEL_VERSION,
    )


def _part(fit: DeviceFit, latency_ms: float) -> float:
    """The part of peak throughput at a latency: the line L = a / (1 - b·X) solved for X."""
    if latency_ms <= fit.intercept_ms:
        return 0.0
    iops = 1000 * (1 - fit.intercept_ms / latency_ms) / fit.slope_ms
    return min(iops / fit.peak_iops, 1.0)
