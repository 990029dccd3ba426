"""Scheduled work of the advisor: each task calls one service and may run twice."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from advisor.models import Resource
from advisor.services import detect, housekeeping, inventory, recommend
from ingest.models import Organisation

DETECT_EVERY_S = 5.0
RECOMMEND_EVERY_S = 15.0
DISCOVER_EVERY_S = 30.0
TIDY_EVERY_S = 3600.0


@shared_task
def detect_everywhere() -> None:
    """One detection per resource, so that a slow one holds up no other."""
    for pk in Resource.objects.values_list("pk", flat=True):
        # A look that waited longer than one period is done by the next.
        detect_resource.apply_async((pk,), expires=DETECT_EVERY_S)


@shared_task
def detect_resource(resource_id: int) -> None:
    """Bring one resource's state and episodes up to date."""
    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        detect.detect(resource=resource, now=timezone.now())


@shared_task
def recommend_everywhere() -> None:
    """One piece of advice per resource."""
    for pk in Resource.objects.values_list("pk", flat=True):
        recommend_resource.apply_async((pk,), expires=RECOMMEND_EVERY_S)


@shared_task
def recommend_resource(resource_id: int) -> None:
    """Advise on one resource."""
    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        recommend.recommend(resource=resource, now=timezone.now())


@shared_task
def discover_everywhere() -> None:
    """Turn devices that send samples into resources."""
    for organisation in Organisation.objects.all():
        inventory.discover(organisation=organisation)


@shared_task
def tidy() -> None:
    """Expire old recommendations and drop conclusions beyond retention."""
    housekeeping.tidy(now=timezone.now())
