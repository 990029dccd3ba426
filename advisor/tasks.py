"""Scheduled work of the advisor: each task calls one service and may run twice.

Periodic work is queued as one task per resource, organisation or prediction, so that an error or a
hang of one does not affect the others. Organisations take turns (`advisor.core.turns`), and only a
few tasks wait at a time, so that turns come soon.

Services are imported by the process that runs a task: the web server, and elsewhere the scheduler
and the parents of the worker processes, need none of them, and their libraries take a second and
100 MB in each. The fork server of `sluice run` imports them once for all of its workers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from celery import shared_task
from celery.exceptions import Ignore
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Organisation
from advisor.core.turns import fair_turns
from advisor.models import Recommendation, Resource
from advisor.pipeline.asked_by import tell_who_asked

log = logging.getLogger(__name__)

MOST_EVALUATIONS = 100
"""Most groups of resources that wait for evaluation; each takes seconds at most."""
MOST_ADVICE = 20
"""Most resources that wait for advice, which may take a minute and shares one queue."""
MOST_ROLLOUTS = 20
MOST_UPKEEP = 100
MOST_UPLOADS = 5
MOST_LEARNING = 20
"""Most thresholds that wait to be learnt; each takes seconds, and there is an hour for all."""

ADVISE_EVERY_S = 300.0
LEARN_EVERY_S = 300.0
STORE_EVERY_S = 300.0
FORESEE_EVERY_S = 600.0
FORESEE_LIMIT_S = 30.0
"""A turn ends after so long with the month that it reads; the rest waits for the next."""
SCORE_EVERY_S = 300.0
NATURAL_EVERY_S = 300.0
NATURAL_LIMIT_S = 10.0
"""A turn ends after so long with the stretch that it is at; the rest waits for the next."""
SEND_LIMIT_S = 10.0
"""After so long others have their turn; one message takes up to half a minute more."""
STORE_LIMIT_S = 60.0
"""A turn of sealing takes about so long at most, so that organisations wait little."""


@shared_task
def detect_everywhere() -> None:
    """Queue an evaluation of the groups of resources that have waited longest."""
    from advisor.pipeline import groups

    _queue_turns(detect_group, groups.groups(), most=MOST_EVALUATIONS)


@shared_task
def detect_group(group: int) -> None:
    """Bring the states and incidents of a group of resources up to date.

    What one of them does to the others is undone: after a failure each is judged alone.
    """
    from advisor.pipeline import groups

    try:
        judged = groups.judge_group(group, now=timezone.now())
    except Exception as error:  # noqa: BLE001  # whatever ends a group, its members go on
        log.warning("group not judged", extra={"group": group, "reason": str(error)})
        alone = tuple(one.pk for one in groups.members_of(group))
    else:
        if judged is None:
            raise Ignore
        alone = judged.alone
    for resource_id in alone:
        detect_resource.apply_async((resource_id,))
    if alone:
        # The group has not succeeded before all of it is judged together again.
        raise Ignore


@shared_task
def detect_resource(resource_id: int) -> None:
    """Bring one resource's state and incidents up to date."""
    from advisor.pipeline import groups

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        groups.judge_alone(resource, now=timezone.now())


@shared_task
def look_outside_everywhere() -> None:
    """Queue the resources with an incident whose load may come from outside."""
    from advisor.pipeline.look_outside import resources_to_look_at

    due = resources_to_look_at(now=timezone.now()).order_by("pk").values_list("organisation", "pk")
    _queue_turns(look_outside, due, most=MOST_ADVICE)


@shared_task
def look_outside(resource_id: int) -> None:
    """Look for load from outside in the incidents of one resource."""
    from advisor.pipeline.look_outside import look_where_due

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        look_where_due(resource=resource, now=timezone.now())


@shared_task
def find_causes_everywhere() -> None:
    """Queue the resources with an incident whose cause is to be studied."""
    from advisor.pipeline.find_cause import resources_to_study

    _queue_turns(find_causes, _turns(resources_to_study(now=timezone.now())), most=MOST_ADVICE)


@shared_task
def find_causes(resource_id: int) -> None:
    """Study who causes the incidents of one resource, and keep it with them."""
    from advisor.pipeline import find_cause

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        find_cause.find_causes(resource=resource, now=timezone.now())


@shared_task
def recommend_everywhere() -> None:
    """Queue policy advice per resource that was congested lately; say that others were not."""
    from advisor.advice.policy import calm

    now = timezone.now()
    calm.note_calm(now)
    _queue_turns(recommend_resource, _turns(calm.congested_lately(now)), most=MOST_ADVICE)


