"""Scheduled work of the advisor: each task calls one service and may run twice."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from accounts.models import Organisation
from advisor.advice import advise, recommend
from advisor.decisions import discovery
from advisor.models import Resource, Topic
from advisor.pipeline import detect, score
from advisor.pipeline import upkeep as housekeeping

STALE_AFTER_S = 30.0
"""A look that waited longer than this is left to the next one."""


@shared_task
def detect_everywhere() -> None:
    """One detection per resource, so that a slow one holds up no other."""
    for pk in Resource.objects.values_list("pk", flat=True):
        detect_resource.apply_async((pk,), expires=STALE_AFTER_S)


@shared_task
def detect_resource(resource_id: int) -> None:
    """Bring one resource's state and incidents up to date."""
    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        detect.detect(resource=resource, now=timezone.now())


@shared_task
def recommend_everywhere() -> None:
    """One piece of advice per resource."""
    for pk in Resource.objects.values_list("pk", flat=True):
        recommend_resource.apply_async((pk,), expires=STALE_AFTER_S)


@shared_task
def recommend_resource(resource_id: int) -> None:
    """Advise on one resource."""
    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        recommend.recommend(resource=resource, now=timezone.now())


@shared_task
def advise_everywhere() -> None:
    """Advice beside policies, per resource."""
    for pk in Resource.objects.values_list("pk", flat=True):
        advise_resource.delay(pk)


@shared_task
def advise_resource(resource_id: int) -> None:
    """Advise on thresholds, queue depths, quiet hours, placement and limits of one resource."""
    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        advise.advise(resource=resource, now=timezone.now())


@shared_task
def place_everywhere() -> None:
    """One look per uplink with reservations: a violated one has to be mended in five minutes."""
    for pk in advise.reserved_uplinks().values_list("pk", flat=True):
        place_on_hosts.apply_async((pk,), expires=STALE_AFTER_S)


@shared_task
def place_on_hosts(resource_id: int) -> None:
    """Advise on where workloads have to move so that an uplink's reservations hold."""
    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        advise.advise(resource=resource, now=timezone.now(), topics=[Topic.HOST_PLACEMENT])


@shared_task
def score_everywhere() -> None:
    """Hold recent predictions against what was measured."""
    for organisation in Organisation.objects.all():
        score.score_all(organisation=organisation, now=timezone.now())


@shared_task
def discover_everywhere() -> None:
    """Turn devices that send samples into resources."""
    for organisation in Organisation.objects.all():
        discovery.discover(organisation=organisation)


@shared_task
def tidy() -> None:
    """Expire old recommendations and drop conclusions beyond retention."""
    housekeeping.tidy(now=timezone.now())
