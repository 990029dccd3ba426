"""The real agent inside the guest, with a service that hands it signed documents."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import mkdtemp

from enforcers import ed25519
from enforcers.client import DOCUMENT_PATH, REPORT_PATH
from enforcers.contract import (
    Allocation,
    ComplianceReport,
    IoCount,
    LimitScope,
    PolicyDocument,
    ReservationMode,
    ResourceKind,
    ResourceSpec,
    Selector,
    Unit,
    decode_report,
    encode_document,
    sign,
)
from enforcers.wire_signatures import sign_by
from tests.testbed.storage.groups import PARENT
from tests.testbed.storage.null_disk import NAME

HOST = "h1"
POLL_S = 1.0
REPORT_DEADLINE_S = 3600.0
"""In the guest's time, which runs off while the agent's files come from a busy machine."""
_KEY = b"testbed-signing-key"
_TOKEN = "testbed-agent-token"
LEASE = timedelta(days=1)
WRITE_PATH = "/api/v2/write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person asks for one group; `selector` is another way to mean it: kind and value.

    The groups of one `workload` are its disks; None: the group is a workload of its own.
    """

    group: str
    selector: tuple[str, str] | None = None
    reservation: float = 0.0
    limit: float | None = None
    shares: int = 100
    entitlement: float = 0.0
    workload: str | None = None
    limit_scope: LimitScope = LimitScope.PER_VDISK
    io_count: IoCount = IoCount.PLAIN


_SECRET_MARK = b"ed25519-secret:"


def _signed(document: PolicyDocument, key: bytes) -> PolicyDocument:
    if not key.startswith(_SECRET_MARK):
        return sign(document, key)
    secret = bytes.fromhex(key.removeprefix(_SECRET_MARK).decode())
    return sign_by(document, lambda message: ed25519.sign(message, secret))


class Service:
    """Signs documents as the product does, and keeps the reports."""

    def __init__(self, *, key: bytes = _KEY, device: str = NAME) -> None:
        self.document = b""
        self._key = key
        self._device = device
        self.reports: list[ComplianceReport] = []
        self._revision = 0

    def publish(
        self,
        *wishes: Wish,
        capacity_iops: float,
        divides: bool = False,
        lease: timedelta = LEASE,
    ) -> None:
        """A document of a new revision."""
        self._revision += 1
        now = datetime.now(UTC)
        document = PolicyDocument(
            host=HOST,
            revision=self._revision,
            issued_at=now,
            expires_at=now + lease,
            dry_run=False,
            resources=(_resource(self._device, capacity_iops, divides=divides),),
            allocations=tuple(_allocation(wish) for wish in wishes),
        )
        self.document = encode_document(_signed(document, self._key))

    def wait_until_enforced(self) -> None:
        """Return with the first report on this revision. Raises TimeoutError."""
        deadline_s = time.monotonic() + REPORT_DEADLINE_S
        while not any(self._is_present(report) for report in list(self.reports)):
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"no report of revision {self._revision}: {self.reports[-1:]}")
            time.sleep(0.1)

    def wait_until(self, outcome: str) -> None:
        """Return with the first report that has this outcome. Raises TimeoutError."""
        deadline_s = time.monotonic() + REPORT_DEADLINE_S
        while not any(self._has(report, outcome) for report in list(self.reports)):
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"nothing was {outcome}: {self.reports[-1:]}")
            time.sleep(0.1)

    def outcomes(self) -> dict[str, Sequence[str]]:
        """The newest outcome of each group, and its reason."""
        newest = [report for report in self.reports if self._is_present(report)][-1]
        return {item.workload: (str(item.outcome), item.reason) for item in newest.allocations}

    def corrected(self) -> list[dict[str, object]]:
        """What the newest report says of models that the agent had to lower."""
        return [asdict(one) for item in self.reports[-1].support for one in item.corrected or ()]

    def _has(self, report: ComplianceReport, outcome: str) -> bool:
        return any(item.outcome == outcome for item in report.allocations)

    def _is_present(self, report: ComplianceReport) -> bool:
        return report.revision == self._revision and bool(report.allocations)


