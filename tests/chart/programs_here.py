"""Where the programs of `make chart-programs` are, and what is missing of them."""

from __future__ import annotations

import os
from pathlib import Path

CHART = Path(__file__).resolve().parents[2] / "helm" / "sluice"
NAMES = ("helm", "helm-unittest", "apiserver", "etcd")
VALUES = sorted((CHART / "ci").glob("*-values.yaml"))


def program(name: str) -> Path:
    """A program that `scripts/chart_programs` obtains, whether it is there or not."""
    cache = os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache" / "sluice"
    return Path(cache) / "chart" / name


def missing_for_chart() -> str | None:
    """Why the chart cannot be tested here; None means that it can."""
    absent = [name for name in NAMES if not program(name).exists()]
    return f"no {', '.join(absent)}; make chart-programs obtains it" if absent else None
