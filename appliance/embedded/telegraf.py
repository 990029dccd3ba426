"""Where Telegraf and our configuration of it are: the demo measures with it."""

import os
import shutil
from pathlib import Path

import ingest

CONFIGURATION = Path(ingest.__file__).parent / "telegraf" / "sluice.conf"


def find_telegraf() -> Path | None:
    """The program of SLUICE_TELEGRAF, else the one `make telegraf` obtained, else PATH's."""
    if chosen := os.environ.get("SLUICE_TELEGRAF"):
        return Path(chosen)
    cache = Path(os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache" / "sluice")
    if os.access(built := cache / "bin" / "telegraf", os.X_OK):
        return built
    found = shutil.which("telegraf")
    return Path(found) if found else None
