"""Example lines of Telegraf's own documents: what our sources know of them is never refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.core.line_protocol import LineError, parse_line
from ingest.core.point import PointError
from ingest.sources.registry import find_head

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
def test_every_example_has_a_source(plugin: str, shared_dir: Path) -> None:
    folder = shared_dir / "data" / "telegraf" / "readme-example-output"
    seen = 0
    for line in (folder / f"{plugin}.txt").read_text().splitlines():
        try:
            point = parse_line(line)
        except LineError:
            continue
        # The examples leave out the tag that every collector adds.
        tags = {"host": "h1", **dict(point.tags)}
        try:
            head = find_head(point.measurement, tags)
        except PointError as error:
            pytest.fail(f"{line[:120]}: {error}")
        for field in point.fields:
            head.place(field)
        seen += 1

    assert seen
