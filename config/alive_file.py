"""A file that a worker or the scheduler touches while it works, for probes that look at files."""

from __future__ import annotations

import logging
from pathlib import Path

from config import env

log = logging.getLogger(__name__)


def touch_alive_file() -> None:
    """Touch the file of SLUICE_ALIVE_FILE, if there is one."""
    if place := env.text("SLUICE_ALIVE_FILE", ""):
        try:
            Path(place).touch()
        except OSError as error:
            log.warning("%s cannot be touched: %s", place, error.strerror)
