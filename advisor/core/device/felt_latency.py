"""Where the time goes for which a workload waits for one of its I/Os, layer by layer.

Each layer is a mean over the same I/Os, so means add up to the whole. The whole is timed by who
hands the I/Os on for the workload: its hypervisor, or the client of a mount. Of the layers some
are counted (the device; on ESXi and in clients of NFS also queues). What is left over lay between
the workload and what is counted: it is the workload's own limit in windows at that limit, and
`rest` in others. Where nobody times the whole, the layers that are counted are told without it.

A mean of the device is one over all who use it. So if the counted layers take longer than the
whole, they are not those of these I/Os, and no split is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from advisor.core.device.latency_layers import DUST_MS, SUM_RATIO
from advisor.core.enumeration import listed
from advisor.core.explanation.rounding import rounded
from advisor.core.quantity import without_dust
from advisor.core.waterfill import Booleans, Floats

FEWEST_WINDOWS = 6
"""A minute of windows of ten seconds: fewer may be one odd moment."""
LEAST_MS = 0.0005
"""Half of the last digit that is shown: what takes less is not named."""


def ms_text(ms: float) -> str:
    """A time with its unit."""
    return f"{without_dust(ms)} ms"


class Layer(StrEnum):
    """Where an I/O spends time on its way, from the workload down."""

    OWN_LIMIT = "own_limit"
    QUEUE = "queue"
    HOST = "host"
    NETWORK = "network"
    SERVER = "server"
    DEVICE = "device"
    UNTOLD = "untold"


LAYER_WORDS: Mapping[Layer, str] = {
    Layer.OWN_LIMIT: "its own limit",
    Layer.QUEUE: "the queue in the host",
    Layer.HOST: "the rest of the host",
    Layer.NETWORK: "the network",
    Layer.SERVER: "the network and the server behind it",
    Layer.DEVICE: "the device",
    Layer.UNTOLD: "not told by the host",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeltWindows:
    """What was measured of the I/Os of one workload, (windows) each; NaN is not known.

    `ios` of its I/Os completed and took `whole_ms` each, None where nobody times them. `counted`
    are layers that something counts, in ms per I/O. `limited` is where its own limit held it
    back. `rest` is the layer of what is left over. `absent` says of layers why nobody counts them.
    `at_least` are counted layers that are no shorter than what is counted.
    """

    ios: Floats
    whole_ms: Floats | None
    counted: Mapping[Layer, Floats]
    limited: Booleans
    rest: Layer
    absent: Mapping[Layer, str]
    at_least: frozenset[Layer] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTime:
    """The part of one layer in ms per I/O; None is not known, for this reason."""

    layer: Layer
    ms: float | None
    reason: str = ""
    is_least: bool = False

    @property
    def words(self) -> str:
        """What the layer is called in a sentence."""
        return LAYER_WORDS[self.layer]

    @property
    def text(self) -> str:
        """The layer with its time."""
        least = "at least " if self.is_least else ""
        return f"{self.words} {least}{ms_text(self.ms or 0.0)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeltLatency:
    """What an I/O of the workload takes, and in which layers, as means over `ios` I/Os.

    `whole_ms` is None where nobody times its I/Os. The `layers` are in their order from the
    workload down; those that are known add up to the whole within 5 %.
    """

    whole_ms: float | None
    layers: tuple[LayerTime, ...]
    ios: float
    windows: int

    @property
    def known(self) -> tuple[LayerTime, ...]:
        """The layers of which a time is known, the longest first."""
        known = [one for one in self.layers if one.ms is not None]
        return tuple(sorted(known, key=lambda one: -(one.ms or 0.0)))

    @property
    def absent(self) -> tuple[LayerTime, ...]:
        """The layers of which no time is known."""
        return tuple(one for one in self.layers if one.ms is None)

    @property
    def text(self) -> str:
        """The whole and its parts, the longest first; layers without any time are left out."""
        parts = [one.text for one in self.known if one.ms and one.ms >= LEAST_MS]
        parts = parts or [one.text for one in self.known[:1]]
        # All of them are told: a sentence that leaves some out does not add up.
        told = ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else "".join(parts)
        if self.whole_ms is None:
            return f"of an I/O is known: {told}; nobody times the whole"
        return f"an I/O takes {ms_text(self.whole_ms)}: {told}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFeltLatency:
    """Why it is not told where the time of an I/O goes."""

    reason: str


def at_mix_ms(*, reads: Floats, writes: Floats, read_ms: Floats, write_ms: Floats) -> Floats:
    """The mean time of so many reads and writes, (windows); NaN where there are none.

    What a direction without I/Os takes does not matter.
    """
    total = np.where(reads + writes > 0, reads + writes, np.nan)
    took = np.where(reads > 0, reads * read_ms, 0.0) + np.where(writes > 0, writes * write_ms, 0.0)
    return took / total


def felt_latency(seen: FeltWindows) -> FeltLatency | NoFeltLatency:
    """The layers of an I/O's time, if they add up to the whole."""
    busy = seen.ios > 0
    columns = [*seen.counted.values(), *([] if seen.whole_ms is None else [seen.whole_ms])]
    known = busy & ~np.isnan(sum(columns, start=np.zeros(len(seen.ios))))
    windows = int(known.sum())
    if windows < FEWEST_WINDOWS:
        return NoFeltLatency(reason=_too_few(seen, busy, windows))
    ios, limited = seen.ios[known], seen.limited[known]
    counted = {layer: _mean(ms[known], ios) for layer, ms in seen.counted.items()}
    found: dict[Layer, float] = dict(counted)
    whole_ms = None
    if seen.whole_ms is not None:
        whole_ms = _mean(seen.whole_ms[known], ios)
        left = (seen.whole_ms - sum(seen.counted.values(), start=np.zeros(len(known))))[known]
        held = _mean(np.where(limited, left, 0.0), ios)
        other = _mean(np.where(limited, 0.0, left), ios)
        allowed = SUM_RATIO * whole_ms + DUST_MS
        if min(held, other, held + other) < -allowed:
            return NoFeltLatency(reason=_too_long(whole_ms, counted))
        left_over = _left_over(held, other)
        found[Layer.OWN_LIMIT] = left_over[0]
        found[seen.rest] = left_over[1]
        if seen.rest is Layer.UNTOLD and left_over[1] <= allowed:
            # The means of the host are as good as that.
            del found[Layer.UNTOLD]
    return FeltLatency(
        whole_ms=None if whole_ms is None else rounded(whole_ms),
        layers=_in_order(found, seen),
        ios=rounded(float(ios.sum())),
        windows=windows,
    )


