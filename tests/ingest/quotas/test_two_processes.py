"""Two web servers, one valkey: what one took, the other refuses."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ingest.quotas.test_ways_in import give
from tests.ingest.scenario import disk_line, make_tenant, now
from tests.ingest.wire import WebServer

pytestmark = pytest.mark.valkey


@pytest.fixture
def servers(committed: None, valkey: str, tmp_path: Path) -> Iterator[list[WebServer]]:
    found = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        found.append(WebServer(tmp_path / name))
    for server in found:
        server.start()
    yield found
    for server in found:
        server.stop()


def post(server: WebServer, body: str, secret: str) -> tuple[int, str | None]:
    conversation = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    headers = {"Authorization": f"Token {secret}"}
    conversation.request("POST", "/api/v2/write", body, headers)
    answer = conversation.getresponse()
    answer.read()
    conversation.close()
    return answer.status, answer.headers["Retry-After"]


def test_debt_of_one_web_server_is_refused_by_the_other(servers: list[WebServer]) -> None:
    one, other = servers
    greedy, modest = make_tenant("northgate"), make_tenant("lakeside")
    give(greedy, points_per_s=1)
    large = "\n".join(disk_line(now(), name=f"sd{n}") for n in range(400))

    first, _ = post(one, large, greedy.secret)
    second, retry_after = post(other, disk_line(now()), greedy.secret)
    others, _ = post(other, large, modest.secret)

    assert (first, second, others) == (204, 429, 204)
    # A minute's worth is 60: 340 s less what went by, and up to half more by chance.
    assert retry_after is not None
    assert 280 <= int(retry_after) <= 510
