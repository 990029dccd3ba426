"""What agents report that their hosts support, as the real mechanisms do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from advisor.models import Enforcer
from enforcers.canonical_json import to_plain
from enforcers.contract import MechanismSupport
from enforcers.host_fs import HostFs
from enforcers.mechanism import HostAccess
from enforcers.registry import build_mechanisms
from ingest.models import Host
from tests.enforcers.recorded_runner import RecordedRunner

_HOST = HostAccess(runner=RecordedRunner(), host_fs=HostFs(Path("/nonexistent")))
SUPPORT: tuple[MechanismSupport, ...] = tuple(
    replace(mechanism.support(), supported=True, reason="it works here")
    for mechanism in build_mechanisms(_HOST, {}).values()
)


def state_support(host: Host, support: tuple[MechanismSupport, ...] = SUPPORT) -> None:
    """As if the host's agent had reported this before."""
    Enforcer.objects.filter(host=host).update(support=to_plain(support))
