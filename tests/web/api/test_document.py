"""The OpenAPI document that is committed is that of the routes."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from web.api.v1.document import openapi, openapi_text

DOCUMENT = Path(__file__).parents[3] / "docs/openapi.json"


def test_committed_document_is_that_of_the_routes() -> None:
    assert DOCUMENT.read_text() == openapi_text()


def test_command_tells_a_document_that_is_not_of_the_routes(tmp_path: Path) -> None:
    other = tmp_path / "openapi.json"
    other.write_text(openapi_text().replace("approve", "permit", 1))

    call_command("openapi", check=DOCUMENT)
    with pytest.raises(CommandError, match="is not of these routes"):
        call_command("openapi", check=other)


def test_every_operation_says_what_it_does_and_what_it_refuses() -> None:
    document = openapi()
    operations = [operation for path in document["paths"].values() for operation in path.values()]

    assert document["openapi"].startswith("3.1")
    assert len({one["operationId"] for one in operations}) == len(operations)
    assert all(one["description"] for one in operations)
    assert all(
        one["responses"].keys() >= {"401", "403", "404", "422", "429"} for one in operations
    )


def test_what_is_not_known_in_a_body_is_refused_by_every_schema() -> None:
    """A body that a program sends has a schema that takes no other key."""
    document = openapi()
    schemas = document["components"]["schemas"]
    bodies = {
        content["application/json"]["schema"]["$ref"]
        for path in document["paths"].values()
        for operation in path.values()
        # A file has no keys.
        if "application/json" in (content := operation.get("requestBody", {}).get("content", {}))
    }

    assert bodies
    for body in bodies:
        assert schemas[body.rpartition("/")[2]]["additionalProperties"] is False
