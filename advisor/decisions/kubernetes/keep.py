"""Keep what was read of a cluster in the place of what was read before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from advisor.history.recordset import update_rows
from advisor.models import ClusterClaim, ClusterPod, ReadSource, VolumeClass
from ingest.core.kubernetes.cluster import Cluster

Row = TypeVar("Row", ClusterPod, ClusterClaim, VolumeClass)

_AT_ONCE = 1000
_POD = ("namespace", "name", "node", "owner", "labels", "claims")
_CLAIM = (
    "namespace", "name", "labels", "volume", "driver", "storage_class", "asked_class",
    "current_class", "change", "size_bytes",
)  # fmt: skip


def keep_cluster(source: ReadSource, cluster: Cluster, *, now: datetime) -> None:
    """Make, change and remove rows until they are what was read; nothing else is written."""
    drivers = {one.name: one.driver for one in cluster.volumes}
    pods = {one.uid: _columns(one, _POD) for one in cluster.pods}
    claims = {
        one.uid: {**_columns(one, _CLAIM), "driver": drivers.get(one.volume, "")}
        for one in cluster.claims
    }
    classes = {one.name: _columns(one, ("driver", "parameters")) for one in cluster.classes}
    differs = [
        _keep(ClusterPod, source, "uid", _POD, pods),
        _keep(ClusterClaim, source, "uid", _CLAIM, claims),
        _keep(VolumeClass, source, "name", ("driver", "parameters"), classes),
    ]
    if any(differs):
        ReadSource.objects.filter(pk=source.pk).update(kept_at=now)


def _columns(one: object, names: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(one, name, None) for name in names}
    if "claims" in found:
        found["claims"] = list(found["claims"])
    return found


def _objects(model: type[Row]) -> Any:
    # Each of the three has it; what they have in common, Django's own type, does not say so.
    return model.objects.order_by("pk")


def _keep(
    model: type[Row],
    source: ReadSource,
    key: str,
    names: Sequence[str],
    wanted: Mapping[str, dict[str, Any]],
) -> bool:
    """The rows of one table; whether any was another."""
    rows = {getattr(one, key): one for one in _objects(model).filter(source=source)}
    changed = []
    for one in sorted(rows.keys() & wanted.keys()):
        row, columns = rows[one], wanted[one]
        if any(getattr(row, name) != columns[name] for name in names):
            for name in names:
                setattr(row, name, columns[name])
            changed.append(row)
    gone = [row.pk for one, row in rows.items() if one not in wanted]
    new = [
        model(organisation_id=source.organisation_id, source=source, **{key: one}, **wanted[one])
        for one in sorted(wanted.keys() - rows.keys())
    ]
    _objects(model).filter(pk__in=gone).delete()
    update_rows(changed, names)
    _objects(model).bulk_create(new, batch_size=_AT_ONCE)
    return bool(changed or gone or new)
