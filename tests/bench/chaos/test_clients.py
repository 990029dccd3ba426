"""Who writes and asks during a scenario speaks as collectors and agents do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.chaos.agent import idle_report, server_config
from bench.chaos.verdict import ROWS_OF
from bench.chaos.writer import Writer, batch
from enforcers.client import Client
from enforcers.contract import decode_report, encode_report
from enforcers.signature import ServerKey
from enforcers.wire_signatures import REPORT_HEADER, read_report_signature, report_message
from ingest.core.batch import Rules, read_batch
from ingest.core.line_protocol import Precision
from ingest.sources.registry import find_head

RULES = Rules(
    precision=Precision.NS, now_ns=0, earliest_ns=0, latest_ns=2**63, too_early="", too_late=""
)
PUBLIC = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
SECRET = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


class Service(ThreadingHTTPServer):
    """Refuses the first request for samples, and takes all later ones."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.bodies: list[bytes] = []
        self.reports: list[tuple[bytes, str]] = []


class Answers(BaseHTTPRequestHandler):
    """What it answers."""

    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/v2/write":
            self.server.bodies.append(body)
            self.send_response(503 if len(self.server.bodies) == 1 else 204)
            self.end_headers()
            return
        self.server.reports.append((body, self.headers[REPORT_HEADER]))
        answer = json.dumps({"accepted": 0}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  as there
        pass


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    thread = threading.Thread(target=service.serve_forever)
    thread.start()
    yield service
    service.shutdown()
    thread.join()
    service.server_close()


def test_batch_has_the_rows_that_are_looked_for_and_its_number_in_each() -> None:
    found = read_batch(batch("chaos-0", 1_772_600_000_123, 70), RULES, find_head)

    assert not found.rejections
    assert {table.name: len(rows) for table, rows in found.rows.items()} == ROWS_OF
    assert {values[0] for rows in found.rows.values() for values in rows.values()} == {70}


def test_writer_sends_what_was_refused_again_as_it_was(service: Service) -> None:
    writer = Writer("secret", ("127.0.0.1", service.server_address[1]))
    writer.start()
    while len(writer.acknowledged(since_ms=0)) < 8:
        time.sleep(0.01)
    writer.stop()

    refused = service.bodies[0]
    assert service.bodies.count(refused) == 2
    assert writer.sent_again == 1
    assert writer.works_since(0.0)


def test_agent_knows_the_key_of_documents_and_signs_its_reports_by_its_own(
    service: Service,
) -> None:
    config = server_config(
        f"http://127.0.0.1:{service.server_address[1]}",
        token="t",
        server_key=f"ed25519-public:{PUBLIC.hex()}",
        report_key=f"ed25519-secret:{bytes(range(32)).hex()}",
    )

    report = idle_report("h1", revision=3, at=datetime(2026, 3, 4, tzinfo=UTC))
    Client(config).send_report(encode_report(report))

    assert config.document_key == ServerKey(public=PUBLIC)
    ((body, header),) = service.reports
    assert decode_report(body) == report
    signed = read_report_signature(header)
    SECRET.public_key().verify(signed.signature, report_message(body, number=signed.number))
