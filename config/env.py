"""Typed readers of the environment: each says which variable is wrong and what is allowed."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})


class SettingError(ValueError):
    """An environment variable holds a value that cannot be used."""


def text(name: str, default: str, *, environ: Mapping[str, str] = os.environ) -> str:
    """The variable's value, or the default when it is unset or empty."""
    return environ.get(name) or default


def words(name: str, default: str, *, environ: Mapping[str, str] = os.environ) -> list[str]:
    """The comma-separated words of the variable, without blanks."""
    parts = text(name, default, environ=environ).split(",")
    return [part.strip() for part in parts if part.strip()]


def choice(
    name: str, default: str, allowed: Sequence[str], *, environ: Mapping[str, str] = os.environ
) -> str:
    """One of the allowed words."""
    word = text(name, default, environ=environ)
    if word not in allowed:
        raise SettingError(f"{name}={word!r} is not known; use one of {', '.join(allowed)}")
    return word


def boolean(name: str, *, default: bool, environ: Mapping[str, str] = os.environ) -> bool:
    """True for 1, true, yes, on; False for 0, false, no, off."""
    word = environ.get(name, "").strip().lower()
    if not word:
        return default
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise SettingError(f"{name}={word!r} is neither true nor false; use 1 or 0")


def integer(
    name: str, default: int, *, minimum: int = 0, environ: Mapping[str, str] = os.environ
) -> int:
    """A whole number that is at least the minimum."""
    value = environ.get(name, "").strip()
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise SettingError(f"{name}={value!r} is not a whole number") from None
    if number < minimum:
        raise SettingError(f"{name}={number} is too small; use {minimum} or more")
    return number


def secret(name: str, *, environ: Mapping[str, str] = os.environ) -> str | None:
    """The variable's value, or the content of the file that NAME_FILE points at.

    None means that neither is set. Both at once is refused, because one of them would be ignored.
    """
    value, path = environ.get(name), environ.get(f"{name}_FILE")
    if value and path:
        raise SettingError(f"{name} and {name}_FILE are both set; keep one of them")
    if path:
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise SettingError(f"{name}_FILE={path!r} cannot be read: {error.strerror}") from error
    return value or None
