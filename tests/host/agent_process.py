"""The agent as a process of its own on the host of a network, and the service that it asks."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from enforcers.contract import (
    Allocation,
    ComplianceReport,
    Pool,
    decode_report,
    encode_document,
)
from tests.enforcers.policies import KEY, document
from tests.host.network import Network

CHECKOUT = Path(__file__).parents[2]
SERVICE = Path(__file__).with_name("document_server.py")
PORT = 8077
DEADLINE_S = 30.0


class Host:
    """An agent process and its service in the host's namespace.

    `python` begins the agent's command line: an interpreter with its modules. With `is_tls` the
    service speaks HTTPS, by a certificate of its own that the agent is told of.
    """

    python: Sequence[str] = (sys.executable, "-m", "enforcers")

    def __init__(
        self,
        network: Network,
        folder: Path,
        *,
        tc_htb: str = 'interfaces = ["up0"]',
        is_tls: bool = False,
    ) -> None:
        self.network = network
        self._is_tls = is_tls
        self._tc_htb = tc_htb
        self.folder = folder
        self.agent: subprocess.Popen[bytes] | None = None
        for name, secret in (("token", b"sluice-token-0001"), ("signing-key", KEY)):
            (folder / name).write_bytes(secret)
            (folder / name).chmod(0o600)
        if is_tls:
            _certify(folder / "server.pem")
        self.configure()
        code = (
            f"import runpy, sys; sys.argv[1:] = ['{PORT}', '{folder}']; "
            f"runpy.run_path('{SERVICE}')"
        )
        network.start(network.host, code)

    def configure(self, **agent: object) -> None:
        keys = {"host": "h1", "state_dir": "state", "poll_s": 0.3, "report_s": 2.0, **agent}
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        (self.folder / "agent.toml").write_text(
            "\n".join(["[agent]", *lines]) + f"\n[server]\n{self._url()}"
            'token_file = "token"\n'
            'signing_key_file = "signing-key"\ntimeout_s = 2.0\n'
            f"[tc_htb]\n{self._tc_htb}\n"
        )

    def _url(self) -> str:
        if self._is_tls:
            return f'url = "https://127.0.0.1:{PORT}"\nca_file = "server.pem"\n'
        return f'url = "http://127.0.0.1:{PORT}"\n'

    def publish(
        self,
        *allocations: Allocation,
        pools: tuple[Pool, ...] = (),
        revision: int = 1,
        lease_s: float = 600.0,
    ) -> None:
        now = datetime.now(UTC)
        given = document(
            *allocations,
            pools=pools,
            revision=revision,
            issued_at=now,
            expires_at=now + timedelta(seconds=lease_s),
        )
        (self.folder / "incoming").write_bytes(encode_document(given))
        (self.folder / "incoming").rename(self.folder / "document")

    def renew_leases(self, lease_s: float) -> None:
        """From now on each pull gets a document with a lease of its own."""
        (self.folder / "lease-s").write_text(f"{lease_s}")

    def withdraw(self) -> None:
        """From now on the service has no answer."""
        (self.folder / "document").unlink()

    def command(self, *argv: str) -> list[str]:
        config = str(self.folder / "agent.toml")
        inside = ["ip", "netns", "exec", self.network.host]
        return [*inside, *self.python, *argv, "--config", config]

    def start(self) -> None:
        log = (self.folder / "agent.log").open("ab")
        with log:
            self.agent = subprocess.Popen(self.command("run"), cwd=CHECKOUT, stderr=log)

    def end(self, number: signal.Signals) -> int:
        self.tell(number)
        assert self.agent is not None
        return self.agent.wait(DEADLINE_S)

    def tell(self, number: signal.Signals) -> None:
        assert self.agent is not None
        self.agent.send_signal(number)

    def run(self, *argv: str) -> str:
        done = subprocess.run(
            self.command(*argv), cwd=CHECKOUT, check=True, capture_output=True, text=True
        )
        return done.stdout

    def report(self, is_wanted: Callable[[ComplianceReport], bool]) -> ComplianceReport:
        """The first report from now on that is wanted."""
        known = len(list(self.folder.glob("report-*")))
        deadline_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline_s:
            for path in sorted(self.folder.glob("report-*"))[known:]:
                found = decode_report(path.read_bytes())
                if is_wanted(found):
                    return found
            time.sleep(0.05)
        raise AssertionError(f"no such report; the agent said:\n{self.log()}")

    def log(self) -> str:
        return (self.folder / "agent.log").read_text()


def _certify(place: Path) -> None:
    """A key and a certificate for the loopback, signed by itself, in one file."""
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(place), "-out", f"{place}.certificate"]
    subprocess.run(["openssl", "req", *kind, *name, *files], check=True, capture_output=True)
    with place.open("ab") as file:
        file.write(Path(f"{place}.certificate").read_bytes())
