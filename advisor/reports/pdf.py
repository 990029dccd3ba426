"""A report as PDF, made by a process of its own."""

from __future__ import annotations

import logging
import subprocess
import sys

from advisor.errors import ExportImpossible
from advisor.reports.pdf_program import MISSING

log = logging.getLogger(__name__)

LONGEST_S = 60.0
PROGRAM = (sys.executable, "-m", "advisor.reports.pdf_program")


def pdf_of(html: str, *, program: tuple[str, ...] = PROGRAM) -> bytes:
    """The PDF of a document of ours; ExportImpossible says why there is none."""
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
