"""All kinds of resource. A new kind is a file beside this one and a line here."""

from __future__ import annotations

from advisor.resource_kinds.datastore import DATASTORE
from advisor.resource_kinds.traits import ResourceTraits
from advisor.resource_kinds.uplink import UPLINK

KINDS: tuple[ResourceTraits, ...] = (DATASTORE, UPLINK)


def traits_of(kind: str) -> ResourceTraits:
    """The kind of this name; ValueError lists all kinds."""
    for traits in KINDS:
        if traits.name == kind:
            return traits
    raise ValueError(f'there is no kind "{kind}"; there are: {", ".join(kind_names())}')


def kind_names() -> list[str]:
    """The names of all kinds."""
    return [traits.name for traits in KINDS]


def kind_choices() -> list[tuple[str, str]]:
    """The same as choices of a model field, each with its noun."""
    return [(traits.name, traits.words.noun.capitalize()) for traits in KINDS]


def stated_kinds() -> dict[str, ResourceTraits]:
    """Kinds by every accepted word: the name, or the noun for one host's own."""
    words = {traits.name: traits for traits in KINDS}
    return words | {traits.words.alone: traits for traits in KINDS if traits.words.alone}


def plural_words() -> str:
    """All kinds for headings: `datastores and uplinks`."""
    return _listed([traits.words.plural for traits in KINDS])


def area_words() -> str:
    """The areas of all kinds for headings: `Storage and network`."""
    areas = dict.fromkeys(traits.words.area for traits in KINDS)
    return _listed(list(areas)).capitalize()


def _listed(words: list[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
