"""A published study as its file states it: experiments, what they print, and what goes in.

Files are `studies/*.toml`. A block states its rows and the reasons that they share. Texts may name
values of the model in braces; a row with `each` stands for one row per place (VM, host, pattern),
and its text names the place.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from advisor.lab.replay.experiment import Basis
from advisor.lab.replay.finding import Kind, Relation

STUDIES = ("sioc_nfs", "sioc_ssd", "netioc", "vmfs_hosts_per_lun", "vdisk_limits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One statement of a study: `printed`, or `in_words` with the number that stands for them.

    `ours` names the model's value. Rows with one `number` check the same printed number.
    """

    what: str
    unit: str
    why: str = ""
    differs: str = ""
    ours: str = ""
    printed: float | Mapping[str, float] | None = None
    in_words: float | None = None
    relation: Relation = Relation.ABOUT
    tolerance: str = "exact"
    each: str = ""
    number: str = ""
    calibrated: bool = False
    not_modelled: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation(self.relation))
        if self.printed is not None and self.in_words is not None:
            raise ValueError(f"{self.what}: either printed or in words, not both")

    @property
    def is_compared(self) -> bool:
        """Whether a value of ours is held against it."""
        return not (self.calibrated or self.not_modelled)

    @property
    def kind(self) -> Kind:
        """A number that is meant as it stands, a bound, or words alone."""
        if self.printed is None:
            return Kind.NO_NUMBER
        return Kind.TWO_SIDED if self.relation is Relation.ABOUT else Kind.ONE_SIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class PremiseRow:
    """A number that went in, or the name of a value of the model; `only` names experiments."""

    quantity: str
    value: float | str
    unit: str
    basis: Basis
    source: str
    each: str = ""
    only: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", Basis(self.basis))


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment of a study; `old_name` is what it was called up to 0.1."""

    name: str
    old_name: str
    title: str
    study: str
    rows: tuple[Row, ...]
    premises: tuple[PremiseRow, ...]

    def number(self, ours: str) -> float:
        """What is printed beside this value."""
        printed = self._printed(ours)
        if isinstance(printed, Mapping):
            raise TypeError(f"{self.name}: {ours} is printed for several places")
        return float(printed)

    def numbers(self, ours: str) -> dict[str, float]:
        """What is printed beside this value, by place."""
        printed = self._printed(ours)
        if not isinstance(printed, Mapping):
            raise TypeError(f"{self.name}: {ours} is printed once, not by place")
        return {place: float(number) for place, number in printed.items()}

    def _printed(self, ours: str) -> float | Mapping[str, float]:
        for row in self.rows:
            if row.ours == ours and row.printed is not None:
                return row.printed
        raise KeyError(f"{self.name}: no printed number beside {ours}")


@cache
def experiments() -> tuple[Experiment, ...]:
    """All experiments that can be replayed, study by study."""
    return tuple(found for study in STUDIES for found in _read(study))


def find_experiment(name: str) -> Experiment | None:
    """The experiment of this name, or None."""
    return next((each for each in experiments() if each.name == name), None)


def experiment(name: str) -> Experiment:
    """The experiment of this name; KeyError if there is none."""
    found = find_experiment(name)
    if found is None:
        raise KeyError(name)
    return found


def _read(study: str) -> Iterator[Experiment]:
    text = files("advisor.lab.replay").joinpath("studies", f"{study}.toml").read_text()
    document = tomllib.loads(text)
    premises = [PremiseRow(**row) for row in _rows(document["premise"])]
    for stated in document["experiment"]:
        name = stated["name"]
        yield Experiment(
            name=name,
            old_name=stated["old_name"],
            title=stated["title"],
            study=document["title"],
            rows=tuple(Row(**row) for row in _rows(stated["check"])),
            premises=tuple(each for each in premises if not each.only or name in each.only),
        )


def _rows(blocks: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every row with what its block says of all of them."""
    for block in blocks:
        shared = {key: value for key, value in block.items() if key != "rows"}
        for row in block["rows"]:
            yield shared | row
