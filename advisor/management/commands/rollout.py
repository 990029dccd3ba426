"""`sluice rollout`: policies on their way to hosts; stop all of them, and resume."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.management.product_command import add_verb
from accounts.models import Organisation
from advisor.core.enumeration import listed
from advisor.decisions.rollouts import steer
from advisor.decisions.rollouts.begin import terms_of
from advisor.management.product_command import ProductCommand, find_resource, find_user
from advisor.queries.allocations import policy_in_force
from advisor.queries.rollouts import RolloutView, rollout_view, rollouts_under_way

_SWITCH = {"on": True, "off": False, "as-organisation": None}


class Command(ProductCommand):
    help = "Policies on their way to hosts: see them, go on, stop all of them, resume"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", title="verbs")
        add_verb(verbs, "status", help="all that are under way (the default)")
        stop = add_verb(
            verbs, "stop", help="stop all: nothing changes by itself, and no policy begins"
        )
        stop.add_argument("--reason", default="", help="why, for those who find it stopped")
        add_verb(verbs, "resume", help="go on; each stage that was under way begins anew")
        on = add_verb(verbs, "go-on", help="begin the next stage now, whatever is measured")
        on.add_argument("resource")
        on.add_argument("--user", required=True, help="who decides: an operator or administrator")
        terms = add_verb(verbs, "set", help="how policies come to hosts; omitted terms are kept")
        terms.add_argument(
            "resource", nargs="?", help="a resource that is unlike others; only --stages is its"
        )
        terms.add_argument("--stages", choices=_SWITCH, help="off: to all hosts at once")
        terms.add_argument("--stage", type=float, metavar="SECONDS", help="shortest stage")
        terms.add_argument(
            "--longest", type=float, metavar="SECONDS", help="longest stage with too little data"
        )
        terms.add_argument(
            "--unsure", choices=("goes-on", "waits"),
            help="what happens after the longest time with too little data",
        )  # fmt: skip
        terms.add_argument(
            "--settle", type=float, metavar="SECONDS",
            help="what is measured so shortly after a change scores no prediction",
        )  # fmt: skip

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        now = timezone.now()
        match options["verb"]:
            case "stop":
                steer.stop_rollouts(
                    organisation=organisation, actor=COMMAND_LINE, reason=options["reason"],
                    now=now,
                )  # fmt: skip
            case "resume":
                steer.resume_rollouts(organisation=organisation, actor=COMMAND_LINE, now=now)
            case "go-on":
                _go_on(organisation, options)
            case "set":
                _set(organisation, options)
        self._show(organisation, as_json=options["as_json"])

    def _show(self, organisation: Organisation, *, as_json: bool) -> None:
        now, terms = timezone.now(), terms_of(organisation)
        under_way = rollouts_under_way(organisation)
        found = [rollout_view(one.policy, terms, now=now) for one in under_way]
        rows = [_row(one) for one in found if one is not None]
        if as_json:
            self.show_json(
                {
                    "stopped_at": terms.stopped_at,
                    "stopped_by": terms.stopped_by,
                    "stop_reason": terms.stop_reason,
                    "stages": terms.staged,
                    "stage_s": terms.stage_s,
                    "longest_s": terms.longest_s,
                    "goes_on_unsure": terms.goes_on_unsure,
                    "settle_s": terms.settle_s,
                    "rollouts": rows,
                }
            )
            return
        if terms.stopped_at is not None:
            why = f": {terms.stop_reason}" if terms.stop_reason else ""
            self.stdout.write(
                f"All rollouts are stopped since {terms.stopped_at:%Y-%m-%d %H:%M} UTC by "
                f"{terms.stopped_by}{why}. Resume with: sluice rollout resume"
            )
        self.show(
            rows,
            as_json=False,
            columns=["resource", "version", "stage", "has_it", "left", "waits_for"],
            empty="no policy is on its way to hosts",
        )


def _row(view: RolloutView) -> dict[str, Any]:
    return {
        "resource": view.rollout.policy.resource.name,
        "version": view.rollout.policy.version,
        "former_version": view.former_version,
        "state": view.rollout.state,
        "stage": f"{view.stage} of {view.stages}",
        "hosts": view.hosts,
        "later_hosts": view.later,
        "has_it": listed(view.hosts),
        "left": view.left_text or None,
        "waits_for": view.rollout.waits_for,
        "guards": view.rollout.guards,
    }


def _go_on(organisation: Organisation, options: dict[str, Any]) -> None:
    resource = find_resource(organisation, options["resource"])
    rollout = getattr(policy_in_force(resource), "rollout", None)
    if rollout is None:
        raise CommandError(f"no policy of {resource} is on its way to hosts")
    steer.go_on(
        rollout=rollout,
        user=find_user(organisation, options["user"]),
        now=timezone.now(),
    )


def _set(organisation: Organisation, options: dict[str, Any]) -> None:
    stages, unsure, now = options["stages"], options["unsure"], timezone.now()
    if options["resource"]:
        if stages is None or options["stage"] or options["longest"] or unsure or options["settle"]:
            raise CommandError("of one resource only --stages can be set")
        steer.stage_resource(
            resource=find_resource(organisation, options["resource"]),
            staged=_SWITCH[stages], actor=COMMAND_LINE, now=now,
        )  # fmt: skip
        return
    if stages == "as-organisation":
        raise CommandError("say on or off for the organisation, or name a resource")
    steer.set_terms(
        organisation=organisation,
        actor=COMMAND_LINE,
        now=now,
        staged=None if stages is None else _SWITCH[stages],
        stage_s=options["stage"],
        longest_s=options["longest"],
        goes_on_unsure=None if unsure is None else unsure == "goes-on",
        settle_s=options["settle"],
    )
