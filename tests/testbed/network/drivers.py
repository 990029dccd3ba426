"""Drivers of networks that a guest's kernel has as modules, from beside the kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path


def load(modules: str) -> None:
    """Load all that are not there yet; `modules` is the folder that `scripts/kernels` made."""
    folder = Path(modules)
    loaded = {line.split()[0] for line in Path("/proc/modules").read_text().splitlines()}
    for name in (folder / "order").read_text().split():
        if name.removesuffix(".ko").replace("-", "_") not in loaded:
            subprocess.run(["busybox", "insmod", str(folder / name)], check=True)
