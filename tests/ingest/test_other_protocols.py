"""The endpoints of InfluxDB v1, Prometheus remote write and OTLP: answers, and what is stored."""

from __future__ import annotations

import base64
import json
from typing import Any

import cramjam
import pytest
from django.http import HttpResponse
from django.test import Client

from ingest import other_protocols
from ingest.models import DiskioSample, NetSample, RejectedLine, Series
from tests.ingest.core.decoders.protobuf_writer import fixed64, message
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, now

PROTOBUF = "application/x-protobuf"


def send(
    client: Client, path: str, body: bytes | str, *, secret: str, kind: str, **headers: str
) -> Any:
    given = {"Authorization": f"Token {secret}", **headers}
    return client.post(path, body, content_type=kind, headers=given)


class TestInfluxV1:
    def test_line_protocol_is_stored_whatever_database_is_named(
        self, client: Client, tenant: Tenant
    ) -> None:
        answer = send(
            client,
            "/write?db=telegraf&rp=autogen&precision=n",
            disk_line(now(), count=4),
            secret=tenant.secret,
            kind="text/plain",
        )

        assert answer.status_code == 204
        assert DiskioSample.objects.get().reads == 4

    @pytest.mark.parametrize("way", ["basic", "query"])
    def test_password_is_the_token(self, client: Client, tenant: Tenant, way: str) -> None:
        credentials = base64.b64encode(f"telegraf:{tenant.secret}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}"} if way == "basic" else {}
        query = f"?u=telegraf&p={tenant.secret}" if way == "query" else ""

        answer = client.post(
            f"/write{query}", disk_line(now()), content_type="text/plain", headers=headers
        )

        assert answer.status_code == 204

    @pytest.mark.parametrize(
        "credentials", ["", "Basic", "Basic %%%", "Basic bm9ib2R5", "Basic \u00e9", "Basic /w=="]
    )
    def test_without_a_token_nothing_is_taken(
        self, client: Client, tenant: Tenant, credentials: str
    ) -> None:
        answer = client.post(
            "/write",
            disk_line(now()),
            content_type="text/plain",
            headers={"Authorization": credentials},
        )

        assert answer.status_code == 401
        assert not Series.objects.exists()

    def test_telegraf_may_make_its_database_first(self, client: Client, tenant: Tenant) -> None:
        answer = client.post(
            "/query",
            {"q": 'CREATE DATABASE "telegraf"'},
            headers={"Authorization": f"Token {tenant.secret}"},
        )

        assert (answer.status_code, answer.json()["results"][0]) == (200, {"statement_id": 0})

    def test_queries_are_refused(self, client: Client, tenant: Tenant) -> None:
        answer = client.get(
            "/query?q=SHOW+DATABASES", headers={"Authorization": f"Token {tenant.secret}"}
        )

        assert answer.status_code == 400


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/write", "text/plain"),
        ("/api/v1/write", PROTOBUF),
        ("/v1/metrics", PROTOBUF),
        ("/v1/metrics", "application/json"),
    ],
)
def test_body_that_did_not_arrive_is_to_be_sent_again(
    client: Client, tenant: Tenant, path: str, kind: str
) -> None:
    """A web server that does not read chunked bodies passes nothing on."""
    chunked = {"Transfer-Encoding": "chunked"}

    answer = send(client, path, b"lost", secret=tenant.secret, kind=kind, **chunked)

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


