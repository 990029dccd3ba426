"""Make a resource, or change one, into what an entry of a policy file says."""

from __future__ import annotations

from accounts.models import Organisation
from advisor.decisions.alarm_budgets import follow_shared_budget, state_own_budget
from advisor.decisions.inventory import add_resource, attach, change_resource
from advisor.decisions.policy_file.decide.document import ResourceEntry
from advisor.models import Attachment, Resource

_FACTS = ("line_rate", "lun_queue_depth", "size_bytes", "used_bytes", "disks")


def make_resource(organisation: Organisation, entry: ResourceEntry) -> None:
    """State a resource; one that was only found on its devices is taken over."""
    resource = add_resource(
        organisation=organisation,
        name=entry.name,
        kind=entry.kind,
        attachments=[(at.host, at.device) for at in entry.reached_by],
        mode=entry.mode,
        unit=entry.unit,
    )
    if entry.found:
        resource.attachments.update(found=True)
    set_resource(resource, entry)


def drop_places(resource: Resource, entry: ResourceEntry) -> None:
    """Take away the devices that the entry does not name."""
    wanted = {(at.host, at.device) for at in entry.reached_by}
    gone = [at.pk for at in _places(resource) if (at.host.name, at.device) not in wanted]
    Attachment.objects.filter(pk__in=gone).delete()


def set_resource(resource: Resource, entry: ResourceEntry) -> None:
    """State everything that the entry says; what it leaves out is what facts gave, or nothing."""
    facts = {
        name: _stated_or_derived(resource, entry, name)
        for name in _FACTS
        if name in resource.traits.facts
    }
    change_resource(
        resource=resource,
        threshold=entry.threshold,
        threshold_mode=entry.threshold_mode,
        facts=facts,
    )
    resource.capacity = _stated_or_derived(resource, entry, "capacity")
    resource.activity_floor = resource.traits.activity_floor(resource.capacity)
    resource.mode = entry.mode or resource.mode
    resource.window_s = entry.window_s
    resource.discovered = entry.found
    resource.save()
    _set_budget(resource, entry)
    _set_places(resource, entry)


def _stated_or_derived(resource: Resource, entry: ResourceEntry, name: str) -> float | None:
    value: float | None = getattr(entry, name)
    return resource.derived.get(name) if value is None else value


def _set_budget(resource: Resource, entry: ResourceEntry) -> None:
    match entry.alarms_per_week:
        case "shared":
            follow_shared_budget(resource=resource)
        case "none":
            state_own_budget(resource=resource, alarms_per_week=None)
        case float(alarms):
            state_own_budget(resource=resource, alarms_per_week=alarms)


def _set_places(resource: Resource, entry: ResourceEntry) -> None:
    present = {(at.host.name, at.device) for at in _places(resource)}
    for at in entry.reached_by:
        if (at.host, at.device) not in present:
            attach(resource, at.host, at.device)
    depths = {(at.host, at.device): at.queue_depth for at in entry.reached_by}
    for row in _places(resource):
        depth = depths.get((row.host.name, row.device))
        row.device_queue_depth = row.derived_queue_depth if depth is None else depth
        row.save(update_fields=["device_queue_depth"])


def _places(resource: Resource) -> list[Attachment]:
    return list(Attachment.objects.filter(resource=resource).select_related("host"))
