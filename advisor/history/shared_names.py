"""Hosts under whose names several machines send: their samples cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from advisor.core.enumeration import listed
from advisor.models import Resource
from ingest.models import Host

SHARED_FOR = timedelta(minutes=10)
"""So long a name counts as shared after the last sample that was of another machine."""


def shared_names(resource: Resource, *, at: datetime) -> list[str]:
    """The hosts of a resource under whose names several machines send."""
    hosts = Host.objects.filter(attachments__resource=resource).exclude(shared_at=None)
    return sorted({host.name for host in hosts if is_shared(host.shared_at, at=at)})


def is_shared(shared_at: datetime | None, *, at: datetime) -> bool:
    """Whether samples of several machines came lately under a host's name, the last then."""
    return shared_at is not None and at - shared_at <= SHARED_FOR


def shared_clause(names: Sequence[str]) -> str:
    """What is wrong with samples under these names, as a reason; empty without a name."""
    if not names:
        return ""
    if len(names) == 1:
        return f"several machines send under the name of {names[0]}, or its clock was set back"
    return (
        f"several machines send under each name of {listed(names)}, or their clocks were set back"
    )


def shared_sentence(names: Sequence[str]) -> str:
    """The same with what to do about it."""
    if not names:
        return ""
    whose = "its" if len(names) == 1 else "their"
    clause = shared_clause(names)
    return (
        f"{clause[0].upper()}{clause[1:]}; give each machine a name of its own (SLUICE_HOSTNAME "
        f"of Telegraf): until then what is shown of {whose} devices is wrong or missing."
    )
