"""Every example of docs/api.md is run word for word against a server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from advisor.models import Recommendation, Workload
from ingest.partitions import TABLES
from tests.web.api.asking import program_of
from tests.web.fleet import Fleet
from tests.web.scenario import noisy_neighbour

PAGE = (Path(__file__).parents[3] / "docs/api.md").read_text()
EXAMPLES = re.findall(r"^```(sh|json|python)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def committed(transactional_db: None) -> Iterator[Fleet]:
    """The noisy neighbour as a server in another thread sees it."""
    yield noisy_neighbour(timezone.now(), hours=1.5)
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"TRUNCATE {table}")


def test_examples_of_the_page_run_and_answer_as_it_says(
    committed: Fleet, live_server: LiveServer, tmp_path: Path
) -> None:
    advice = Recommendation.objects.get(topic="policy")
    program = program_of(committed.people.operator, committed.organisation)
    workload = Workload.objects.get(organisation=committed.organisation, name="db-orders")
    names = {
        "RECOMMENDATION": str(advice.pk), "RESOURCE": str(advice.resource_id),
        "WORKLOAD": str(workload.pk),
    }  # fmt: skip
    environment = os.environ | names | {
        "SLUICE_SERVER": live_server.url, "SLUICE_TOKEN": program.secret,
    }  # fmt: skip

    answers: list[Any] = []
    for language, text in EXAMPLES:
        if language == "json":
            # What the example before answers.
            expected = text.replace("$RECOMMENDATION", names["RECOMMENDATION"])
            said = DECIDED.sub(": $PERSON did that at $TIME UTC", answers[-1]["detail"])
            assert answers[-1] | {"detail": said} == json.loads(expected)
            continue
        program = ["bash", "-euc"] if language == "sh" else [sys.executable, "-c"]
        done = subprocess.run(
            [*program, text], env=environment, cwd=tmp_path, capture_output=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (text, done.stdout, done.stderr)
        if language == "sh":
            answers.append(last_document(done.stdout.decode()))
        else:
            assert "nfs-07" in done.stdout.decode()

    advice.refresh_from_db()
    assert len(answers) > 8
    assert advice.state == "approved"
    assert answers[1]["items"][0]["id"] == advice.pk


DECIDED = re.compile(r": \S+ did that at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


def last_document(text: str) -> Any:
    """The last of several JSON documents without anything between."""
    decoder, place, found = json.JSONDecoder(), 0, None
    while place < len(text):
        found, place = decoder.raw_decode(text, place)
    return found
