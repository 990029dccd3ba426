"""The local reader: this machine's own samples, so that a new installation shows something."""

import json
import socket
import sys
from pathlib import Path

from django.utils import timezone

from accounts.models import Organisation, Token
from accounts.models.token import Scope
from appliance.embedded.child import ChildSpec
from config.paths import DataDir

COLLECTOR_NAME = "local reader"


def local_reader(data: DataDir) -> ChildSpec:
    """The agent's reader without its enforcement, with a token for the first organisation.

    It sends through the web server's socket, which is there whatever address the server has.
    """
    data.reader.mkdir(mode=0o700, exist_ok=True)
    _keep_token(data.reader / "ingest-token")
    configuration = data.reader / "agent.toml"
    configuration.write_text(_configuration(data))
    return ChildSpec(
        name="reader",
        argv=(sys.executable, "-m", "enforcers", "read", "--config", str(configuration)),
        log=data.logs / "reader.log",
        environment={"SLUICE_DATA_DIR": str(data.root), "PYTHONUNBUFFERED": "1"},
        needs=("web",),
        essential=False,
    )


def _configuration(data: DataDir) -> str:
    """The agent's TOML; enforcers/sample.toml explains every key."""
    tables: dict[str, dict[str, str | bool]] = {
        "agent": {"host": socket.gethostname(), "state_dir": str(data.reader)},
        "server": {"url": "http://localhost", "socket": str(data.web_socket)},
        "reader": {"on": True, "token_file": "ingest-token"},
    }
    # JSON writes a string and a flag as TOML does.
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        for name, table in tables.items()
    )


def _keep_token(path: Path) -> None:
    """The secret at path stays while the database accepts it; else it is a new one."""
    if path.is_file() and Token.objects.valid(path.read_text(), now=timezone.now()) is not None:
        return
    organisation = Organisation.objects.order_by("pk").first()
    assert organisation is not None  # The first log-in came with one.
    _, secret = Token.objects.issue(
        organisation=organisation, scope=Scope.INGEST, name=COLLECTOR_NAME
    )
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(secret)
