"""An enrolled agent's exchanges: it fetches its document, checks the signature, and reports."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from threading import Event, Thread
from urllib.parse import urlsplit

from enforcers.client import Client
from enforcers.config import ServerConfig
from enforcers.contract import ComplianceReport, EnforcementState, encode_report
from enforcers.errors import EnforcerError
from enforcers.signature import ServerKey
from enforcers.signed_document import DocumentReader
from enforcers.version import VERSION

EVERY_S = 0.5
TIMEOUT_S = 5.0


def server_config(url: str, *, token: str, server_key: str, report_key: str) -> ServerConfig:
    """What an agent knows of its service, from the three that enrolment prints."""
    return ServerConfig(
        url=urlsplit(url),
        timeout_s=TIMEOUT_S,
        ca_file=None,
        token=token,
        document_key=ServerKey(public=bytes.fromhex(server_key.rpartition(":")[2])),
        report_key=bytes.fromhex(report_key.rpartition(":")[2]),
    )


def idle_report(host: str, *, revision: int | None, at: datetime) -> ComplianceReport:
    """Of an agent that has nothing to enforce."""
    return ComplianceReport(
        host=host,
        revision=revision,
        reported_at=at,
        agent_version=VERSION,
        state=EnforcementState.IDLE,
        refusal=None,
        reports_dropped=0,
        support=(),
        allocations=(),
    )


class Agent:
    """Exchanges again and again; nothing is enforced."""

    def __init__(self, host: str, config: ServerConfig) -> None:
        self._host = host
        self._client = Client(config)
        self._reader = DocumentReader(config.document_key)
        self._ended = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self.newest_begun_s = 0.0
        """When the newest whole exchange began (monotonic)."""
        self.trouble = ""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(4 * TIMEOUT_S)

    def _run(self) -> None:
        while not self._ended.wait(EVERY_S):
            begun_s = time.monotonic()
            try:
                document = self._reader.read(self._client.fetch_document())
                at = datetime.now(UTC)
                report = idle_report(self._host, revision=document.revision, at=at)
                self._client.send_report(encode_report(report))
            except EnforcerError as error:
                self.trouble = str(error)
            else:
                self.newest_begun_s, self.trouble = begun_s, ""
