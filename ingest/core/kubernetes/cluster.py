"""What is known of a Kubernetes cluster: its pods, and the volumes that they claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LONGEST_LABEL = 317
"""A prefix of 253 letters, a slash, and a name of 63."""
LONGEST_NAME = 253
LONGEST_NAMESPACE = 63
LONGEST_OWNER = 300
LONGEST_DRIVER = 63
LONGEST_UID = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod that is there; `uid` is that of its control group.

    `owner` is what keeps it, such as `Deployment/web`, empty if nothing does. `labels` are its
    own and those of its owner; of one name its own counts. `claims` are those of its namespace.
    """

    uid: str
    namespace: str
    name: str
    node: str
    owner: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """What keeps pods; `key` is such as `Deployment/web`."""

    namespace: str
    key: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim on a persistent volume; `volume` is empty until it is bound.

    `asked_class` is the VolumeAttributesClass that it asks for, `current_class` the one that its
    volume has, `change` what becomes of a change: Pending, InProgress or Infeasible. `version`
    is of the object: who changes another version than this one is refused. `size_bytes` is what
    its volume holds, None until it has one.
    """

    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    volume: str = ""
    storage_class: str = ""
    asked_class: str = ""
    current_class: str = ""
    change: str = ""
    version: str = ""
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A persistent volume, and the driver that makes it."""

    name: str
    driver: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeClass:
    """A VolumeAttributesClass: the parameters that volumes of its driver can be given."""

    name: str
    driver: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """All that was read; `unreadable` is how many objects were none, `unread` which kinds were
    not shown, with the reason."""

    pods: tuple[Pod, ...] = ()
    claims: tuple[Claim, ...] = ()
    volumes: tuple[Volume, ...] = ()
    classes: tuple[VolumeClass, ...] = ()
    unreadable: int = 0
    unread: tuple[str, ...] = ()
