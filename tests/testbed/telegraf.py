"""Telegraf as people run it: inputs of its own documentation, and the one output to Sluice."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def configuration(inputs: str, *, url: str, secret: str, interval: str = "2s") -> str:
    """A whole configuration; the quick interval is all that is not as it is by default."""
    return f"""
[agent]
  interval = "{interval}"
  flush_interval = "{interval}"
[[outputs.influxdb_v2]]
  urls = [{json.dumps(url)}]
  token = {json.dumps(secret)}
  organization = "example"
  bucket = "telegraf"
{inputs}
"""


@contextmanager
def collecting(program: Path, folder: Path, text: str) -> Iterator[Path]:
    """Telegraf with this configuration, on this host; gives its log."""
    path, log = folder / "telegraf.conf", folder / "telegraf.log"
    path.write_text(text)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "--config", path], env=os.environ, stdout=output, stderr=output
        )
    try:
        yield log
    finally:
        process.kill()
        process.wait()
