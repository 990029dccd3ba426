"""SSDs at work, from their measured parameters: channels that serve in the order of arrival.

Independent of every model under test: time per I/O from the linear cost of iocost, spread over
channels, and waiting comes from the queue itself.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from advisor.core.device.device_model import MixPoint
from bench.evaluation.captures import Booleans, Floats, Ssd, Trace

CHANNELS = 32
PAGE_BYTES = 4096
SERVICE_SHAPE = 4.0
"""Service times vary by half of their mean."""
WINDOW_IOS = 250
TRACE_WINDOW_IOS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served:
    """Arrival and end of each I/O, in order of arrival."""

    arrived_s: Floats
    done_s: Floats


def _service_s(ssd: Ssd, pages: Floats, is_read: Booleans, rng: np.random.Generator) -> Floats:
    """Time one channel takes: cost of the I/O on all of the device times the channels."""
    page = np.where(is_read, PAGE_BYTES / ssd.read_bytes_per_s, PAGE_BYTES / ssd.write_bytes_per_s)
    single = np.where(is_read, 1 / ssd.read_iops, 1 / ssd.write_iops)
    cost = np.maximum(single - page, 0) + page * pages
    noise = rng.gamma(SERVICE_SHAPE, 1 / SERVICE_SHAPE, len(pages))
    service: Floats = CHANNELS * cost * noise
    return service


def _closed(service: Floats, clients: int) -> _Served:
    """So many clients, each with one I/O at a time and no pause."""
    free, ready = [0.0] * CHANNELS, [0.0] * clients
    arrived, done = np.zeros((2, len(service)))
    for index, time in enumerate(service):
        arrived[index] = heapq.heappop(ready)
        done[index] = max(arrived[index], heapq.heappop(free)) + time
        heapq.heappush(free, done[index])
        heapq.heappush(ready, done[index])
    return _Served(arrived_s=arrived, done_s=done)


def _open(service: Floats, arrivals: Floats) -> _Served:
    """I/Os that come when they come."""
    free = [0.0] * CHANNELS
    done = np.zeros(len(service))
    for index, (arrival, time) in enumerate(zip(arrivals, service, strict=True)):
        done[index] = max(arrival, heapq.heappop(free)) + time
        heapq.heappush(free, done[index])
    return _Served(arrived_s=arrivals, done_s=done)


def drifting_windows(ssd: Ssd, *, seed: int, windows: int) -> list[MixPoint]:
    """Windows whose depth, size and part of reads drift, as a datastore's do over days."""
    rng = np.random.default_rng(seed)
    depths = np.exp(_walk(rng, windows, np.log(1), np.log(200), 0.8))
    kib = np.exp(_walk(rng, windows, np.log(4), np.log(128), 0.12))
    reads = _walk(rng, windows, 0.05, 1.0, 0.05)
    return [
        _closed_window(ssd, rng, max(round(depth), 1), size, part)
        for depth, size, part in zip(depths.tolist(), kib.tolist(), reads.tolist(), strict=True)
    ]


def _walk(rng: np.random.Generator, steps: int, low: float, high: float, step: float) -> Floats:
    """A random walk that turns round at its bounds."""
    value, values = rng.uniform(low, high), np.zeros(steps)
    for index in range(steps):
        value += rng.normal(0, step)
        value = 2 * low - value if value < low else value
        value = 2 * high - value if value > high else value
        values[index] = value
    return values


def _closed_window(
    ssd: Ssd, rng: np.random.Generator, clients: int, kib: float, reads: float
) -> MixPoint:
    warm = 2 * clients
    count = WINDOW_IOS + warm
    is_read = rng.random(count) < reads
    pages = np.maximum(np.round(kib / 4 * rng.lognormal(-0.125, 0.5, count)), 1)
    served = _closed(_service_s(ssd, pages, is_read, rng), clients)
    latency = (served.done_s - served.arrived_s)[warm:]
    return MixPoint(
        outstanding_io=float(clients),
        latency_ms=float(1000 * latency.mean()),
        mean_io_bytes=float(PAGE_BYTES * pages[warm:].mean()),
        read_ratio=float(is_read[warm:].mean()),
    )


def replayed_windows(ssd: Ssd, trace: Trace, *, utilisation: float, seed: int) -> list[MixPoint]:
    """A captured trace on the SSD, quickened or slowed so that it uses this part of it."""
    rng = np.random.default_rng(seed)
    pages = np.maximum(np.ceil(trace.size_bytes / PAGE_BYTES), 1)
    service = _service_s(ssd, pages, trace.is_read, rng)
    scale = service.sum() / CHANNELS / utilisation / trace.at_s[-1]
    served = _open(service, trace.at_s * scale)
    latency = served.done_s - served.arrived_s
    points = []
    for begin in range(0, len(service) - TRACE_WINDOW_IOS, TRACE_WINDOW_IOS):
        part = slice(begin, begin + TRACE_WINDOW_IOS)
        span = served.arrived_s[begin + TRACE_WINDOW_IOS] - served.arrived_s[begin]
        if span <= 0:
            continue
        points.append(
            MixPoint(
                # Little's law over the window: the time all I/Os spent, per second.
                outstanding_io=float(latency[part].sum() / span),
                latency_ms=float(1000 * latency[part].mean()),
                mean_io_bytes=float(trace.size_bytes[part].mean()),
                read_ratio=float(trace.is_read[part].mean()),
            )
        )
    return points