class TestRemoteWrite:
    def series(self, name: str, value: float, **labels: str) -> bytes:
        pairs = {"__name__": name, "instance": "kvm1:9100", **labels}
        parts = [(1, message((1, key), (2, text))) for key, text in sorted(pairs.items())]
        sample = message((1, value), (2, nanoseconds(now()) // 10**6))
        return message(*parts, (2, sample))

    def request(self, *series: bytes) -> bytes:
        whole = message(*((1, one) for one in series))
        return bytes(cramjam.snappy.compress_raw(whole))

    def answer(self, client: Client, tenant: Tenant, body: bytes) -> Any:
        return send(
            client,
            "/api/v1/write",
            body,
            secret=tenant.secret,
            kind=PROTOBUF,
            **{"Content-Encoding": "snappy"},
        )

    def test_metrics_of_one_device_are_one_row(self, client: Client, tenant: Tenant) -> None:
        body = self.request(
            self.series("node_disk_reads_completed_total", 5.0, device="sda"),
            self.series("node_disk_writes_completed_total", 7.0, device="sda"),
            self.series("node_disk_read_time_seconds_total", 1.5, device="sda"),
        )

        answer = self.answer(client, tenant, body)

        assert answer.status_code == 204
        assert answer["X-Prometheus-Remote-Write-Samples-Written"] == "3"
        sample = DiskioSample.objects.get()
        assert (sample.reads, sample.writes, sample.read_time) == (5, 7, 1500)
        assert Series.objects.get().host.name == "kvm1"

    def test_what_has_no_source_is_counted_and_the_rest_kept(
        self, client: Client, tenant: Tenant
    ) -> None:
        body = self.request(
            self.series("up", 1.0),
            self.series("node_disk_reads_completed_total", 5.0, device="sda"),
        )

        answer = self.answer(client, tenant, body)

        assert (answer.status_code, answer["Sluice-Rejected-Lines"]) == (204, "1")
        assert RejectedLine.objects.get().reason.startswith('unknown measurement "up"')

    @pytest.mark.parametrize("body", [b"\xff\xff\xff\xff\xff\xff", b"no snappy at all"])
    def test_what_can_never_be_read_is_not_sent_again(
        self, client: Client, tenant: Tenant, body: bytes
    ) -> None:
        assert self.answer(client, tenant, body).status_code in (400, 413)

    def test_more_samples_than_a_body_may_have_are_refused(
        self, client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(other_protocols, "MOST_LINES", 2)
        body = self.request(
            *(self.series(name, 5.0) for name in ("node_load1", "node_load5", "node_load15"))
        )

        answer = self.answer(client, tenant, body)

        assert answer.status_code == 413
        assert answer.json()["message"].startswith("the body has more than 2 samples")
        assert not Series.objects.exists()


class TestOtlp:
    def request(self, **metrics: float) -> dict[str, Any]:
        return {
            "resourceMetrics": [
                {
                    "resource": {
                        "attributes": [{"key": "host.name", "value": {"stringValue": "kvm1"}}]
                    },
                    "scopeMetrics": [
                        {"metrics": [self.metric(name, at) for name, at in metrics.items()]}
                    ],
                }
            ]
        }

    def metric(self, name: str, value: float) -> dict[str, Any]:
        device = [
            {"key": "device", "value": {"stringValue": "eth0"}},
            {"key": "direction", "value": {"stringValue": "receive"}},
        ]
        point = {
            "attributes": device,
            "timeUnixNano": str(nanoseconds(now())),
            "asInt": str(value),
        }
        summed = {"dataPoints": [point], "aggregationTemporality": 2, "isMonotonic": True}
        return {"name": name, "sum": summed}

    def answer(self, client: Client, tenant: Tenant, found: dict[str, Any]) -> HttpResponse:
        answer: HttpResponse = send(
            client,
            "/v1/metrics",
            json.dumps(found),
            secret=tenant.secret,
            kind="application/json",
        )
        return answer

    def test_metrics_in_json_are_stored(self, client: Client, tenant: Tenant) -> None:
        found = self.request(**{"system.network.io": 5, "system.network.packets": 2})

        answer = self.answer(client, tenant, found)

        assert (answer.status_code, json.loads(answer.content)) == (200, {})
        sample = NetSample.objects.get()
        assert (sample.bytes_recv, sample.packets_recv) == (5, 2)

    def test_what_was_not_kept_is_said_in_the_answer(self, client: Client, tenant: Tenant) -> None:
        found = self.request(**{"system.network.io": 5, "my.own.metric": 2})

        answer = self.answer(client, tenant, found)

        partial = json.loads(answer.content)["partialSuccess"]
        assert partial["rejectedDataPoints"] == "1"
        assert 'unknown measurement "my.own.metric"' in partial["errorMessage"]

    def test_what_could_not_be_read_is_named(self, client: Client, tenant: Tenant) -> None:
        found = self.request(**{"system.network.io": 5, "system.network.packets": 2})
        found["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][1]["sum"]["dataPoints"][0][
            "asInt"
        ] = "many"

        partial = json.loads(self.answer(client, tenant, found).content)["partialSuccess"]

        assert partial["errorMessage"] == "system.network.packets: a number is not a whole number"

    def test_metrics_in_protocol_buffers_are_stored(self, client: Client, tenant: Tenant) -> None:
        def attribute(key: str, value: str) -> tuple[int, bytes]:
            return (7, message((1, key), (2, message((1, value)))))

        # asInt is an sfixed64 of number 6, the time a fixed64 of number 3.
        point = (
            message(attribute("device", "eth0"), attribute("direction", "receive"))
            + fixed64(3, nanoseconds(now()))
            + fixed64(6, 5)
        )
        summed = message((1, point), (2, 2), (3, 1))
        metric = message((1, "system.network.io"), (7, summed))
        host = message((1, message((1, "host.name"), (2, message((1, "kvm1"))))))
        request = message((1, message((1, host), (2, message((2, metric))))))

        answer = send(client, "/v1/metrics", request, secret=tenant.secret, kind=PROTOBUF)

        assert (answer.status_code, answer.content) == (200, b"")
        assert NetSample.objects.get().bytes_recv == 5

    @pytest.mark.parametrize(
        ("kind", "body", "status"),
        [
            ("text/plain", "{}", 415),
            ("application/json", "[]", 400),
            ("application/json", "{", 400),
        ],
    )
    def test_what_is_no_request_is_refused(
        self, client: Client, tenant: Tenant, kind: str, body: str, status: int
    ) -> None:
        answer = send(client, "/v1/metrics", body, secret=tenant.secret, kind=kind)

        assert answer.status_code == status
