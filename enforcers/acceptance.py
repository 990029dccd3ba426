"""Whether this host may act on a document. Pure."""

from datetime import datetime

from enforcers.contract import (
    HOST_TRAFFIC,
    PolicyDocument,
    ResourceSpec,
    Unit,
    host_part_bits_per_s,
)
from enforcers.errors import RefusedDocument
from enforcers.lease import CLOCK_TOLERANCE
from enforcers.pools import reserved_together

# Rounding of sums, not slack.
RELATIVE_ROUNDING = 1e-9


def accept(
    document: PolicyDocument,
    *,
    host: str,
    held: PolicyDocument | None,
    now: datetime,
) -> datetime:
    """When the lease of an acceptable document ends; its signature was verified before.

    The lease is never longer than its own length from now on, so that a slow clock here does
    not stretch it. Raises RefusedDocument.
    """
    if document.host != host:
        raise RefusedDocument(f"the document is for host {document.host!r}, this is {host!r}")
    if document.issued_at > now + CLOCK_TOLERANCE:
        raise RefusedDocument(
            f"revision {document.revision} is issued at {document.issued_at:%H:%M:%S} UTC, "
            "which is not yet here; do the clocks agree?"
        )
    if document.expires_at <= now:
        raise RefusedDocument(
            f"revision {document.revision} has expired at {document.expires_at.isoformat()}; "
            "does the service renew it, and do the clocks agree?"
        )
    for spec in document.resources:
        if spec.unit is Unit.BITS_PER_S:
            _check_host_part(document, spec)
    if held is not None:
        _check_succession(document, held)
    return min(document.expires_at, now + (document.expires_at - document.issued_at))


def _check_host_part(document: PolicyDocument, spec: ResourceSpec) -> None:
    """Refuse what would leave the host less than its part of an uplink.

    Its way to the service is in it: what starves that cannot be taken back from there.
    """
    part = host_part_bits_per_s(spec.capacity)
    own = [item for item in document.allocations if item.resource == spec.name]
    host = [item for item in own if item.selector.kind == HOST_TRAFFIC]
    pools = [pool for pool in document.pools if pool.resource == spec.name]
    workloads = reserved_together([item for item in own if item not in host], pools)
    for item in host:
        # The contract allows no limit below the reservation.
        if item.reservation < part * (1 - RELATIVE_ROUNDING):
            raise RefusedDocument(
                f"revision {document.revision} reserves {item.reservation:.0f} bit/s of "
                f"{spec.name} for the own traffic of this host; it keeps at least {part:.0f}"
            )
    if workloads > (spec.capacity - part) * (1 + RELATIVE_ROUNDING):
        raise RefusedDocument(
            f"revision {document.revision} reserves {workloads:.0f} of the {spec.capacity:.0f} "
            f"bit/s of {spec.name} for workloads; {part:.0f} bit/s are for the own traffic of "
            "this host"
        )


def _check_succession(document: PolicyDocument, held: PolicyDocument) -> None:
    if document.revision < held.revision:
        raise RefusedDocument(
            f"revision {document.revision} is older than {held.revision}, which is held; to "
            "start over: sluice-enforcer restore"
        )
    if document.revision > held.revision:
        return
    if document.issued_at < held.issued_at:
        raise RefusedDocument(f"an older lease of revision {document.revision} came again")
    if document.schema_version != held.schema_version:
        # The service, or this agent, was upgraded: the same is said in other words.
        return
    # A renewed lease differs in its times, and dry run may be switched; all else is fixed.
    is_same = document.host == held.host and document.resources == held.resources
    is_same = is_same and document.pools == held.pools
    if not is_same or document.allocations != held.allocations:
        raise RefusedDocument(
            f"revision {document.revision} has another content than the one held"
        )
