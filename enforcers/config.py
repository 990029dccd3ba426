"""What the agent is told about itself, checked before anything else happens.

Checking reads the named files and touches neither the network nor the kernel.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from enforcers.config_keys import secret_word, take_keys
from enforcers.config_table import ConfigTable, read_toml
from enforcers.errors import ConfigError
from enforcers.metrics.address import Address, parse_address
from enforcers.registry import MECHANISMS, Mechanisms
from enforcers.signature import DocumentKey

DEFAULT_STATE_DIR = "/var/lib/sluice-enforcer"
LONGEST_POLL_S = 3600.0


class OnExit(StrEnum):
    """What becomes of the kernel's settings when the agent is told to stop."""

    RESTORE = "restore"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """How the service is reached: over TCP, or through the `socket` of a server on this host."""

    url: SplitResult
    timeout_s: float
    ca_file: Path | None
    socket: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig(Endpoint):
    """The service and this agent's secrets, which never appear in a representation.

    `document_key` tells the service's documents; by `report_key`, of Ed25519, reports are
    signed. None is of an agent that shares a secret with its service.
    """

    token: str = field(repr=False)
    document_key: DocumentKey = field(repr=False)
    report_key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderConfig:
    """What the built-in reader of samples needs; its token has the scope `ingest`.

    `ask_qemu` allows it to ask the monitors of QEMU guests what they count of their disks.
    """

    host: str
    interval_s: float
    ask_qemu: bool
    buffer_dir: Path
    buffer_bytes: int
    endpoint: Endpoint
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """The whole configuration; `mechanisms` has each one's own, by name.

    `reader` None means that the agent sends no samples, `metrics` None that it shows no metrics.
    """

    host: str
    state_dir: Path
    poll_s: float
    report_s: float
    on_exit: OnExit
    dry_run: bool
    server: ServerConfig
    reader: ReaderConfig | None
    mechanisms: Mapping[str, Any]
    metrics: Address | None = None


def load(file: Path, mechanisms: Mechanisms = MECHANISMS) -> AgentConfig:
    """Read and check the configuration. Raises ConfigError at the first value of no use."""
    whole = read_toml(file)
    agent = whole.take_table("agent")
    server, reader = whole.take_table("server"), whole.take_table("reader")
    metrics = whole.take_table("metrics")
    tables = {kind.name: whole.take_table(kind.name) for kind in mechanisms}
    whole.finish()
    poll_s = agent.take_seconds("poll_s", 10.0, least=0.2, most=LONGEST_POLL_S)
    host = agent.take_text("host")
    state_dir = agent.take_path("state_dir", DEFAULT_STATE_DIR)
    endpoint = _endpoint(server)
    config = AgentConfig(
        host=host,
        state_dir=state_dir,
        poll_s=poll_s,
        report_s=agent.take_seconds("report_s", 30.0, least=poll_s, most=LONGEST_POLL_S),
        on_exit=OnExit(agent.take_choice("on_exit", OnExit.RESTORE, list(OnExit))),
        dry_run=agent.take_flag("dry_run", default=False),
        server=_server(server, endpoint),
        reader=_reader(reader, host, state_dir, endpoint) if _is_on(reader) else None,
        mechanisms={kind.name: tables[kind.name].take_all(kind.Config) for kind in mechanisms},
        metrics=metrics.take_optional("listen", lambda text: parse_address(text, file.parent)),
    )
    for table in (agent, server, metrics):
        table.finish()
    return config


def state_dir_in(file: Path) -> Path | None:
    """The state directory by a file that may be of no use otherwise; None if it names none."""
    try:
        return read_toml(file).take_table("agent").take_optional_path("state_dir")
    except ConfigError:
        return None


def load_reader(file: Path) -> ReaderConfig:
    """Read what the reader alone needs; the enforcer's own keys may be missing.

    Raises ConfigError at the first value of no use.
    """
    whole = read_toml(file)
    agent, reader = whole.take_table("agent"), whole.take_table("reader")
    if not _is_on(reader):
        raise reader.refuse("on", False, "the reader is off; set it to true")
    return _reader(
        reader,
        agent.take_text("host"),
        agent.take_path("state_dir", DEFAULT_STATE_DIR),
        _endpoint(whole.take_table("server")),
    )


def _is_on(reader: ConfigTable) -> bool:
    return reader.take_flag("on", default=False)


def _reader(table: ConfigTable, host: str, state_dir: Path, endpoint: Endpoint) -> ReaderConfig:
    config = ReaderConfig(
        host=host,
        interval_s=table.take_seconds("interval_s", 10.0, least=1.0, most=60.0),
        ask_qemu=table.take_flag("ask_qemu", default=False),
        buffer_dir=state_dir / "samples",
        buffer_bytes=table.take_whole("buffer_mb", 100, least=1, most=100_000) * 1_000_000,
        endpoint=endpoint,
        token=secret_word(table, "token_file"),
    )
    table.finish()
    return config


def _endpoint(table: ConfigTable) -> Endpoint:
    return Endpoint(
        url=_url(table),
        timeout_s=table.take_seconds("timeout_s", 10.0, least=0.1, most=120.0),
        ca_file=table.take_optional_path("ca_file"),
        socket=table.take_optional_path("socket"),
    )


def _server(table: ConfigTable, endpoint: Endpoint) -> ServerConfig:
    documents, reports = take_keys(table)
    return ServerConfig(
        url=endpoint.url,
        timeout_s=endpoint.timeout_s,
        ca_file=endpoint.ca_file,
        socket=endpoint.socket,
        token=secret_word(table, "token_file"),
        document_key=documents,
        report_key=reports,
    )


def _url(table: ConfigTable) -> SplitResult:
    text = table.take_text("url")
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as error:
        raise table.refuse("url", text, str(error)) from error
    if url.scheme not in {"https", "http"} or not url.hostname or port == 0:
        raise table.refuse("url", text, "must be https://HOST or, on this machine, http://HOST")
    if url.username or url.password or url.query or url.fragment:
        raise table.refuse("url", text, "must have no user, query or fragment")
    if url.scheme == "http" and not _is_loopback(url.hostname):
        raise table.refuse("url", text, "plain http would show the token; use https")
    return url


def _is_loopback(hostname: str) -> bool:
    if hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return False
