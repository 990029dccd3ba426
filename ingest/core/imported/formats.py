"""Which program wrote a file, by what stands at its beginning."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

from ingest.core.line_protocol import LineError, parse_line

START_BYTES = 256 * 1024
"""So much of a file is looked at: the first names of an esxtop header may be of thousands of
processors."""


class Format(StrEnum):
    """The files that can be imported."""

    ESXTOP = "esxtop"
    PERFMON = "perfmon"
    IOSTAT = "iostat"
    IOSTAT_JSON = "iostat JSON"
    SADF = "sadf JSON"
    DISKSTATS = "diskstats"
    LINE_PROTOCOL = "line protocol"
    PROMETHEUS = "Prometheus text"


_PERFMON = re.compile(
    r"\\(?:PhysicalDisk|LogicalDisk|Processor(?: Information)?|Network (?:Interface|Adapter)"
    r"|System|Memory|Process|Hyper-V [^\\(]+)(?:\([^\\]*\))?\\",
)
_ESXTOP = re.compile(
    r"\\(?:Physical Disk[^\\(]*|Virtual Disk|Network Port|Group Cpu|Vcpu|Physical Cpu[^\\(]*"
    r"|Numa Node|Memory\\Memory Overcommit|Memory\\Machine MBytes)"
)
_SYSSTAT = re.compile(r'\{\s*"sysstat"\s*:')
_SADF = re.compile(r'"(?:sysdata-version|file-date)"|"timestamp"\s*:\s*\{')
_DEVICE = frozenset({"Device", "Device:"})
_DISKSTATS = re.compile(r" *\d+ +\d+ \S+(?: \d+){11,17} *")
_METRIC = re.compile(
    r'(?:[a-zA-Z_:][\w:]*(?:\{.*\})?|\{__name__=".*\}) +(?:[-+]?[\d.][-+.\de]*|NaN|[-+]?Inf)'
    r" +\d{9,}(?:\.\d+)?"
)
_FIRST_LINES = 50
_FIRST_CHARACTERS = 64 * 1024


def recognise(start: bytes) -> Format | None:
    """The format of a file that begins so; None if it is none of them."""
    text = _text(start)
    if "(PDH-CSV" in text[:4096]:
        # Both may have a group Memory; only one of them has these.
        return Format.ESXTOP if _ESXTOP.search(text) else _perfmon(text)
    if _SYSSTAT.match(text.lstrip("\ufeff \t\r\n")):
        return Format.SADF if _SADF.search(text) else Format.IOSTAT_JSON
    if any(map(_heads_devices, text.splitlines())):
        return Format.IOSTAT
    lines = _first_lines(text)
    # Times stand between copies.
    if _most(_long(lines), lambda line: _DISKSTATS.fullmatch(line) is not None):
        return Format.DISKSTATS
    if _most(lines, lambda line: _METRIC.fullmatch(line) is not None):
        return Format.PROMETHEUS
    return Format.LINE_PROTOCOL if _most(lines, _is_sample) else None


def _heads_devices(line: str) -> bool:
    """Whether the line is above a table of devices, of which some columns are per second."""
    words = line.split()
    ends = {*words[:1], *words[-1:]}
    return not ends.isdisjoint(_DEVICE) and any("/s" in word[1:] for word in words)


def _text(start: bytes) -> str:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return start[: len(start) // 2 * 2].decode("utf-16", "replace")
    return start.decode("utf-8", "replace")


def _perfmon(text: str) -> Format | None:
    return Format.PERFMON if _PERFMON.search(text) else None


def _first_lines(text: str) -> list[str]:
    """Those that may be samples; the last one read may be cut off."""
    every = text[:_FIRST_CHARACTERS].splitlines()
    lines = every[:-1] if len(every) > 1 and not text.endswith("\n") else every
    found = [line.rstrip() for line in lines if not line.startswith(("#", "CREATE DATABASE"))]
    return [line for line in found if line][:_FIRST_LINES]


def _long(lines: list[str]) -> list[str]:
    return [line for line in lines if len(line.split()) > 2]


def _most(lines: Sequence[str], is_one: Callable[[str], bool]) -> bool:
    return sum(map(is_one, lines)) > len(lines) / 2


def _is_sample(line: str) -> bool:
    """Whether it is line protocol with a time."""
    try:
        return parse_line(line).time is not None
    except LineError:
        return False
