"""Example lines of Telegraf's own documents: what our sources know of them is never refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.core.batch import batch_of_points
from ingest.core.line_protocol import LineError, parse_line
from ingest.sources.registry import find_head
from tests.ingest.sources.stock import NOW_NS, RULES

PLUGINS = (
    "ceph",
    "cpu",
    "diskio",
    "kernel",
    "libvirt",
    "mem",
    "net",
    "nfsclient",
    "smart",
    "swap",
    "vsphere",
    "zfs",
)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_no_example_is_refused(plugin: str, shared_dir: Path) -> None:
    folder = shared_dir / "data" / "telegraf" / "readme-example-output"
    points = []
    for line in (folder / f"{plugin}.txt").read_text().splitlines():
        with suppress(LineError):
            point = parse_line(line)
            # The examples leave out the tag that every collector adds.
            tags = tuple(sorted({"host": "h1", **dict(point.tags)}.items()))
            points.append(replace(point, tags=tags, time=NOW_NS))

    batch = batch_of_points(points, RULES, find_head)

    assert points
    assert batch.rejections == []
