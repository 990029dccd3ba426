"""Remove a resource. What names it alone would be of all resources then, so that changes first."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count

from advisor.errors import InventoryError
from advisor.models import MaintenanceWindow, NotificationRule, Resource


def remove_resource(resource: Resource) -> None:
    """Remove it with its allocations and history."""
    for what in _naming_alone(resource):
        raise InventoryError(f"{what} names {resource.name} alone; it would be of all: change it")
    resource.delete()


def _naming_alone(resource: Resource) -> Iterator[str]:
    rules = NotificationRule.objects.filter(pk__in=resource.notification_rules.values("pk"))
    for one in rules.annotate(named=Count("resources")).filter(named=1):
        yield f'the rule "{one.name}" of notifications'
    windows = MaintenanceWindow.objects.filter(pk__in=resource.maintenance_windows.values("pk"))
    for window in windows.annotate(named=Count("resources")).filter(named=1):
        yield f'the maintenance window "{window.name}"'


def give_names(emptied: Resource, resource: Resource) -> None:
    """What names a resource that is no more names the one that has its devices."""
    for rule in emptied.notification_rules.all():
        rule.resources.add(resource)
    for window in emptied.maintenance_windows.all():
        window.resources.add(resource)
