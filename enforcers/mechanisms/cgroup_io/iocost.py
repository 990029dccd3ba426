"""What iocost is told of a device: its cost model, and how strictly it goes by it. Pure.

Kernel: block/blk-iocost.c (`ioc_cost_model_write`, `ioc_qos_write`), and io.cost.model and
io.cost.qos in Documentation/admin-guide/cgroup-v2.rst.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from enforcers.contract import Unit

COEFFICIENTS = ("rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops")
# What costs nothing has a rate that no device reaches.
_FREE_BYTES_PER_S = 100_000_000_000
_FREE_IOPS = 10_000_000
# A fixed rate of 100 % of the model. The latencies set the period in which iocost accounts
# (0.2 s for 100 ms and 95 %); with 0 it takes 5 ms, and the total overshoots the model.
OWN_QOS = "enable=1 ctrl=user rpct=95.00 rlat=100000 wpct=95.00 wlat=100000 min=100.00 max=100.00"
ABSENT = "absent"
SMALLEST_CAPACITY = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The six rates of the kernel's linear model: bytes/s and sequential and random I/Os per s."""

    rates: tuple[int, ...]

    def __str__(self) -> str:
        return f"ctrl=user model=linear {' '.join(self.words)}"

    @property
    def words(self) -> tuple[str, ...]:
        """Each rate with its name, as the kernel and the configuration write it."""
        pairs = zip(COEFFICIENTS, self.rates, strict=True)
        return tuple(f"{key}={rate}" for key, rate in pairs)

    def scaled(self, ratio: float) -> "Model":
        """The same device, this much faster."""
        return Model(rates=tuple(max(1, round(rate * ratio)) for rate in self.rates))


@dataclass(frozen=True, slots=True, kw_only=True)
class Iocost:
    """What the kernel shows for one device; None where it has never been told of it."""

    model: str | None
    qos: str | None

    @property
    def is_enabled(self) -> bool:
        """Whether weights have an effect."""
        return _pairs(self.qos).get("enable") == "1"

    @property
    def has_user_model(self) -> bool:
        """Whether somebody gave the model; else the kernel guesses."""
        return _pairs(self.model).get("ctrl") == "user"


def model_of(unit: Unit, capacity: float) -> Model:
    """The model of a device of which one number is known: I/Os, or bytes, per second.

    Raises ValueError for less than one, of which whole numbers make none.
    """
    if capacity < SMALLEST_CAPACITY:
        raise ValueError(f"a capacity of {capacity:g} is below {SMALLEST_CAPACITY}")
    if unit is Unit.BYTES_PER_S:
        one = (int(capacity), _FREE_IOPS, _FREE_IOPS)
    else:
        one = (_FREE_BYTES_PER_S, int(capacity), int(capacity))
    return Model(rates=(*one, *one))


def read_model(words: list[str]) -> Model:
    """The model in words like `rbps=...`, each coefficient once. Raises ValueError."""
    values = dict(word.partition("=")[::2] for word in words)
    if len(values) != len(words) or set(values) != set(COEFFICIENTS):
        raise ValueError(f"must give each of {' '.join(f'{key}=' for key in COEFFICIENTS)} once")
    rates = tuple(int(values[key]) if values[key].isdecimal() else 0 for key in COEFFICIENTS)
    if min(rates) < 1:
        raise ValueError("the coefficients must be whole numbers from 1")
    return Model(rates=rates)


def model_shown(line: str | None) -> Model | None:
    """The model in the kernel's line of a device; None for one that the kernel guessed."""
    pairs = _pairs(line)
    if pairs.get("ctrl") != "user":
        return None
    try:
        return read_model([f"{key}={pairs[key]}" for key in COEFFICIENTS if key in pairs])
    except ValueError:
        return None


def is_same(shown: str | None, wanted: str) -> bool:
    """Whether a line that the kernel prints says what was wanted, key by key."""
    present = _pairs(shown)
    return all(
        key in present and _value(present[key]) == _value(value)
        for key, value in _pairs(wanted).items()
    )


def as_found(control: str, found: str) -> str:
    """What to write so that a control is as it was found.

    The values of `ctrl=auto` are the kernel's own, and a device of which it has once been told
    stays listed: that it was `absent` means iocost off and everything guessed.
    """
    pairs = _pairs(None if found == ABSENT else found)
    if pairs.get("ctrl") == "user":
        return found
    if control == "io.cost.model":
        return "ctrl=auto"
    return f"enable={pairs.get('enable', '0')} ctrl=auto"


def _pairs(line: str | None) -> Mapping[str, str]:
    return dict(word.split("=", 1) for word in (line or "").split() if "=" in word)


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
