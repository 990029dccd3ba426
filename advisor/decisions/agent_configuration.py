"""The configuration of a host's agent, as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Tables = Mapping[str, Mapping[str, Any]]

SERVER_FILES = {
    "token_file": "token",
    "server_key_file": "server-key",
    "report_key_file": "report-key",
}
READER_TABLE = {"on": True, "token_file": "ingest-token"}
"""Secrets lie in files beside the configuration."""


def configuration_text(tables: Tables) -> str:
    """The agent's TOML; enforcers/sample.toml explains every key."""
    # A JSON number, flag, string or list of strings is written the same in TOML.
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        for name, table in tables.items()
    )
