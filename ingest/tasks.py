"""Scheduled work of ingest: each task calls one service and may run twice."""

from __future__ import annotations

import logging
from dataclasses import asdict

from celery import shared_task
from django.utils import timezone

from ingest.retention import retention, row_retention
from ingest.services import maintenance

log = logging.getLogger(__name__)


@shared_task
def maintain_samples() -> None:
    """Make the partitions of the coming days and drop expired samples."""
    done = maintenance.maintain_samples(
        now=timezone.now(), retention=retention(), rows=row_retention()
    )
    log.info("samples maintained", extra=asdict(done))