@shared_task
def recommend_resource(resource_id: int) -> None:
    """Advise on one resource."""
    from advisor.advice.policy import recommend

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        recommend.recommend(resource=resource, now=timezone.now())


@shared_task
def advise_everywhere() -> None:
    """Queue advice other than policies where there may be news, the longest waiting first."""
    from advisor.advice import due

    resources = _turns(due.to_advise_on(timezone.now()))
    _queue_turns(advise_resource, resources, most=MOST_ADVICE, every_s=ADVISE_EVERY_S)


@shared_task
def advise_resource(resource_id: int) -> None:
    """Look for all kinds of advice beside policies on one resource."""
    from advisor.advice import advise

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        advise.advise(resource=resource, now=timezone.now())


@shared_task
def place_everywhere() -> None:
    """Queue a check per uplink with reservations; a violation must be fixed in five minutes."""
    from advisor.advice.host_placement.gather import reserved_uplinks

    uplinks = reserved_uplinks().order_by("pk").values_list("organisation", "pk")
    _queue_turns(place_on_hosts, uplinks, most=MOST_ADVICE)


@shared_task
def place_on_hosts(resource_id: int) -> None:
    """Advise which workloads to move so that an uplink's reservations hold."""
    from advisor.advice import advise
    from advisor.advice.host_placement.gather import TOPIC

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        advise.advise(resource=resource, now=timezone.now(), topics=[TOPIC])


@shared_task
def roll_out_everywhere() -> None:
    """Queue the rollouts that something can still become of."""
    from advisor.decisions.rollouts.advance import open_rollouts

    resources = open_rollouts(now=timezone.now()).order_by("policy__resource")
    due = resources.values_list("organisation", "policy__resource").distinct()
    _queue_turns(roll_out, due, most=MOST_ROLLOUTS)


@shared_task
def roll_out(resource_id: int) -> None:
    """Bring the rollouts of one resource up to date."""
    from advisor.decisions.rollouts.advance import advance, open_rollouts

    now = timezone.now()
    rollouts = open_rollouts(now=now).filter(policy__resource=resource_id).order_by("pk")
    for rollout in rollouts.select_related("policy"):
        advance(rollout=rollout, now=now)


@shared_task
def act_everywhere() -> None:
    """Queue the recommendations that the ladder may let Sluice approve."""
    from advisor.decisions.acting import to_act_on

    due = to_act_on(timezone.now()).order_by("pk").values_list("organisation", "pk")
    _queue_turns(act, due, most=MOST_ROLLOUTS)


@shared_task
def act(recommendation_id: int) -> None:
    """Approve one recommendation if the ladder lets Sluice."""
    from advisor.decisions.acting import act_on

    rows = Recommendation.objects.select_related("organisation")
    found = rows.filter(pk=recommendation_id).first()
    if found is not None:
        act_on(recommendation=found, now=timezone.now())


@shared_task
def carry_out_everywhere() -> None:
    """Queue the recommendations of which workloads are still to be moved, or to be seen moved."""
    from advisor.decisions.moving import open_moves

    due = open_moves().values_list("organisation", "recommendation").distinct()
    _queue_turns(carry_out, due.order_by("recommendation"), most=MOST_ROLLOUTS)


@shared_task
def carry_out(recommendation_id: int) -> None:
    """Make the next move of one recommendation, and look at those before."""
    from advisor.decisions import moving

    found = Recommendation.objects.filter(pk=recommendation_id).first()
    if found is not None:
        moving.carry_out(recommendation=found, now=timezone.now())


@shared_task
def learn_everywhere() -> None:
    """Queue the resources whose threshold is to be learnt for the next hour, and the datastores
    whose size term is to be learnt today.
    """
    from advisor.pipeline.learn_size_terms import datastores_to_learn
    from advisor.pipeline.learn_thresholds import resources_to_learn

    now = timezone.now()
    for task, due in (
        (learn_threshold, resources_to_learn(now=now)),
        (learn_size_term, datastores_to_learn(now=now)),
    ):
        _queue_turns(task, _turns(due), most=MOST_LEARNING, every_s=LEARN_EVERY_S)


@shared_task
def learn_threshold(resource_id: int) -> None:
    """Learn the threshold of one resource from its history."""
    from advisor.pipeline import learn_thresholds

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        learn_thresholds.learn_threshold(resource=resource, now=timezone.now())


@shared_task
def learn_size_term(resource_id: int) -> None:
    """Learn the size term of one datastore from its last day."""
    from advisor.pipeline import learn_size_terms

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        learn_size_terms.learn_size_term(resource=resource, now=timezone.now())


