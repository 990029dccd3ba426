"""Windows of a device whose latency is a line over outstanding I/O."""

from advisor.core.device.device_fit import LoadPoint


def line(intercept_ms, slope_ms, *, windows=120, depths=(1, 2, 4, 8, 16, 32)):
    """Windows on latency = intercept + slope · outstanding."""
    return tuple(
        LoadPoint(
            outstanding_io=depth,
            latency_ms=intercept_ms + slope_ms * depth,
            iops=1000 * depth / (intercept_ms + slope_ms * depth),
        )
        for depth in (depths * windows)[:windows]
    )
