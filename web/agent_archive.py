"""What a host gets that joins: the agent as this server has it, and the host's own files."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import ingest
from enforcers import contract

INSTALLER = Path(__file__).parent / "installer"
_AGENT = Path(contract.__file__).parent
_PARTS = ("*.py", "sample.toml", "README.md", "*.bpf.c", "*.bpf.o")
_UNITS = ("*.service", "*.timer")
_FILE, _SECRET = 0o644, 0o600


def archive_of(*, files: Mapping[str, str], is_dry_run: bool) -> bytes:
    """A gzipped tar file; `files` are those of the host alone, in the folder `etc`."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=6) as archive:
        for name, content in _software():
            _add(archive, name, content, mode=_FILE)
        _add(archive, "dry_run", b"true" if is_dry_run else b"false", mode=_FILE)
        for name, text in files.items():
            _add(archive, f"etc/{name}", text.encode(), mode=_SECRET)
    return made.getvalue()


@cache
def _software() -> tuple[tuple[str, bytes], ...]:
    files = [(name, path.read_bytes()) for name, path in _paths()]
    return (*files, ("version", _version().encode()))


def _paths() -> Iterator[tuple[str, Path]]:
    for path in sorted(one for part in _PARTS for one in _AGENT.rglob(part)):
        # A build of the agent's wheel leaves a copy there.
        if path.relative_to(_AGENT).parts[0] != "build":
            yield f"enforcers/{path.relative_to(_AGENT)}", path
    for path in sorted(one for part in _UNITS for one in (_AGENT / "debian").glob(part)):
        yield f"units/{path.name}", path
    yield "uninstall", INSTALLER / "uninstall.sh"
    yield "telegraf.service", INSTALLER / "telegraf.service"
    yield "telegraf.conf", Path(ingest.__file__).parent / "telegraf" / "sluice.conf"


def _version() -> str:
    """As the package's builder reads it: the service knows nothing of the agent but its wire."""
    text = (_AGENT / "version.py").read_text()
    return text.partition('VERSION = "')[2].partition('"')[0]


def _add(archive: tarfile.TarFile, name: str, content: bytes, *, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
