#!/usr/bin/env python3
"""Run one leg of `make test`: pytest, and up to two failed tests a second time, alone.

Only tests that wait for a program outside (a kernel, a browser, a database) get a second try, and
each is named: a test that passes only then is a fault to mend, and no reason to refuse a commit.
A leg that would begin after SLUICE_LAST_LEG_AT (seconds since 1970) is left out and named: on a
slow machine, CI has an end.

    SERVICES="browser or root" scripts/leg.py PYTEST ARGUMENT...
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_SECOND_TRIES = 2
SOME_FAILED = 1


def failed_of(cache: Path) -> list[str]:
    record = cache / "v/cache/lastfailed"
    return sorted(json.loads(record.read_text())) if record.exists() else []


def wait_for_something(pytest: str, tests: list[str]) -> bool:
    """Whether each of the tests needs a program outside."""
    collect = [pytest, "-q", "--collect-only", "-p", "no:cacheprovider"]
    asked = [*collect, "-m", os.environ["SERVICES"], *tests]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    return told.returncode == 0 and "deselected" not in told.stdout


def run(*command: str) -> int:
    return subprocess.run(command, check=False).returncode


def main() -> int:
    pytest, *arguments = sys.argv[1:]
    late_s = time.time() - float(os.environ.get("SLUICE_LAST_LEG_AT") or "inf")
    if late_s > 0:
        print(f"NOT RUN, {late_s / 60:.0f} minutes too late: {' '.join(arguments)}", flush=True)
        return 0
    with tempfile.TemporaryDirectory() as name:
        status = run(pytest, "-o", f"cache_dir={name}", *arguments)
        failed = failed_of(Path(name))
    if status != SOME_FAILED or not 1 <= len(failed) <= MOST_SECOND_TRIES:
        return status
    if not wait_for_something(pytest, failed):
        return status
    print(f"second try, alone: {' '.join(failed)}", flush=True)
    status = run(pytest, "-q", "-p", "no:cacheprovider", *failed)
    if status == 0:
        for test in failed:
            print(f"PASSED ONLY AT THE SECOND TRY: {test}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
