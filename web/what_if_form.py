"""The form of a what-if: fields per allocation in the unit of the page, and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from advisor.advice.shared.decide.recommended_allocation import RecommendedAllocation
from advisor.advice.what_if.drafts import WhatIfScene
from advisor.core.grant import Grant
from advisor.models import Allocation, Tier
from web.formatting import Scale, rate_scale

LENGTHS = {"1": "1 hour", "6": "6 hours", "24": "1 day", "168": "7 days"}
DEFAULT_HOURS = "24"
MOST_SHARES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One number as it stands in its input, and as it is proposed; `error` is what is wrong.

    `tier` is that of the workload whose shares it holds: the field of the tier moves it.
    """

    name: str
    label: str
    text: str
    proposed: str
    hint: str
    most: str
    step: str
    error: str = ""
    tier: str = ""

    @property
    def is_changed(self) -> bool:
        return self.text != self.proposed

    @property
    def slider(self) -> str:
        """Where the slider stands; no limit is at its right end."""
        return self.text or (self.most if self.name.startswith("limit-") else "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationFields:
    """The controls of one allocation."""

    allocation: Allocation
    grant: Grant
    controls: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TierFields:
    """The shares of all allocations of a tier; empty where theirs differ."""

    tier: str
    count: int
    shares: Field


@dataclass(slots=True, kw_only=True)
class WhatIfForm:
    """The fields read from an address or a post; without them what is proposed."""

    scene: WhatIfScene
    scale: Scale
    hours: str
    capacity: float | None
    capacity_field: Field
    tiers: list[TierFields] = field(default_factory=list)
    rows: list[AllocationFields] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def length(self) -> timedelta:
        return timedelta(hours=int(self.hours))

    @property
    def candidate(self) -> dict[int, Grant]:
        return {row.allocation.pk: row.grant for row in self.rows}

    @property
    def wrong(self) -> list[str]:
        """The names of the fields that hold no usable number."""
        return [one.name for one in self._fields if one.error]

    @property
    def touched(self) -> list[tuple[str, str]]:
        """The length and what differs from what is proposed: of hundreds of fields a few."""
        of_tiers = {one.tier: one.shares.text for one in self.tiers if one.shares.is_changed}
        changed = [
            (one.name, one.text)
            for one in self._fields
            if one.is_changed and not (one.tier and of_tiers.get(one.tier) == one.text)
        ]
        return [("hours", self.hours), *changed]

    @property
    def _fields(self) -> list[Field]:
        of_tiers = [one.shares for one in self.tiers]
        of_rows = [one for row in self.rows for one in row.controls]
        return [self.capacity_field, *of_tiers, *of_rows]


def read_form(scene: WhatIfScene, data: Mapping[str, str]) -> WhatIfForm:
    """The form with what was sent; an absent field has what is proposed."""
    resource = scene.resource
    known = resource.capacity or _largest(scene)
    scale = rate_scale(resource.unit, known)
    errors: list[str] = []
    capacity_field, capacity = _capacity(data, resource.capacity, scale, errors)
    hours = data.get("hours", DEFAULT_HOURS)
    most = written(known * 1.0, scale) if known else "10000"
    form = WhatIfForm(
        scene=scene,
        scale=scale,
        hours=hours if hours in LENGTHS else DEFAULT_HOURS,
        capacity=capacity,
        capacity_field=capacity_field,
        errors=errors,
    )
    form.tiers = _tiers(scene, data, errors)
    moved = {one.tier: one.shares.text for one in form.tiers if _moves(one.shares)}
    form.rows = [
        _allocation_fields(
            allocation, grant, data, scale=scale, most=most, errors=errors, moved=moved
        )
        for allocation, grant in zip(scene.allocations, scene.proposed, strict=True)
    ]
    return form


def fields_of(scene: WhatIfScene, items: Sequence[RecommendedAllocation]) -> dict[str, str]:
    """The fields as a recommendation would fill them, of the allocations that it names."""
    scale = read_form(scene, {}).scale
    found: dict[str, str] = {}
    for item in items:
        found[f"shares-{item.allocation}"] = str(item.shares)
        reservation = written(item.reservation, scale) if item.reservation else ""
        found[f"reservation-{item.allocation}"] = reservation
        found[f"limit-{item.allocation}"] = written(item.limit, scale)
    return found


def _largest(scene: WhatIfScene) -> float | None:
    amounts = [
        amount
        for grant in (*scene.now, *scene.proposed)
        for amount in (grant.reservation, grant.limit)
        if amount
    ]
    return max(amounts, default=None)


def written(value: float | None, scale: Scale) -> str:
    """A number as an input holds it: plain digits in the unit of the page."""
    if value is None:
        return ""
    text = f"{value / scale.factor:.6f}".rstrip("0").rstrip(".")
    return text or "0"


def _capacity(
    data: Mapping[str, str], stated: float | None, scale: Scale, errors: list[str]
) -> tuple[Field, float | None]:
    proposed = written(stated, scale)
    text = data.get("capacity", proposed).strip()
    error, value = "", None
    if text:
        value, error = _amount(text, scale)
        if value == 0:
            error = "must be above 0"
    if error:
        errors.append(f"Capacity {error}.")
    # What the form shows for the stated capacity must not count as another one.
    if error or (stated is not None and text == proposed):
        value = None
    made = Field(
        name="capacity",
        label="Capacity",
        text=text,
        proposed=proposed,
        hint="as measured" if stated is None else "as stated",
        most="",
        step="any",
        error=error,
    )
    return made, value


def _tiers(scene: WhatIfScene, data: Mapping[str, str], errors: list[str]) -> list[TierFields]:
    """A field for each tier that has an allocation, the highest first."""
    shares: dict[str, list[int]] = {str(tier): [] for tier in Tier}
    for allocation, grant in zip(scene.allocations, scene.proposed, strict=True):
        shares[allocation.workload.tier].append(grant.shares)
    return [
        TierFields(tier=tier, count=len(own), shares=_tier_field(tier, own, data, errors))
        for tier, own in shares.items()
        if own
    ]


def _tier_field(tier: str, own: list[int], data: Mapping[str, str], errors: list[str]) -> Field:
    proposed = str(own[0]) if len(set(own)) == 1 else ""
    text = data.get(f"tier-{tier}", proposed).strip()
    shares, error = _shares(text) if text else (max(own), "")
    if error:
        errors.append(f"Shares of the {tier} tier {error}.")
    return Field(
        name=f"tier-{tier}",
        label=f"Shares of the {tier} tier",
        text=text,
        proposed=proposed,
        hint="they differ",
        most=str(_slider_shares(shares)),
        step="50",
        error=error,
    )


def _moves(of_tier: Field) -> bool:
    """Whether the field of a tier moves the shares of its workloads."""
    return of_tier.is_changed and bool(of_tier.text) and not of_tier.error


def _allocation_fields(
    allocation: Allocation,
    proposed: Grant,
    data: Mapping[str, str],
    *,
    scale: Scale,
    most: str,
    errors: list[str],
    moved: Mapping[str, str],
) -> AllocationFields:
    who, tier = allocation.workload.name, allocation.workload.tier
    texts = {
        "shares": str(proposed.shares),
        "reservation": written(proposed.reservation, scale) if proposed.reservation else "",
        "limit": written(proposed.limit, scale),
    }
    sent = {
        name: data.get(f"{name}-{allocation.pk}", text).strip() for name, text in texts.items()
    }
    # A form without scripts sends what the tier has moved, too; other shares are of the row.
    if sent["shares"] == texts["shares"]:
        sent["shares"] = moved.get(tier, sent["shares"])
    shares, wrong_shares = _shares(sent["shares"])
    reservation, wrong_reservation = _amount(sent["reservation"] or "0", scale)
    limit, wrong_limit = _amount(sent["limit"], scale) if sent["limit"] else (None, "")
    if not wrong_limit and limit == 0:
        wrong_limit = "must be above 0; leave it empty for no limit"
    if not (wrong_limit or wrong_reservation) and limit is not None and limit < reservation:
        wrong_limit = "is below the reservation"
    wrong = {"shares": wrong_shares, "reservation": wrong_reservation, "limit": wrong_limit}
    errors += [f"{name.capitalize()} of {who} {error}." for name, error in wrong.items() if error]
    # Untouched fields keep their exact number, which the text may round.
    same = {name for name in texts if sent[name] == texts[name]}
    grant = Grant(
        allocation=allocation.pk,
        shares=proposed.shares if wrong_shares else shares,
        reservation=proposed.reservation if "reservation" in same else reservation,
        limit=proposed.limit if "limit" in same else limit,
    )
    return AllocationFields(
        allocation=allocation,
        grant=proposed if any(wrong.values()) else grant,
        controls=tuple(
            Field(
                name=f"{name}-{allocation.pk}",
                label=f"{name.capitalize()} of {who}",
                text=sent[name],
                proposed=texts[name],
                hint=_HINTS[name],
                most=str(_slider_shares(shares)) if name == "shares" else most,
                step="50" if name == "shares" else "any",
                error=wrong[name],
                tier=tier if name == "shares" else "",
            )
            for name in texts
        ),
    )


_HINTS = {"shares": "", "reservation": "none", "limit": "no limit"}


def _slider_shares(shares: int) -> int:
    return max(4000, 2 * shares)


def _shares(text: str) -> tuple[int, str]:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SHARES:
        return 1, f"must be a whole number from 1 to {MOST_SHARES}"
    return int(text), ""


def _amount(text: str, scale: Scale) -> tuple[float, str]:
    try:
        value = float(text) * scale.factor
    except ValueError:
        return 0.0, f"is not a number of {scale.label}"
    # NaN is not above 0 either.
    if not 0 <= value < 1e18:
        return 0.0, f"must be a number of {scale.label} of at least 0"
    return value, ""
