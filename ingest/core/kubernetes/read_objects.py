"""Objects of Kubernetes' API as what is known of a cluster.

What has another shape than the API's is left out, never guessed: a reader answers None for an
object that is none, and leaves out a label that is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ingest.core.kubernetes.cluster import (
    LONGEST_DRIVER,
    LONGEST_LABEL,
    LONGEST_NAME,
    LONGEST_NAMESPACE,
    LONGEST_OWNER,
    LONGEST_UID,
    Claim,
    Owner,
    Pod,
    Volume,
    VolumeClass,
)
from ingest.core.kubernetes.quantity import bytes_of

Object = Mapping[str, Any]

LONGEST_VALUE = 63
MOST_LABELS = 100
MOST_CLAIMS = 100
MOST_PARAMETERS = 100
LONGEST_PARAMETER = 256
MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a pod that a node's own file states: by this uid the node knows it."""
HASH = "pod-template-hash"
NOT_TAGS = frozenset(
    {
        HASH, "controller-revision-hash", "pod-template-generation", "controller-uid", "job-name",
        "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/job-completion-index",
    }
)  # fmt: skip
"""Labels by which Kubernetes tells one pod or one version from another: nobody asks by them."""
IN_PLACE_OF_REPLICAS = "ReplicaSet"


def read_pod(said: object) -> Pod | None:
    """A pod; None if it is none."""
    about, spec = _part(said, "metadata"), _part(said, "spec")
    uid = _text(_part(about, "annotations").get(MIRROR)) or _text(about.get("uid"))
    namespace, name = _names(about)
    if not (uid and len(uid) <= LONGEST_UID and namespace and name):
        return None
    labels = _pairs(about.get("labels"))
    return Pod(
        uid=uid.lower(),
        namespace=namespace,
        name=name,
        node=_text(spec.get("nodeName"), LONGEST_NAME),
        owner=_owner(about, labels),
        labels=_labels(labels),
        claims=_claims(spec, name),
    )


def read_owner(said: object, kind: str) -> Owner | None:
    """What keeps pods, of a kind such as Deployment; None if it is none."""
    about = _part(said, "metadata")
    namespace, name = _names(about)
    if not (namespace and name):
        return None
    labels = _labels(_pairs(about.get("labels")))
    return Owner(namespace=namespace, key=f"{kind}/{name}", labels=labels)


def read_claim(said: object) -> Claim | None:
    """A PersistentVolumeClaim; None if it is none."""
    about, spec = _part(said, "metadata"), _part(said, "spec")
    status = _part(said, "status")
    uid = _text(about.get("uid"), LONGEST_UID)
    namespace, name = _names(about)
    if not (uid and namespace and name):
        return None
    return Claim(
        uid=uid,
        namespace=namespace,
        name=name,
        labels=_labels(_pairs(about.get("labels"))),
        volume=_text(spec.get("volumeName"), LONGEST_NAME),
        storage_class=_text(spec.get("storageClassName"), LONGEST_NAME),
        asked_class=_text(spec.get("volumeAttributesClassName"), LONGEST_NAME),
        current_class=_text(status.get("currentVolumeAttributesClassName"), LONGEST_NAME),
        change=_text(_part(status, "modifyVolumeStatus").get("status"), LONGEST_NAME),
        version=_text(about.get("resourceVersion"), LONGEST_NAME),
        size_bytes=bytes_of(_part(status, "capacity").get("storage")),
    )


def read_volume(said: object) -> Volume | None:
    """A PersistentVolume; None if it is none."""
    name = _text(_part(said, "metadata").get("name"), LONGEST_NAME)
    if not name:
        return None
    driver = _text(_part(_part(said, "spec"), "csi").get("driver"), LONGEST_DRIVER)
    return Volume(name=name, driver=driver)


def read_class(said: object) -> VolumeClass | None:
    """A VolumeAttributesClass; None if it is none."""
    name = _text(_part(said, "metadata").get("name"), LONGEST_NAME)
    driver = _text(said.get("driverName"), LONGEST_DRIVER) if isinstance(said, Mapping) else ""
    if not (name and driver):
        return None
    assert isinstance(said, Mapping)
    pairs = _pairs(said.get("parameters")).items()
    kept = {key: value for key, value in pairs if len(key) + len(value) <= LONGEST_PARAMETER}
    parameters = dict(sorted(kept.items())[:MOST_PARAMETERS])
    return VolumeClass(name=name, driver=driver, parameters=parameters)


def with_labels_of_owners(pods: Sequence[Pod], owners: Sequence[Owner]) -> tuple[Pod, ...]:
    """The pods with the labels of what keeps them beside their own."""
    known = {(one.namespace, one.key): one.labels for one in owners}
    return tuple(
        replace(pod, labels=_fewest({**known.get((pod.namespace, pod.owner), {}), **pod.labels}))
        for pod in pods
    )


def _owner(about: Object, labels: Mapping[str, str]) -> str:
    """What keeps a pod; a ReplicaSet is a version of the Deployment that its name begins with."""
    references = about.get("ownerReferences")
    for one in references if isinstance(references, list) else ():
        if not isinstance(one, Mapping) or one.get("controller") is not True:
            continue
        kind, name = _text(one.get("kind")), _text(one.get("name"), LONGEST_NAME)
        version = f"-{labels.get(HASH, '')}"
        if kind == IN_PLACE_OF_REPLICAS and len(version) > 1 and name.endswith(version):
            kind, name = "Deployment", name.removesuffix(version)
        key = f"{kind}/{name}"
        return key if kind and name and len(key) <= LONGEST_OWNER else ""
    return ""


def _claims(spec: Object, pod: str) -> tuple[str, ...]:
    """The claims of a pod; that of an ephemeral volume is called POD-VOLUME."""
    volumes = spec.get("volumes")
    found = []
    for one in volumes if isinstance(volumes, list) else ():
        if not isinstance(one, Mapping):
            continue
        name = _text(_part(one, "persistentVolumeClaim").get("claimName"), LONGEST_NAME)
        if not name and isinstance(one.get("ephemeral"), Mapping) and _text(one.get("name")):
            name = f"{pod}-{one['name']}"
        if name:
            found.append(name)
    return tuple(dict.fromkeys(found))[:MOST_CLAIMS]


def _labels(pairs: Mapping[str, str]) -> dict[str, str]:
    return _fewest(
        {
            key: value
            for key, value in pairs.items()
            if key not in NOT_TAGS and len(key) <= LONGEST_LABEL and len(value) <= LONGEST_VALUE
        }
    )


def _fewest(labels: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(labels.items())[:MOST_LABELS])


def _names(about: Object) -> tuple[str, str]:
    return (
        _text(about.get("namespace"), LONGEST_NAMESPACE),
        _text(about.get("name"), LONGEST_NAME),
    )


def _part(said: object, name: str) -> Object:
    """A part of an object; empty where it has none of that shape."""
    found = said.get(name) if isinstance(said, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _pairs(said: object) -> dict[str, str]:
    """Texts by texts, without what is empty, which says nothing as a tag."""
    if not isinstance(said, Mapping):
        return {}
    return {key: value for key, value in said.items() if _text(key) and _text(value)}


def _text(said: object, longest: int | None = None) -> str:
    """A text that can be stored and shown; empty if it is none."""
    if not isinstance(said, str) or not said.isprintable():
        return ""
    return said if longest is None or len(said) <= longest else ""
