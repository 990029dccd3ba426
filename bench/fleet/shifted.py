"""`python -m bench.fleet.shifted MODULE ...`: a module in the time of the data set."""

from __future__ import annotations

import os
import runpy
import sys
from datetime import timedelta

from bench.fleet.clock import SHIFT_VARIABLE, shift_clock


def main() -> None:
    """Shift the clock, then be the module with the rest of the arguments."""
    shift_clock(timedelta(seconds=float(os.environ[SHIFT_VARIABLE])))
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
