r"""Samples of Prometheus as text with a time: `promtool tsdb dump`, and OpenMetrics.

    {__name__="node_disk_reads_completed_total", device="sda", instance="h1:9100"} 17 1700000000000
    node_disk_reads_completed_total{device="sda",instance="h1:9100"} 17 1700000000

One point per sample: the name is the measurement, the labels are tags, and the field is `value`.
A time of 11 or more digits is in milliseconds, another in seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ingest.core.decoders.lines import lines
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.texts import is_storable
from ingest.core.point import Point

_SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][\w:]*)?(?:\{(?P<labels>.*)\})?"
    r" +(?P<value>\S+) +(?P<time>-?\d{1,19}(?:\.\d+)?)"
)
_LABEL = re.compile(r'\s*(?P<name>[a-zA-Z_]\w*)="(?P<value>(?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPED = re.compile(r"\\(.)")
_MILLISECONDS_FROM = 10**11


def decode_prometheus_text(chunks: Iterable[bytes], rejections: Rejections) -> Iterator[Point]:
    """The points of a file; times are nanoseconds since 1970."""
    for number, raw in enumerate(lines(chunks, rejections, last_is_whole=False), start=1):
        line = raw.decode("utf-8", "replace").strip()
        if not line or line.startswith("#"):
            continue
        found = _point(line)
        if isinstance(found, str):
            rejections.add(f"line {number}: {line}", found)
        elif found is not None:
            yield found


def _point(line: str) -> Point | str | None:
    """The point of a line, or why there is none; None for a value that is no number."""
    sample = _SAMPLE.fullmatch(line)
    if sample is None:
        return "the line is no sample with a time"
    labels = _labels(sample["labels"] or "")
    if labels is None:
        return "its labels cannot be read"
    name = sample["name"] or labels.pop("__name__", "")
    if not name:
        return "the sample has no name"
    try:
        value = float(sample["value"])
    except ValueError:
        return "its value is not a number"
    # Prometheus marks the end of a series by one that is none.
    if value != value or abs(value) == float("inf"):
        return None
    return Point(
        measurement=name,
        tags=tuple(sorted(labels.items())),
        fields={"value": value},
        time=_time_ns(sample["time"]),
    )


def _labels(text: str) -> dict[str, str] | None:
    found: dict[str, str] = {}
    position = 0
    while position < len(text):
        label = _LABEL.match(text, position)
        if label is None or not is_storable(label["value"]):
            return None
        found[label["name"]] = _ESCAPED.sub(_unescaped, label["value"])
        position = label.end()
    return found


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]


def _time_ns(text: str) -> int:
    whole, _, fraction = text.partition(".")
    if abs(int(whole)) >= _MILLISECONDS_FROM:
        return int(whole) * 1_000_000
    return int(whole) * 1_000_000_000 + int(fraction[:9].ljust(9, "0") or "0")
