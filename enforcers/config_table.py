"""Typed reading of TOML tables; every refusal names the file, the key, the value and the rule."""

import dataclasses
import math
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from enforcers.errors import ConfigError, ValueRefused

T = TypeVar("T")


class ConfigTable:
    """One TOML table. Each `take_*` reads a key once; `finish` refuses unknown keys."""

    def __init__(self, file: Path, name: str, values: dict[str, Any]) -> None:
        self._file = file
        self._name = name
        self._left = dict(values)
        self._known: list[str] = []

    def take_text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty; required unless there is a default."""
        value = self._take(key, default)
        if not isinstance(value, str) or not value or not value.isprintable():
            raise self.refuse(key, value, "must be a text that is not empty")
        return value

    def take_path(self, key: str, default: str | None = None) -> Path:
        """A path; a relative one is taken from the configuration file's directory."""
        return self._file.parent / self.take_text(key, default)

    def take_optional_path(self, key: str) -> Path | None:
        """A path, or None if the key is absent."""
        if key in self._left:
            return self.take_path(key)
        self._known.append(key)
        return None

    def take_optional(self, key: str, parse: Callable[[str], T]) -> T | None:
        """A text as `parse` reads it, which raises ValueError; None if the key is absent."""
        if key not in self._left:
            self._known.append(key)
            return None
        text = self.take_text(key)
        try:
            return parse(text)
        except ValueError as error:
            raise self.refuse(key, text, str(error)) from error

    def take_seconds(self, key: str, default: float, *, least: float, most: float) -> float:
        """A number of seconds within bounds."""
        value = self._take(key, default)
        is_number = type(value) in (int, float) and math.isfinite(value)
        if not is_number or not least <= value <= most:
            raise self.refuse(key, value, f"must be a number of seconds within {least}..{most}")
        return float(value)

    def take_whole(self, key: str, default: int, *, least: int, most: int) -> int:
        """A whole number within bounds."""
        value = self._take(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.refuse(key, value, f"must be a whole number within {least}..{most}")
        return value

    def take_flag(self, key: str, *, default: bool) -> bool:
        """true or false."""
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise self.refuse(key, value, "must be true or false")
        return value

    def take_choice(self, key: str, default: str, allowed: Sequence[str]) -> str:
        """One of the allowed words."""
        value = self._take(key, default)
        if value not in allowed:
            raise self.refuse(key, value, f"must be one of {', '.join(allowed)}")
        return str(value)

    def take_names(self, key: str) -> frozenset[str]:
        """A list of texts, empty if the key is absent."""
        value = self._take(key, [])
        is_names = isinstance(value, list) and all(
            isinstance(item, str) and item and item.isprintable() for item in value
        )
        if not is_names:
            raise self.refuse(key, value, "must be a list of texts that are not empty")
        return frozenset(value)

    def take_table(self, key: str) -> "ConfigTable":
        """A table below this one, empty if it is absent."""
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise self.refuse(key, value, "must be a table")
        return ConfigTable(self._file, f"{self._name}{key}.", value)

    def take_all(self, kind: type[T]) -> T:
        """A dataclass whose fields, lists of names, are this table's keys."""
        hints = get_type_hints(kind)
        names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # a dataclass
        for name in names:
            if hints[name] != frozenset[str]:
                raise TypeError(f"{kind.__name__}.{name} must be a frozenset[str]")
        values = {name: self.take_names(name) for name in names}
        self.finish()
        try:
            return kind(**values)
        except ValueRefused as error:
            raise self.refuse(error.key, error.value, error.allowed) from error

    def finish(self) -> None:
        """Refuse keys that were not read."""
        for key in sorted(self._left):
            known = ", ".join(sorted(self._known)) or "none"
            raise self.refuse(key, self._left[key], f"unknown key; known are {known}")

    def refuse(self, key: str, value: object, allowed: str) -> ConfigError:
        """The error for a value that cannot be used."""
        return ConfigError(str(self._file), f"{self._name}{key}", value, allowed)

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        value = self._left.pop(key, default)
        if value is None:
            raise self.refuse(key, None, "is required")
        return value


def read_toml(file: Path) -> ConfigTable:
    """The whole file as a table. Raises ConfigError if it is not there or not TOML."""
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(file), None, None, error.strerror or str(error)) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(str(file), None, None, f"is not TOML: {error}") from error
    return ConfigTable(file, "", values)
