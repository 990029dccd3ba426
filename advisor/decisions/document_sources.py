"""What a host's document was composed from, so that nobody composes it again for nothing.

Each agent asks every few seconds, and its document changes a few times a day. The `mark` of a
document is a digest of the versions of all rows that it is made of: PostgreSQL writes a new
version of a row at another place (`ctid`) and by another transaction (`xmin`) whenever the row is
changed (manual, "System Columns"). So it is exact, nobody has to announce a change, and it costs
one statement. A row that only moves, as by VACUUM FULL, costs one composing more. Of a rollout the
columns count that say who has the version: what its guards found is written each few seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from psycopg.types.numeric import Int8

from advisor.models import LimitScope
from ingest.binary_cursor import prepared_cursor

_MARK = """
    md5(concat_ws('|', %(version)s::text, enforcer.support::text, (
        SELECT string_agg(ROW(
                   attachment.id, attachment.ctid, attachment.xmin,
                   resource.id, resource.ctid, resource.xmin,
                   policy.id, policy.ctid, policy.xmin,
                   rollout.id, rollout.state, rollout.stage, rollout.sizes,
                   former.id, former.ctid, former.xmin,
                   released.id, released.ctid, released.xmin
               )::text, ';' ORDER BY attachment.id)
          FROM advisor_attachment AS attachment
          JOIN advisor_resource AS resource ON resource.id = attachment.resource_id
          LEFT JOIN LATERAL (
                  SELECT id, ctid, xmin FROM advisor_policy
                   WHERE resource_id = resource.id ORDER BY version DESC LIMIT 1
               ) AS policy ON true
          LEFT JOIN advisor_policyrollout AS rollout ON rollout.policy_id = policy.id
          LEFT JOIN advisor_policy AS former ON former.id = rollout.former_id
          LEFT JOIN advisor_rollouthost AS released
               ON released.rollout_id = rollout.id AND released.host_id = attachment.host_id
         WHERE attachment.host_id = enforcer.host_id
    ), (
        SELECT string_agg(ROW(
                   allocation.id, allocation.ctid, allocation.xmin,
                   workload.id, workload.ctid, workload.xmin
               )::text, ';' ORDER BY allocation.id)
          FROM advisor_allocation AS allocation
          JOIN advisor_workload AS workload ON workload.id = allocation.workload_id
         WHERE allocation.id IN (
                  SELECT id FROM advisor_allocation WHERE host_id = enforcer.host_id
                   UNION
                  -- Other hosts' parts of a limit are of concern where this host has one.
                  SELECT other.id FROM advisor_allocation AS own
                    JOIN advisor_allocation AS other ON other.workload_id = own.workload_id
                   WHERE own.host_id = enforcer.host_id
                     AND own.limit_scope = %(pooled)s AND other.limit_scope = %(pooled)s)
    )))
"""
PULL_NOTED_EVERY = timedelta(seconds=30)
"""So that most questions write nothing; a row with what an agent supports is some kB."""


def _release() -> str:
    """Another one may compose otherwise; empty where the product is not installed as a package."""
    try:
        return version("sluice")
    except PackageNotFoundError:
        return ""


_VALUES: dict[str, Any] = {"version": _release(), "pooled": LimitScope.POOLED.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDocument:
    """The newest revision of a host, which is still what would be composed, and its lease."""

    revision: int
    text: str
    """JSON."""
    lease_s: int
    dry_run: bool


def mark_of(host: int) -> str:
    """Of what would be composed for the host now; taken before composing, it is never too new."""
    with prepared_cursor() as cursor:
        cursor.execute(
            f"SELECT {_MARK} FROM advisor_enforcer AS enforcer WHERE host_id = %(host)s",  # noqa: S608
            {**_VALUES, "host": Int8(host)},
        )
        (mark,) = cursor.fetchone()
    return str(mark)


def composed_as(revision: int, mark: str) -> str:
    """What an enforcer's `composed_of` says of a revision that was composed from this."""
    return f"{revision} {mark}"


def pull(host: int, *, now: datetime) -> HeldDocument | None:
    """Note that the host's agent asks; the document that it has if all it is made of is as it was.

    Its revision stands beside the mark, so that the two are of one composing.
    """
    with prepared_cursor() as cursor:
        cursor.execute(
            f"""
            WITH noted AS (
                UPDATE advisor_enforcer SET last_pull_at = %(now)s WHERE host_id = %(host)s
                   AND (last_pull_at IS NULL OR last_pull_at < %(noted_before)s)
            )
            SELECT document.revision, document.content::text, lease_s, dry_run
              FROM advisor_enforcer AS enforcer
              JOIN LATERAL (
                      SELECT revision, content FROM advisor_publisheddocument
                       WHERE host_id = enforcer.host_id ORDER BY revision DESC LIMIT 1
                   ) AS document ON true
             WHERE enforcer.host_id = %(host)s
               AND composed_of = document.revision::text || ' ' || {_MARK}
            """,  # noqa: S608
            {**_VALUES, "host": Int8(host), "now": now, "noted_before": now - PULL_NOTED_EVERY},
        )
        row = cursor.fetchone()
    if row is None:
        return None
    revision, text, lease_s, dry_run = row
    return HeldDocument(revision=revision, text=text, lease_s=lease_s, dry_run=dry_run)
