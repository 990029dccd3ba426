"""What an agent has left in force at its end, for the next one, which may begin with it."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from enforcers import canonical_json
from enforcers.atomic_file import write_atomically
from enforcers.errors import ContractError, StateError

log = logging.getLogger(__name__)

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """One thing of a device, and the text that stands there."""

    mechanism: str
    device: str
    thing: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftPage:
    """All of one boot, as they are on disk."""

    schema_version: int = FORMAT_VERSION
    boot_id: str
    left: tuple[Left, ...]


class LeftFile:
    """A file that the next agent reads once: what it tells holds at no later time."""

    def __init__(self, path: Path, *, boot_id: str) -> None:
        self._path = path
        self._boot_id = boot_id

    def keep(self, left: Iterable[Left]) -> None:
        """Write it. Without it the next agent sets its own first values."""
        page = LeftPage(boot_id=self._boot_id, left=tuple(left))
        try:
            write_atomically(self._path, canonical_json.encode(page))
        except StateError as error:
            log.warning("what is left is not noted", extra={"error": str(error)})

    def take(self) -> dict[tuple[str, str], dict[str, str]]:
        """By mechanism and device the text of each thing.

        Nothing of another boot, nor where the file cannot be deleted.
        """
        try:
            data = self._path.read_bytes()
            self._path.unlink()
            plain = canonical_json.parse(data)
            page = canonical_json.decode_known(LeftPage, plain, known=FORMAT_VERSION)
        except FileNotFoundError:
            return {}
        except (OSError, ContractError) as error:
            log.warning("what was left is of no use", extra={"error": str(error)})
            return {}
        if page.boot_id != self._boot_id:
            return {}
        found: dict[tuple[str, str], dict[str, str]] = {}
        for one in page.left:
            found.setdefault((one.mechanism, one.device), {})[one.thing] = one.text
        return found
