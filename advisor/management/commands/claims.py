"""`sluice claims`: claims of Kubernetes on volumes, and the changes of their class."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError
from django.db.models import QuerySet
from django.utils import timezone

from accounts.actor import member_actor
from accounts.management.product_command import add_verb
from accounts.models import Organisation
from advisor.core.enumeration import listed
from advisor.decisions.kubernetes.class_changes import undo_change
from advisor.management.product_command import ProductCommand, find_resource, find_user
from advisor.models import (
    ChangeState,
    ClassChange,
    ClusterClaim,
    ClusterPod,
    ReadSource,
    Resource,
    Workload,
)
from advisor.models.source import SourceKind
from advisor.queries.claim_list import (
    change_document,
    change_rows,
    claim_document,
    claim_rows,
    listed_changes,
    listed_claims,
    used_by,
)

_SIZES = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


class Command(ProductCommand):
    help = "List claims of Kubernetes on volumes, and changes of their class; undo such a change"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        _add_filters(parser, default=None)
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        changes = add_verb(verbs, "changes", help="changes of their class, newest first")
        # What was given before the verb is kept.
        _add_filters(changes, default=SUPPRESS)
        changes.add_argument("--state", choices=ChangeState.values, help="only in this state")
        undo = add_verb(verbs, "undo", help="have a claim ask for its former class again")
        undo.add_argument("id", type=int, help="of the change, in: sluice claims changes")
        undo.add_argument("--user", required=True, help="who decides: an administrator")

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        match options["verb"]:
            case "undo":
                self._undo(organisation, options)
            case "changes":
                self._show_changes(
                    _asked_changes(organisation, options), as_json=options["as_json"]
                )
            case _:
                self._show_claims(_asked_claims(organisation, options), as_json=options["as_json"])

    def _show_claims(self, rows: QuerySet[ClusterClaim], *, as_json: bool) -> None:
        found = listed_claims(list(rows.order_by("source__name", "namespace", "name", "pk")))
        self.show(
            [_row(claim_document(one), as_json=as_json) for one in found],
            as_json=as_json,
            columns=["source", "claim", "size", "storage_class", "attributes_class", "used_by",
                     "lies_on", "change"],
            empty="no such claims; sluice source says which clusters are read",
        )  # fmt: skip

    def _show_changes(self, rows: QuerySet[ClassChange], *, as_json: bool) -> None:
        found = [change_document(one) for one in listed_changes(list(rows.order_by("-pk")))]
        self.show(
            found if as_json else [one | {"claim": _claim(one)} for one in found],
            as_json=as_json,
            columns=["id", "source", "claim", "workload", "former_class", "wanted_class", "state",
                     "said", "asked_by", "asked_at", "ended_at"],
            empty="no such changes; approving a limit as an administrator makes some",
        )  # fmt: skip

    def _undo(self, organisation: Organisation, options: Mapping[str, Any]) -> None:
        row = ClassChange.objects.filter(organisation=organisation, pk=options["id"]).first()
        if row is None:
            raise CommandError(
                f"there is no change {options['id']} of a class; see: sluice claims changes"
            )
        user = find_user(organisation, options["user"])
        membership = organisation.memberships.select_related("user").get(user_id=user.pk)
        made = undo_change(row, actor=member_actor(membership), now=timezone.now())
        if options["as_json"]:
            (shown,) = listed_changes([change_rows(ClassChange.objects.all()).get(pk=made.pk)])
            self.show_json(change_document(shown))
        else:
            self.stdout.write(
                f"A worker gives {row.claim} back the class that it had. "
                "See: sluice claims changes"
            )


def _add_filters(parser: ArgumentParser, *, default: object) -> None:
    for name, meaning in {
        "source": "only of this cluster",
        "namespace": "only of this namespace",
        "workload": "only those that this workload uses",
        "resource": "only those whose volume lies on it",
    }.items():
        parser.add_argument(f"--{name}", default=default, help=meaning)


def _asked_claims(
    organisation: Organisation, options: Mapping[str, Any]
) -> QuerySet[ClusterClaim]:
    rows = claim_rows(ClusterClaim.objects.filter(organisation=organisation))
    if (source := _source(organisation, options["source"])) is not None:
        rows = rows.filter(source=source)
    if options["namespace"] is not None:
        rows = rows.filter(namespace=options["namespace"])
    if (workload := _workload(organisation, options["workload"])) is not None:
        rows = used_by(rows, ClusterPod.objects.filter(workload=workload))
    if (resource := _resource(organisation, options["resource"])) is not None:
        rows = rows.filter(resource=resource)
    return rows


def _asked_changes(
    organisation: Organisation, options: Mapping[str, Any]
) -> QuerySet[ClassChange]:
    rows = change_rows(ClassChange.objects.filter(organisation=organisation))
    if (source := _source(organisation, options["source"])) is not None:
        rows = rows.filter(source=source)
    if options["namespace"] is not None:
        rows = rows.filter(namespace=options["namespace"])
    if (workload := _workload(organisation, options["workload"])) is not None:
        rows = rows.filter(workload=workload.name)
    if (resource := _resource(organisation, options["resource"])) is not None:
        rows = rows.filter(recommendation__resource=resource)
    if options["state"] is not None:
        rows = rows.filter(state=options["state"])
    return rows


def _source(organisation: Organisation, name: str | None) -> ReadSource | None:
    if name is None:
        return None
    known = ReadSource.objects.filter(
        organisation=organisation, kind=SourceKind.KUBERNETES, removed_at=None
    )
    found = known.filter(name=name).first()
    if found is None:
        names = listed(list(known.order_by("name").values_list("name", flat=True)))
        raise CommandError(f'there is no cluster "{name}"; there are: {names or "none"}')
    return found


def _workload(organisation: Organisation, name: str | None) -> Workload | None:
    if name is None:
        return None
    found = Workload.objects.filter(organisation=organisation, name=name).first()
    if found is None:
        raise CommandError(f'there is no workload "{name}"; see: sluice workloads')
    return found


def _resource(organisation: Organisation, name: str | None) -> Resource | None:
    return None if name is None else find_resource(organisation, name)


def _row(document: dict[str, Any], *, as_json: bool) -> dict[str, Any]:
    if as_json:
        return document
    pods, change = document["pods"], document["newest_change"]
    return document | {
        "claim": _claim(document),
        "size": _size(document["size_bytes"]),
        "used_by": ", ".join(one["workload"] or one["name"] for one in pods) or None,
        "lies_on": document["resource"],
        "change": change and f"{change['wanted_class'] or 'no class'}: {change['state']}",
    }


def _claim(document: Mapping[str, Any]) -> str:
    return f"{document['namespace']}/{document['name']}"


def _size(size_bytes: int | None) -> str | None:
    """A size in the largest unit of which it has one."""
    if size_bytes is None:
        return None
    for word, factor in _SIZES:
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {word}"
    return f"{size_bytes} B"
