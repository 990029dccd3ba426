"""The process that signs the documents of hosts, and alone has the secret of their keys."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import threading
from argparse import ArgumentParser
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from advisor.core.signing_keys import Keyring
from advisor.decisions.signing.serving import SigningServer
from appliance.embedded.become import become
from config.env import SettingError
from config.log_format import KeyValueFormatter
from config.paths import data_dir
from config.signing_keys import signing_keys

PR_SET_DUMPABLE = 4  # prctl(2)


def main() -> int:
    """Answer until SIGTERM."""
    parser = ArgumentParser(description="Sign policy documents of hosts")
    parser.add_argument("--socket", type=Path, default=data_dir().signer_socket)
    parser.add_argument("--user", help="become this user once the secret is read")
    parser.add_argument("--group", type=int, help="the number of the group that may ask")
    options = parser.parse_args()
    _log_to_stderr()
    _hide_memory()
    try:
        keyring = Keyring(signing_keys(data_dir().signing_keys))
        server = SigningServer(options.socket, keyring, lambda: datetime.now(UTC))
    except (OSError, ValueError, SettingError) as error:
        print(f"signer: {options.socket}: {error}", file=sys.stderr)
        return 1
    if options.group is not None:
        os.chown(options.socket, -1, options.group)
        options.socket.chmod(0o660)
    if options.user:
        become(options.user)
        _hide_memory()
    with server:
        _stop_by_signal(server)
        server.serve_forever()
    # Root's folder is closed to who it became; the next one makes way for itself.
    with suppress(PermissionError):
        options.socket.unlink(missing_ok=True)
    return 0


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(KeyValueFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _hide_memory() -> None:
    """Another process of the same user reads neither memory nor environment of this one."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def _stop_by_signal(server: SigningServer) -> None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        # It waits for the loop that this very thread runs.
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


if __name__ == "__main__":
    sys.exit(main())