@shared_task
def score_everywhere() -> None:
    """Queue a score per recent prediction, and a look for switches of workloads."""
    from advisor.advice.policy import natural
    from advisor.pipeline import score

    now = timezone.now()
    recent = score.recent_predictions(now=now)
    # Somebody waits for the first score.
    for rows, every_s in ((score.fresh_predictions(now=now), 0.0), (recent, SCORE_EVERY_S)):
        known = rows.values_list("organisation", "pk")
        _queue_turns(score_prediction, known, most=MOST_UPKEEP, every_s=every_s)
    due = _turns(natural.resources_to_look_at(now=now))
    _queue_turns(score_natural_changes, due, most=MOST_UPKEEP, every_s=NATURAL_EVERY_S)


@shared_task
def score_prediction(recommendation_id: int) -> None:
    """Compare one prediction with measured rates."""
    from advisor.pipeline import score

    found = Recommendation.objects.select_related("resource").filter(pk=recommendation_id).first()
    if found is not None:
        score.score_recommendation(recommendation=found, now=timezone.now())


@shared_task
def score_natural_changes(resource_id: int) -> None:
    """Foretell and score what workloads of one resource did by themselves, for a while."""
    from advisor.advice.policy import natural

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        natural.score_natural_changes(
            resource=resource, now=timezone.now(), limit_s=NATURAL_LIMIT_S
        )


@shared_task
def foresee_everywhere() -> None:
    """Queue a forecast per resource with a day that is not read yet."""
    from advisor.pipeline.full_days import resources_to_foresee

    due = resources_to_foresee(now=timezone.now())
    _queue_turns(foresee_full_day, due, most=MOST_UPKEEP, every_s=FORESEE_EVERY_S)


@shared_task
def foresee_full_day(resource_id: int) -> None:
    """Foretell when demand reaches what one resource and its pools have."""
    from advisor.pipeline import full_days

    resource = Resource.objects.filter(pk=resource_id).first()
    if resource is not None:
        full_days.foresee(resource=resource, now=timezone.now(), limit_s=FORESEE_LIMIT_S)


@shared_task
def discover_everywhere() -> None:
    """Queue a search for new devices per organisation."""
    organisations = Organisation.objects.order_by("pk").values_list("pk", "pk")
    _queue_turns(discover_organisation, organisations, most=MOST_UPKEEP)


@shared_task
def discover_organisation(organisation_id: int) -> None:
    """Turn the devices of one organisation that send samples into resources.

    Where several machines send under one name, that is noted.
    """
    from advisor.decisions import discovery
    from ingest.shared_names import note_names_shared_by_disks

    organisation = Organisation.objects.filter(pk=organisation_id).first()
    if organisation is not None:
        discovery.discover(organisation=organisation)
        note_names_shared_by_disks(organisation, now=timezone.now())


@shared_task
def import_everywhere() -> None:
    """Queue the uploads that wait for being imported."""
    from advisor.decisions import uploads

    waiting = uploads.waiting_uploads().order_by("organisation")
    organisations = waiting.values_list("organisation", "organisation").distinct()
    _queue_turns(import_upload, organisations, most=MOST_UPLOADS)
    uploads.drop_old_uploads(now=timezone.now())


@shared_task
def import_upload(organisation_id: int) -> None:
    """Import the files of the organisation's oldest upload that waits, or go on with it."""
    from advisor.decisions import uploads

    waiting = uploads.waiting_uploads().filter(organisation=organisation_id)
    run = waiting.order_by("pk").first()
    if run is None:
        return
    tell_who_asked(f"import {run.pk}")
    try:
        uploads.import_uploaded(run, now=timezone.now())
    except Exception as error:
        # Also the limit of its time, which a file reaches that gives no sample for minutes.
        reason = f"it ended with an error: {type(error).__name__} {error}".rstrip()
        uploads.give_up(run, reason=reason, now=timezone.now())
        raise


@shared_task
def read_sources_everywhere() -> None:
    """Queue the sources to be read or tested; forget those that were removed for long."""
    from advisor.decisions.sources import reading, stating

    now = timezone.now()
    due = reading.due_sources(now=now).order_by("pk").values_list("organisation", "pk")
    _queue_turns(read_source_of, due, most=MOST_UPLOADS)
    stating.drop_removed(now=now)


@shared_task
def read_source_of(source_id: int) -> None:
    """Test one source, or read it, whichever is asked for."""
    from advisor.decisions.sources import reading

    tell_who_asked(f"source {source_id}")
    reading.read_where_due(source_id, now=timezone.now())


