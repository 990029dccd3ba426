"""All agents and readers of the load in one process: each asks at its own moments.

Like the agent, each exchange has a connection of its own, and a host that was late goes on with
its next moment. Each host has an address of 127.0.0.0/8.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import resource
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bench.load.fleet import HostKeys, body
from bench.load.reports import REPORT_S, Reports
from enforcers.client import DOCUMENT_PATH, REPORT_PATH
from enforcers.contract import PolicyDocument, decode_document
from enforcers.errors import ContractError
from enforcers.signature import SignatureKind
from enforcers.wire_signatures import REPORT_HEADER, document_media

POLL_S, SAMPLE_S = 10.0, 10.0
"""An agent's defaults: `poll_s`, and `interval_s` of its reader."""
TIMEOUT_S = 10.0
_HOSTS_OF_A_NET = 250
_REVISION = re.compile(rb'"revision":\d+')


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One exchange: when it was due, how long after that it was answered, and how.

    `status` 0 means that there was no answer within its time.
    """

    what: str
    due_s: float
    lag_s: float
    status: int


@dataclass(slots=True)
class Host:
    """A host with its agent and its reader."""

    number: int
    keys: HostKeys
    secret: str
    port: int
    answered: list[Answered] = field(default_factory=list)
    _document: PolicyDocument | None = None
    _revision: bytes = b""
    _reports: Reports = field(init=False)

    def __post_init__(self) -> None:
        self._reports = Reports(self.keys.name, self.keys.report_key)

    def turns(self, begin_s: float, end_s: float, join_s: float) -> list[Awaitable[None]]:
        """Its three series of exchanges; hosts join within `join_s`, spread over it."""
        shift = (self.number * 0.6180339887) % 1.0
        begin_s += shift * join_s
        return [
            self._turns(what, _moments(begin_s + shift * every_s, end_s, every_s), ask)
            for what, every_s, ask in (
                ("samples", SAMPLE_S, self._send),
                ("document", POLL_S, self._pull),
                ("report", REPORT_S, self._report),
            )
        ]

    async def _turns(
        self, what: str, moments: Iterator[float], ask: Callable[[], Awaitable[int]]
    ) -> None:
        for due_s in moments:
            now_s = time.monotonic()
            if now_s < due_s:
                await asyncio.sleep(due_s - now_s)
            try:
                status = await asyncio.wait_for(ask(), TIMEOUT_S)
            except (OSError, TimeoutError, asyncio.IncompleteReadError, ContractError):
                status = 0
            lag_s = time.monotonic() - due_s
            self.answered.append(Answered(what=what, due_s=due_s, lag_s=lag_s, status=status))

    async def _send(self) -> int:
        lines = gzip.compress(body(self.keys.name, self.number, int(time.time())), 1)
        head = (
            f"POST /api/v2/write HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Authorization: Token {self.secret}\r\nContent-Encoding: gzip\r\n"
            f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(lines)}\r\n\r\n"
        )
        status, _ = await self._ask(head.encode() + lines)
        return status

    async def _pull(self) -> int:
        status, text = await self._ask(self._head("GET", DOCUMENT_PATH))
        # Whoever reads and checks 100 documents a second in Python measures itself.
        if status == 200 and (found := _REVISION.search(text)) and found[0] != self._revision:
            self._document, self._revision = decode_document(text), found[0]
        return status

    async def _report(self) -> int:
        if self._document is None:
            await self._pull()
        if self._document is None:
            return 0
        text, signature = self._reports.report(self._document, datetime.now(UTC))
        status, _ = await self._ask(
            self._head("POST", REPORT_PATH, f"{REPORT_HEADER}: {signature}\r\n"
                       f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n") + text
        )  # fmt: skip
        return status

    def _head(self, method: str, path: str, more: str = "") -> bytes:
        return (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Authorization: Bearer {self.keys.token}\r\n"
            f"Accept: {document_media(SignatureKind.ED25519)}\r\n{more}\r\n"
        ).encode()

    async def _ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer, which ends with the connection."""
        net, place = divmod(self.number, _HOSTS_OF_A_NET)
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, local_addr=(f"127.0.{net + 1}.{place + 1}", 0)
        )
        try:
            writer.write(request)
            whole = await reader.read()
        finally:
            writer.close()
        head, _, text = whole.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 "):
            raise ConnectionResetError("no answer")
        return int(head[9:12]), text


def _moments(first_s: float, end_s: float, every_s: float) -> Iterator[float]:
    """Each period's moment; those that passed while the host waited for an answer are left out."""
    due_s = first_s
    while due_s < end_s:
        yield due_s
        due_s += every_s
        behind_s = time.monotonic() - due_s
        if behind_s > every_s:
            due_s += every_s * int(behind_s / every_s)


async def play(hosts: list[Host], *, begin_s: float, end_s: float, join_s: float = 0.0) -> None:
    """All hosts until the end (monotonic), which join evenly within the first `join_s`."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    # All may wait for an answer at once.
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    await asyncio.gather(*(turn for host in hosts for turn in host.turns(begin_s, end_s, join_s)))
