"""At which server, and with whose token, `sluice` works when it is not on the server itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sluice_client.api import Api
from sluice_client.connection import ApiError, Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A server and the token of a person there."""

    server: str
    token: str = field(repr=False)

    @property
    def api(self) -> Api:
        return Api(Connection(self.server, self.token))


def login_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Where `sluice login` keeps it."""
    base = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or "/") / ".config"
    return Path(base) / "sluice" / "login.json"


def find_login(environ: Mapping[str, str] = os.environ) -> Login | None:
    """That of the environment, else that of `sluice login`; None: this machine is the server."""
    server, token = environ.get("SLUICE_SERVER"), environ.get("SLUICE_TOKEN")
    if server:
        if not token:
            raise ApiError("SLUICE_SERVER is set and SLUICE_TOKEN is not; set both, or neither")
        return Login(server=server, token=token)
    try:
        kept = json.loads(login_file(environ).read_text(encoding="utf-8"))
        return Login(server=kept["server"], token=kept["token"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ApiError(
            f"{login_file(environ)} cannot be read: {error}; run sluice login again"
        ) from error


def keep_login(login: Login) -> None:
    """Keep it for later commands, so that only this user of the machine can read it."""
    file = login_file()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.unlink(missing_ok=True)
    text = json.dumps({"server": login.server, "token": login.token})
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:  # noqa: PTH123
        opened.write(text)
