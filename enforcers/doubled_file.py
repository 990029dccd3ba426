"""Something kept in two files, each with its number and checksum, so that one is always good."""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from enforcers import canonical_json
from enforcers.atomic_file import write_atomically
from enforcers.errors import ContractError, StateError

log = logging.getLogger(__name__)

T = TypeVar("T")
Decode = Callable[[Any], T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest(Generic[T]):
    """The good copy with the highest number, None if there is none.

    `problems` has a text for each file that is of no use; `is_whole` means that both are good
    and alike.
    """

    content: T | None
    number: int
    problems: tuple[str, ...]
    is_whole: bool


def write_both(paths: tuple[Path, Path], plain: Any, *, number: int) -> None:
    """Write one after the other. Raises StateError; then the first may be newer."""
    data = canonical_json.dump(
        {"checksum": _checksum(plain, number), "content": plain, "number": number}
    )
    for path in paths:
        write_atomically(path, data)


def read_newest(paths: tuple[Path, Path], decode: Decode[T]) -> Newest[T]:
    """The newest good copy; `decode` raises ContractError for what it does not accept.

    Raises StateError if no copy is good and one cannot even be read.
    """
    good: list[tuple[int, T]] = []
    damaged, unreadable = [], []
    for path in paths:
        try:
            good.append(_read(path.read_bytes(), decode))
        except FileNotFoundError:
            continue
        except OSError as error:
            unreadable.append(f"{path} cannot be read: {error.strerror}")
        except ContractError as error:
            damaged.append(f"{path} is damaged ({error})")
    if unreadable and not good:
        raise StateError("; ".join(unreadable))
    number, content = max(good, key=lambda copy: copy[0], default=(0, None))
    return Newest(
        content=content,
        number=number,
        problems=(*damaged, *unreadable),
        is_whole=len(good) == len(paths) and all(copy == (number, content) for copy in good),
    )


def copy_damaged(paths: tuple[Path, Path], decode: Decode[T]) -> None:
    """Keep what damaged files hold, as NAME.damaged, for whoever wants to look into them.

    Raises StateError.
    """
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError as error:
            log.debug("nothing to keep", extra={"file": str(path), "error": str(error)})
            continue
        try:
            _read(data, decode)
        except ContractError:
            write_atomically(path.with_name(f"{path.name}.damaged"), data)


def _read(data: bytes, decode: Decode[T]) -> tuple[int, T]:
    """Number and content of one file; one without an envelope is of an earlier format."""
    plain = canonical_json.parse(data)
    if not isinstance(plain, dict) or "checksum" not in plain:
        return 0, decode(plain)
    number, content = plain.get("number"), plain.get("content")
    if type(number) is not int or plain["checksum"] != _checksum(content, number):
        raise ContractError("$.checksum", "does not fit the content")
    return number, decode(content)


def _checksum(plain: Any, number: int) -> str:
    return hashlib.sha256(canonical_json.dump([number, plain])).hexdigest()
