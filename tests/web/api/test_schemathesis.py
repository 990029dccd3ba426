"""Schemathesis asks every operation what its description allows, and what it does not."""

from __future__ import annotations

import os
from typing import Any

import pytest
import requests
import schemathesis
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig

from tests.web.api.asking import Program, program_of
from tests.web.fleet import Fleet
from tests.web.test_removed_filters import body_of_answer
from tests.web.test_route_matrix import OBJECTS, imported
from web.api.v1.document import openapi
from web.api.v1.fields import MOST_PK

__all__ = ["imported"]

pytestmark = pytest.mark.timeout(400)
CASES = int(os.environ.get("SLUICE_API_CASES", "3"))
"""Of each operation and mode."""
OPERATIONS = [
    (f"{method.upper()} {path}", mode)
    for path, methods in openapi()["paths"].items()
    for method, operation in methods.items()
    for mode in GenerationMode
    # Nothing can be wrong where nothing is asked.
    if mode is GenerationMode.POSITIVE or operation["parameters"] or "requestBody" in operation
]
ACCEPTED = ["2xx", "304", "401", "403", "404", "409", "412"]
"""What may be answered to what the description allows: the rows that are meant decide."""
REJECTED = ["400", "401", "404", "409", "412", "413", "422"]
LEFT_OUT = {"unsupported_method", "ignored_auth", "object_level_authorization"}
"""tests/web/api/test_api_matrix.py asks these of every route, method and role."""


@pytest.fixture
def owner(imported: Fleet) -> Program:
    return program_of(imported.people.owner, imported.organisation)


def answered(program: Program, case: Any) -> schemathesis.Response:
    """What Django answers, in this thread, so that it sees what the test wrote."""
    headers = {"Authorization": f"Bearer {program.secret}", "Accept-Encoding": "identity"}
    asked = requests.Request(
        **case.as_transport_kwargs(base_url="http://testserver", headers=headers)
    ).prepare()
    body = asked.body.encode() if isinstance(asked.body, str) else asked.body or b""
    answer = program.client.generic(
        asked.method, asked.path_url, body, headers=dict(asked.headers),
        content_type=asked.headers.get("Content-Type", ""),
    )  # fmt: skip
    return schemathesis.Response(
        status_code=answer.status_code,
        headers={key: [value] for key, value in answer.headers.items()},
        content=body_of_answer(answer),
        request=asked,
        elapsed=0.0,
        verify=False,
        encoding="utf-8",
    )


def described() -> Any:
    config = SchemathesisConfig.from_dict(
        {
            "checks": {
                "positive_data_acceptance": {"expected-statuses": ACCEPTED},
                "negative_data_rejection": {"expected-statuses": REJECTED},
            }
        }
    )
    document = openapi()
    # The token is not drawn by lot.
    del document["security"]
    return schemathesis.openapi.from_dict(document, config=config)


SCHEMA = described()
EXCLUDED = [
    check for name, check in ((one.__name__, one) for one in CHECKS.get_all()) if name in LEFT_OUT
]


@pytest.mark.parametrize(("name", "mode"), OPERATIONS)
def test_operation_answers_as_it_is_described(
    imported: Fleet, owner: Program, name: str, mode: GenerationMode
) -> None:
    method, path = name.split()
    operation = SCHEMA[path][method]
    word = path.split("/")[3]

    @settings(
        max_examples=CASES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        pk = (case.path_parameters or {}).get("pk")
        # Every other number is made that of a row, for few are.
        if isinstance(pk, int) and 1 <= pk <= MOST_PK and pk % 2:
            case.path_parameters["pk"] = OBJECTS[word](imported)
        # Nothing that a case changes is there for the next.
        with transaction.atomic():
            case.validate_response(answered(owner, case), excluded_checks=EXCLUDED)
            transaction.set_rollback(True)

    ask()
