"""The local Telegraf: this machine's own samples, so that a new installation shows something."""

import os
import shutil
from pathlib import Path

from django.utils import timezone

import ingest
from accounts.models import Organisation, Token
from accounts.models.token import Scope
from appliance.embedded.child import ChildSpec
from config.paths import DataDir

COLLECTOR_NAME = "local telegraf"
CONFIGURATION = Path(ingest.__file__).parent / "telegraf" / "sluice.conf"


def find_telegraf() -> Path | None:
    """The program of SLUICE_TELEGRAF, else the one `make telegraf` obtained, else PATH's."""
    if chosen := os.environ.get("SLUICE_TELEGRAF"):
        return Path(chosen)
    cache = Path(os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache" / "sluice")
    if os.access(built := cache / "bin" / "telegraf", os.X_OK):
        return built
    found = shutil.which("telegraf")
    return Path(found) if found else None


def local_telegraf(program: Path, data: DataDir, *, url: str) -> ChildSpec:
    """The Telegraf process with a token for the organisation of the first log-in."""
    data.telegraf_buffer.mkdir(mode=0o700, exist_ok=True)
    return ChildSpec(
        name="telegraf",
        argv=(str(program), "--strict-env-handling", "--config", str(CONFIGURATION)),
        log=data.logs / "telegraf.log",
        environment={
            "SLUICE_URL": url,
            "SLUICE_TOKEN": _token(data.telegraf_token),
            "SLUICE_BUFFER_DIR": str(data.telegraf_buffer),
        },
        essential=False,
    )


def _token(path: Path) -> str:
    """The secret kept at path while the database accepts it, else a new one."""
    if path.is_file():
        secret = path.read_text()
        if Token.objects.valid(secret, now=timezone.now()) is not None:
            return secret
    organisation = Organisation.objects.order_by("pk").first()
    assert organisation is not None  # The first log-in came with one.
    _, secret = Token.objects.issue(
        organisation=organisation, scope=Scope.INGEST, name=COLLECTOR_NAME
    )
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(secret)
    return secret
