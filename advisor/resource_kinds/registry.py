"""All kinds of resource. A new kind is a file beside this one and a line here."""

from __future__ import annotations

from advisor.resource_kinds.datastore import DATASTORE
from advisor.resource_kinds.traits import ResourceTraits
from advisor.resource_kinds.uplink import UPLINK

KINDS: tuple[ResourceTraits, ...] = (DATASTORE, UPLINK)


def traits_of(kind: str) -> ResourceTraits:
    """The kind of this name; ValueError tells which there are."""
    for traits in KINDS:
        if traits.name == kind:
            return traits
    raise ValueError(f'there is no kind "{kind}"; there are: {", ".join(kind_names())}')


def kind_names() -> list[str]:
    """What `kind` of a resource may be."""
    return [traits.name for traits in KINDS]


def kind_choices() -> list[tuple[str, str]]:
    """The same for the field of a model, each with its word."""
    return [(traits.name, traits.words.noun.capitalize()) for traits in KINDS]


def stated_kinds() -> dict[str, ResourceTraits]:
    """By every word that people may state a kind with: its name, or that of one host's own."""
    words = {traits.name: traits for traits in KINDS}
    return words | {traits.words.alone: traits for traits in KINDS if traits.words.alone}


def plural_words() -> str:
    """All kinds, as a heading lists them: `datastores and uplinks`."""
    return _listed([traits.words.plural for traits in KINDS])


def area_words() -> str:
    """What all kinds are about, as a heading on a page: `Storage and network`."""
    areas = dict.fromkeys(traits.words.area for traits in KINDS)
    return _listed(list(areas)).capitalize()


def _listed(words: list[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