def _mean(ms: Floats, ios: Floats) -> float:
    """Each I/O counts once."""
    return float((ms * ios).sum() / ios.sum())


def _left_over(held: float, other: float) -> tuple[float, float]:
    """Both are at least 0, and their sum is that of before, if that is."""
    total = max(held + other, 0.0)
    held = min(max(held, 0.0), total)
    return held, total - held


def _in_order(found: Mapping[Layer, float], seen: FeltWindows) -> tuple[LayerTime, ...]:
    layers = []
    for layer in Layer:
        if layer in found:
            is_least = layer in seen.at_least
            layers.append(LayerTime(layer=layer, ms=rounded(found[layer]), is_least=is_least))
        elif layer in seen.absent:
            layers.append(LayerTime(layer=layer, ms=None, reason=seen.absent[layer]))
    return tuple(layers)


def _too_few(seen: FeltWindows, busy: Booleans, windows: int) -> str:
    did = int(busy.sum())
    if did == 0:
        return "nothing says that it did any I/O"
    if did < FEWEST_WINDOWS:
        return f"it did I/O in {did} windows of ten seconds, and {FEWEST_WINDOWS} are needed"
    lacking = [
        LAYER_WORDS[layer]
        for layer, ms in seen.counted.items()
        if int((busy & ~np.isnan(ms)).sum()) < FEWEST_WINDOWS
    ]
    if seen.whole_ms is not None and np.isnan(seen.whole_ms[busy]).all():
        lacking.insert(0, "its I/Os as a whole")
    if not lacking:
        return f"all its layers are known of {windows} windows, and {FEWEST_WINDOWS} are needed"
    return f"nothing says how long {listed(lacking)} took"


def _too_long(whole_ms: float, counted: Mapping[Layer, float]) -> str:
    names = listed([LAYER_WORDS[layer] for layer in counted])
    return (
        f"its I/Os take {ms_text(whole_ms)} each, and {names} {ms_text(sum(counted.values()))} on "
        f"average of all who use it: that is not the time of its own, as where a cache answers"
    )
