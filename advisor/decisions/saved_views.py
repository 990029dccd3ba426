"""Save views of pages under a name, for oneself or for the organisation, and remove them."""

from __future__ import annotations

from django.db import transaction

from accounts.actor import member_actor
from accounts.models import Membership, Organisation
from accounts.roles import Action
from advisor.core.notifying import problems_of_name
from advisor.core.saved_views import MOST_VIEWS, ViewedPage, saved_query
from advisor.errors import DecisionRefused
from advisor.models import SavedView


@transaction.atomic
def save_view(
    *, membership: Membership, page: str, name: str, query: str, shared: bool
) -> SavedView:
    """Save it in the place of one of this name, which is one's own or is shared too.

    Whoever decides may share. Raises NotAllowed and DecisionRefused.
    """
    if shared:
        _require_to_share(membership)
    if page not in list(ViewedPage):
        raise DecisionRefused(f'there are no views of a page "{page[:20]}"')
    for problem in problems_of_name(name):
        raise DecisionRefused(problem)
    try:
        kept = saved_query(query)
    except ValueError as error:
        raise DecisionRefused(str(error)) from error
    organisation = membership.organisation
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    member = None if shared else membership
    rows = SavedView.objects.filter(organisation=organisation, member=member)
    if rows.exclude(page=page, name=name).count() >= MOST_VIEWS:
        raise DecisionRefused(f"there are {MOST_VIEWS} views; remove one first")
    found, _ = SavedView.objects.update_or_create(
        organisation=organisation, member=member, page=page, name=name, defaults={"query": kept}
    )
    return found


def remove_view(view: SavedView, *, membership: Membership) -> None:
    """Remove one's own, or a shared one; NotAllowed for who may not decide."""
    if view.member_id is None:
        _require_to_share(membership)
    view.delete()


def _require_to_share(membership: Membership) -> None:
    member_actor(membership).require(Action.DECIDE)