@shared_task
def store_everywhere() -> None:
    """Queue upkeep of the stored history per organisation."""
    from advisor.history.stored import retention

    organisations = Organisation.objects.order_by("pk").values_list("pk", "pk")
    _queue_turns(store_organisation, organisations, most=MOST_UPKEEP, every_s=STORE_EVERY_S)
    retention.drop_of_deleted_organisations()


@shared_task
def store_organisation(organisation_id: int) -> None:
    """Seal hours of one organisation, make its days, and drop what is beyond retention."""
    from advisor.pipeline import store_history

    organisation = Organisation.objects.filter(pk=organisation_id).first()
    if organisation is not None:
        done = store_history.store_history(
            organisation=organisation, now=timezone.now(), limit_s=STORE_LIMIT_S
        )
        log.info("history stored", extra={"organisation": organisation.slug} | asdict(done))


@shared_task
def delete_everywhere() -> None:
    """Queue the organisations whose deletion is due."""
    from advisor.pipeline import organisation_deletion

    due = [(one, one) for one in organisation_deletion.organisations_to_delete(now=timezone.now())]
    _queue_turns(delete_organisation, due, most=MOST_UPKEEP)


@shared_task
def delete_organisation(organisation_id: int) -> None:
    """Delete a part of one organisation, or the last of it."""
    from advisor.pipeline import organisation_deletion

    if organisation_id not in organisation_deletion.organisations_to_delete(now=timezone.now()):
        return
    if organisation_deletion.delete_organisation(organisation_id, limit_s=STORE_LIMIT_S):
        log.warning("organisation deleted", extra={"organisation": organisation_id})


@shared_task
def notify_everywhere() -> None:
    """Queue the organisations that have rules of notifications."""
    from advisor.notifications import look

    due = [(one, one) for one in look.organisations_with_rules()]
    _queue_turns(notify_organisation, due, most=MOST_UPKEEP)


@shared_task
def notify_organisation(organisation_id: int) -> None:
    """Put down what an organisation's rules have to say now."""
    from advisor.notifications import look

    if look.look(organisation_id, now=timezone.now()):
        send_everywhere.apply_async()


@shared_task
def send_everywhere() -> None:
    """Queue the organisations that have a message to send."""
    from advisor.notifications import deliver

    due = [(one, one) for one in deliver.organisations_with_messages(now=timezone.now())]
    _queue_turns(send_messages, due, most=MOST_UPKEEP)


@shared_task
def send_messages(organisation_id: int) -> None:
    """Send the messages of one organisation, as many as go in a while."""
    from advisor.notifications import deliver

    ends_at = time.monotonic() + SEND_LIMIT_S
    while time.monotonic() < ends_at and deliver.deliver_next(organisation_id, now=timezone.now()):
        pass


@shared_task
def check_in() -> None:
    """Say outside that Sluice is healthy, or what is wrong."""
    from advisor.reports import check_in as outside

    outside.check_in(now=timezone.now())


@shared_task
def report_everywhere() -> None:
    """Queue the organisations with a report that is due to be sent."""
    from advisor.reports import subscriptions

    due = [(one, one) for one in subscriptions.organisations_with_due_reports(now=timezone.now())]
    _queue_turns(make_reports, due, most=MOST_UPLOADS)


@shared_task
def make_reports(organisation_id: int) -> None:
    """Make one of the reports of an organisation that are due, and have it sent."""
    from advisor.reports import subscriptions

    if subscriptions.make_next(organisation_id, now=timezone.now()):
        send_everywhere.apply_async()


@shared_task
def tidy() -> None:
    """Expire old recommendations and delete states beyond retention."""
    from advisor.decisions import moving
    from advisor.notifications import look
    from advisor.pipeline import upkeep
    from advisor.reports import shared

    upkeep.tidy(now=timezone.now())
    shared.forget_expired(now=timezone.now())
    look.forget_old(now=timezone.now())
    moving.end_without_command(now=timezone.now())


def _turns(resources: QuerySet[Resource]) -> Iterable[tuple[int, int]]:
    return resources.order_by("pk").values_list("organisation", "pk")


def _queue_turns(
    task: Any, candidates: Iterable[tuple[int, int]], *, most: int, every_s: float = 0.0
) -> None:
    """Fill the queue up to `most` waiting messages of the task, the longest waiting first.

    A subject has at most one turn in `every_s`.
    """
    last = task.last_queued()
    before = time.time() - every_s
    due = [one for one in candidates if last.get(one[1], 0.0) <= before]
    for subject in fair_turns(due, last=last, most=most - task.waiting()):
        task.apply_async((subject,))