@contextmanager
def agent(
    *,
    keeps_iocost: bool = False,
    tracks_capacity: bool = False,
    report_s: float = POLL_S,
    device: str = NAME,
) -> Iterator[Service]:
    """The agent's process, from its start until it has put the kernel back as it was found."""
    service = Service(device=device)
    with listening(service) as port:
        iocost = {"keep_iocost" if keeps_iocost else "capacity_is_measured": [device]}
        if tracks_capacity:
            iocost["track_capacity"] = [device]
        configuration = configure(
            Path(mkdtemp(prefix="agent-")), port, iocost, report_s=report_s, device=device
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "enforcers", "run", "--config", configuration]
        )
        try:
            yield service
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _resource(device: str, capacity_iops: float, *, divides: bool) -> ResourceSpec:
    return ResourceSpec(
        name="disk",
        kind=ResourceKind.DATASTORE,
        device=device,
        capacity=capacity_iops,
        unit=Unit.IOPS,
        mode=ReservationMode.FLOOR,
        mechanism="cgroup_io",
        divides=divides,
    )


def _allocation(wish: Wish) -> Allocation:
    name = wish.group.rpartition("/")[2]
    kind, value = wish.selector or ("cgroup", wish.group)
    return Allocation(
        id=name,
        workload=wish.workload or name,
        resource="disk",
        selector=Selector(kind=kind, value=value),
        reservation=wish.reservation,
        limit=wish.limit,
        shares=wish.shares,
        entitlement=wish.entitlement,
        limit_scope=wish.limit_scope,
        io_count=wish.io_count,
    )


def configure(
    folder: Path,
    port: int,
    iocost: Mapping[str, Sequence[str]],
    *,
    report_s: float = POLL_S,
    device: str = NAME,
) -> Path:
    """Write what enrolling a host writes, and give the place of the configuration."""
    for name, secret in (("token", _TOKEN.encode()), ("signing-key", _KEY)):
        (folder / name).write_bytes(secret)
        (folder / name).chmod(0o600)
    configuration = folder / "agent.toml"
    configuration.write_text(
        f'[agent]\nhost = "{HOST}"\nstate_dir = "state"\n'
        f"poll_s = {report_s}\nreport_s = {report_s}\n"
        f'[server]\nurl = "http://127.0.0.1:{port}"\n'
        'token_file = "token"\nsigning_key_file = "signing-key"\n'
        f'[cgroup_io]\nsubtrees = ["{PARENT}"]\ndevices = ["{device}"]\n'
        + "".join(f"{key} = {json.dumps(names)}\n" for key, names in iocost.items())
    )
    return configuration


@dataclass(slots=True, kw_only=True)
class Joining:
    """What the real web server answered to a host that joins, and to one that did so before.

    `asked` are the forms that came, `samples` the lengths of the bodies with samples.
    """

    path: str
    script: bytes
    archive: bytes
    archive_again: bytes
    asked: list[bytes] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)


@contextmanager
def listening(service: Service, *, port: int = 0, joining: Joining | None = None) -> Iterator[int]:
    """The service answers at this port of the loopback, by default at any that is free.

    With `joining` hosts connect themselves too, and their samples are taken.
    """

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_join = joining is not None and self.path == joining.path
            answer = service.document if self.path == DOCUMENT_PATH else b""
            self._say(joining.script if joining is not None and is_join else answer)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if joining is not None and self.path == joining.path:
                joining.asked.append(body)
                is_known = "Authorization" in self.headers
                self._say(joining.archive_again if is_known else joining.archive)
                return
            if joining is not None and self.path.startswith(WRITE_PATH):
                joining.samples.append(len(body))
                self.send_response(204)
                self.end_headers()
                return
            if self.path != REPORT_PATH:
                # This service knows of no other hosts.
                self.send_error(404)
                return
            service.reports.append(decode_report(body))
            self._say(b"{}")

        def log_message(self, *_: object) -> None:
            pass

        def _say(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", port), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.5})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
