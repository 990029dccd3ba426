"""What a host's document says of limits that it holds together with other hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from advisor.models import PublishedDocument
from enforcers.limit_exchange import LimitsTold, LimitUse
from ingest.models import Host

_REMEMBERED = "newest_documents"


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTerms:
    """The host's own part of a limit, and the limit over all hosts."""

    own: float
    joint_limit: float

    def bounded(self, use: LimitUse) -> LimitUse:
        """What a host tells, with no more of its own than its document gives it."""
        return replace(use, own=min(use.own, self.own), claimed=min(use.claimed, self.joint_limit))


def joint_terms(host: Host, told: LimitsTold) -> Mapping[str, JointTerms]:
    """By workload the terms on the resource, of the newest document.

    It stays with the host for as long as that is remembered, unless it tells of other limits.
    """
    documents = getattr(host, _REMEMBERED, None)
    terms = {} if documents is None else _terms(documents, told.resource)
    if any(use.workload not in terms for use in told.limits):
        documents = list(PublishedDocument.objects.filter(host=host).order_by("-revision")[:1])
        setattr(host, _REMEMBERED, documents)
        terms = _terms(documents, told.resource)
    return terms


def _terms(documents: Iterable[PublishedDocument], resource: str) -> dict[str, JointTerms]:
    return {
        item["workload"]: JointTerms(own=item["limit"], joint_limit=item["joint_limit"])
        for document in documents
        for item in document.content["allocations"]
        if item["resource"] == resource and item.get("joint_limit") is not None
    }
