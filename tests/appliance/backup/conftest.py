"""What tests of backups share: a real S3 server, once for a file."""

from collections.abc import Iterator

import pytest

from tests.appliance.backup.s3_server import S3Server, s3_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3") / "data", bucket="backups") as found:
        yield found
