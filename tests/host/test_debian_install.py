"""The Debian package is installed, upgraded, removed and purged by dpkg in a root of its own.

The root is this machine's tree below a layer in memory, in namespaces that end with the test.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from enforcers.version import VERSION

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg"),
]

CHECKOUT = Path(__file__).parents[2]
ROOT = """
set -e
mount -t tmpfs none "$1/layer"
mkdir "$1/layer/upper" "$1/layer/work" "$1/layer/root"
layers="lowerdir=/,upperdir=$1/layer/upper,workdir=$1/layer/work"
mount -t overlay overlay -o "$layers" "$1/layer/root"
cd "$1/layer/root"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs none run
cp "$1"/*.deb root/agent.deb
exec chroot . /bin/sh -ec "$2"
"""
INSIDE = """
cd /root
dpkg --force-depends --install agent.deb >/dev/null 2>&1
mkdir -p /etc/sluice-enforcer
cd /etc/sluice-enforcer
echo 0123456789abcdef >token
cp token key
chmod 600 token key
cat >agent.toml <<END
[agent]
host = "h1"
[server]
url = "http://127.0.0.1:9"
token_file = "token"
signing_key_file = "key"
[tc_htb]
interfaces = ["lo"]
END
ip link set lo up
tc qdisc add dev lo root handle 51ce: htb default 2
dpkg --force-depends --install /root/agent.deb >/dev/null 2>&1
echo "upgraded: $(sluice-enforcer version), $(tc qdisc show dev lo | cut -d ' ' -f 2,3)"
dpkg --remove sluice-enforcer 2>&1 | grep '^as found'
left=$(ls -d /usr/lib/sluice-enforcer 2>/dev/null || true)
echo "removed: $(tc qdisc show dev lo | cut -d ' ' -f 2,3) $left"
dpkg --purge sluice-enforcer >/dev/null 2>&1
echo "purged: $(ls -d /etc/sluice-enforcer /var/lib/sluice-enforcer 2>/dev/null)"
"""


def test_package_is_installed_upgraded_removed_and_purged(tmp_path: Path) -> None:
    built = ["scripts/deb", str(tmp_path)]
    subprocess.run(built, cwd=CHECKOUT, check=True, capture_output=True)
    (tmp_path / "layer").mkdir()
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    namespaces = ["unshare", "--mount", "--propagation", "private", "--net"]
    done = subprocess.run(
        [*namespaces, "sh", "-c", ROOT, "root", str(tmp_path), INSIDE],
        env={"PATH": path, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines() == [
        f"upgraded: {VERSION}, htb 51ce:",
        "as found: lo",
        "removed: noqueue 0: ",
        "purged: ",
    ], done.stderr
