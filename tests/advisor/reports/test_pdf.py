"""A report as PDF: the real renderer, what it may not fetch, and what is said without it."""

from __future__ import annotations

import http.server
import re
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.template import TemplateSyntaxError
from django.test import override_settings

from advisor.core.reporting.period import read_period
from advisor.core.reporting.promise import PromiseMinutes, added
from advisor.core.reporting.report import Report, ReportedIncidents, ReportedWorkload
from advisor.errors import ExportImpossible
from advisor.reports import pdf
from advisor.reports.printed import MOST_IN_TABLE, printed
from advisor.reports.written import WrittenReport, written

NOW = datetime(2026, 11, 23, 6, tzinfo=UTC)
MOST_S, MOST_BYTES = 10.0, 5_000_000


def report(count: int, *, name: str = "db-{}") -> WrittenReport:
    workloads = tuple(
        ReportedWorkload(
            name=name.format(number), tier="high", resources=("nfs-07",), lost_min=1.0,
            minutes=PromiseMinutes(measured=1440, asked=1000, kept=900), incidents=1, gap="",
        )
        for number in range(count)
    )  # fmt: skip
    found = Report(
        organisation="Acme",
        subject="all workloads",
        period=read_period("2026-11-20", ZoneInfo("UTC"), now=NOW),
        made_at=NOW,
        workloads=workloads,
        minutes=added(one.minutes for one in workloads),
        lost_min=float(count),
        incidents=ReportedIncidents(rows=(), count=0),
        gaps=(),
    )
    return written(found)


def pages(made: bytes) -> int:
    """From the objects of the PDF, some of which stand in packed streams."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", made, re.DOTALL)
    unpacked = [made]
    for one in streams:
        try:
            unpacked.append(zlib.decompress(one))
        except zlib.error:
            continue
    return sum(len(re.findall(rb"/Type /Page\b(?!s)", one)) for one in unpacked)


@pytest.mark.pdf
def test_two_thousand_workloads_are_many_pages_in_bounded_time_and_size() -> None:
    began_s = time.monotonic()
    made = pdf.pdf_of(printed(report(2000)))
    took_s = time.monotonic() - began_s

    assert made.startswith(b"%PDF-")
    assert pages(made) > 10
    assert len(made) < MOST_BYTES
    assert took_s < MOST_S


def test_every_workload_is_in_print() -> None:
    html = printed(report(MOST_IN_TABLE + 5))

    assert all(f"db-{number}, nfs-07" in html for number in range(MOST_IN_TABLE + 5))
    assert html.count("<tr>") == 1 + 1 + 1 + MOST_IN_TABLE  # heads, the tier, workloads


def test_markup_in_a_name_is_text() -> None:
    assert "<img" not in printed(report(1, name='<img src="http://x/">{}'))


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """A server that notes what it is asked for."""
    found: list[str] = []

    class Noting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Nothing on the console of the tests."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Noting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", found
        server.shutdown()
        thread.join()


@pytest.mark.pdf
def test_renderer_fetches_nothing(asked: tuple[str, list[str]], tmp_path: Path) -> None:
    address, found = asked
    secret = tmp_path / "secret.css"
    secret.write_text("p { font-size: 900pt }")
    html = (
        f'<link rel="stylesheet" href="{address}/a.css"><img src="{address}/b.png">'
        f'<link rel="stylesheet" href="file://{secret}"><p>text</p>'
    )

    made = pdf.pdf_of(html)

    assert made.startswith(b"%PDF-")
    assert found == []
    assert len(made) == pytest.approx(len(pdf.pdf_of("<p>text</p>")), abs=200)


WITHOUT_PANGO = """
import sys
import cffi
def no(self, name, flags=0): raise OSError("cannot load library 'libpango-1.0-0'")
cffi.FFI.dlopen = no
from advisor.reports.pdf_program import main
sys.exit(main())
"""


def test_missing_library_is_named() -> None:
    with pytest.raises(ExportImpossible, match=r"makes no PDF: .*lib.* \(Debian: libpangoft2"):
        pdf.pdf_of("<p>text</p>", program=(sys.executable, "-c", WITHOUT_PANGO))


@pytest.mark.pdf
def test_missing_fonts_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = tmp_path / "fonts.conf"
    none.write_text('<?xml version="1.0"?><fontconfig></fontconfig>')
    monkeypatch.setenv("FONTCONFIG_FILE", str(none))

    with pytest.raises(ExportImpossible, match="no font is installed"):
        pdf.pdf_of("<p>text</p>")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os.abort()", "could not be made"),
        ("import time; time.sleep(9)", "longer than"),
    ],
    ids=["crash", "hang"],
)
def test_renderer_that_ends_badly_is_told(
    program: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "LONGEST_S", 0.5)

    with pytest.raises(ExportImpossible, match=reason):
        pdf.pdf_of("<p>text</p>", program=(sys.executable, "-c", program))


def test_more_than_two_at_a_time_wait_and_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "LONGEST_WAIT_S", 0.1)
    with pdf._AT_A_TIME, pdf._AT_A_TIME, pytest.raises(ExportImpossible, match="try again"):
        pdf.pdf_of("<p>text</p>")

    echo = (sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())")
    assert pdf.pdf_of("<p>text</p>", program=echo) == b"<p>text</p>"


def test_template_that_raises_is_named(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/print.html").write_text("{% if %}")
    engine = {
        "BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [str(tmp_path)],
    }  # fmt: skip

    with override_settings(TEMPLATES=[engine]), pytest.raises(ExportImpossible) as raised:
        printed(report(1))

    assert "reports/print.html raises TemplateSyntaxError" in str(raised.value)
    assert isinstance(raised.value.__cause__, TemplateSyntaxError)
