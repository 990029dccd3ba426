"""Writes the HTML that it reads as PDF: `python -m advisor.reports.pdf_program <in >out`.

A process of its own ends with what its libraries do: with a crash, with their memory, and when it
takes too long. It fetches nothing, from no network and no file. What is missing it names on
standard error, and ends with `MISSING`.
"""

from __future__ import annotations

import sys
import warnings

MISSING = 3
NO_FONTS = ".*Expect ugly output"
"""What WeasyPrint warns of where there is no font, before Pango crashes."""


def main() -> int:
    """Exit status."""
    warnings.filterwarnings("error", message=NO_FONTS)
    try:
        import weasyprint
        from weasyprint.urls import URLFetcher
    except UserWarning:
        return _missing("no font is installed; Debian's fonts-dejavu-core has some")
    except (ImportError, OSError) as error:
        reason = str(error).partition("\n")[0]
        return _missing(f"{reason} (Debian: libpangoft2-1.0-0 and libharfbuzz-subset0)")
    text = sys.stdin.buffer.read().decode()
    nothing = URLFetcher(allowed_protocols=())
    sys.stdout.buffer.write(weasyprint.HTML(string=text, url_fetcher=nothing).write_pdf())
    return 0


def _missing(what: str) -> int:
    sys.stderr.write(f"\n{what}")
    return MISSING


if __name__ == "__main__":
    sys.exit(main())
