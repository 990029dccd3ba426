"""A report as PDF, made by a process of its own."""

from __future__ import annotations

import logging
import subprocess
import sys
from threading import BoundedSemaphore

from advisor.errors import ExportImpossible
from advisor.reports.pdf_program import MISSING

log = logging.getLogger(__name__)

LONGEST_S = 60.0
LONGEST_WAIT_S = 10.0
_AT_A_TIME = BoundedSemaphore(2)
"""In this process: who has a link to a report may ask for its PDF as often as they like."""
PROGRAM = (sys.executable, "-m", "advisor.reports.pdf_program")


def pdf_of(html: str, *, program: tuple[str, ...] = PROGRAM) -> bytes:
    """The PDF of a document of ours; ExportImpossible says why there is none."""
    if not _AT_A_TIME.acquire(timeout=LONGEST_WAIT_S):
        raise ExportImpossible("other PDFs are being made; try again in a minute")
    try:
        return _made(html, program)
    finally:
        _AT_A_TIME.release()


def _made(html: str, program: tuple[str, ...]) -> bytes:
    try:
        made = subprocess.run(  # what it reads is on its standard input
            program, input=html.encode(), capture_output=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ExportImpossible(f"the PDF took longer than {LONGEST_S:.0f} s") from error
    said = made.stderr.decode(errors="replace").strip()
    if made.returncode == MISSING:
        raise ExportImpossible(f"this server makes no PDF: {said.splitlines()[-1]}")
    if made.returncode != 0:
        log.warning("no PDF of a report", extra={"status": made.returncode, "said": said[-2000:]})
        raise ExportImpossible("the PDF could not be made; the log of the server says why")
    return made.stdout
