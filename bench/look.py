"""Pictures of every page with the fleet of `bench.fleet` on it, and what a browser complains of.

Run `python -m bench.look --to FOLDER [--workloads 2000] [--json FILE]`. The real web server shows
the fleet in both schemes and at two sizes. A complaint is a page that is wider than its window or
not there after the limit, and whatever the console says.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.sync_api import Browser, BrowserContext, Error, ViewportSize, sync_playwright

from bench.fleet.rows import Row, as_json, as_table, at_most

if TYPE_CHECKING:
    from bench.fleet.stage import Stage

SIZES: dict[str, ViewportSize] = {
    "desk": {"width": 1280, "height": 800},
    "phone": {"width": 390, "height": 844},
}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LIMIT_S = 20.0
LONGEST_PX = 12_000
"""Of a picture; what is below is left out."""
PAGES = {
    "overview": "/",
    "overview by host": "/?group=host",
    "overview by tier": "/?group=tier",
    "workloads": "/workloads/",
    "workloads by tier": "/workloads/?group=tier",
    "storage": "/storage/",
    "networks": "/networks/?sort=-rate",
    "hosts": "/hosts/",
    "incidents": "/incidents/",
    "recommendations": "/recommendations/",
    "calibration": "/calibration/",
    "enforcement": "/enforcement/",
    "enforcement by state": "/enforcement/?group=state",
    "search": "/search/?q=vm-00",
    "connect": "/hosts/connect/",
    "imports": "/imports/",
    "health": "/health-of-sluice/",
    "reports": "/reports/?period=today&zone=UTC",
    "sent reports": "/reports/sent/",
    "teams": "/teams/",
    "members": "/settings/members/",
    "organisation": "/settings/organisation/",
    "profile": "/settings/profile/",
    "tokens": "/settings/tokens/",
    "ladder": "/settings/ladder/",
    "maintenance": "/settings/maintenance/",
    "rules": "/settings/rules/",
    "audit": "/settings/audit/",
    "notifications": "/settings/notifications/",
    "sources": "/settings/sources/",
    "studies": "/replay/",
}
PASSWORD = "pictures-of-a-fleet"
"""Of a database that ends with the run."""


def main() -> None:
    """Take the pictures and print what counts against pages; status 1 if anything does."""
    from bench.fleet.shape import MONTH, FleetShape
    from bench.fleet.staged import staged_fleet

    parser = argparse.ArgumentParser(prog="python -m bench.look", description=__doc__)
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--workloads", type=int, default=2_000, help="of the fleet")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    shape = FleetShape(workloads=options.workloads)
    with staged_fleet(shape, MONTH, timescaledb=False) as stage:
        rows = look(stage, options.to)
    print(as_table(rows))
    if options.json:
        options.json.write_text(json.dumps(as_json(rows), indent=1) + "\n")
    raise SystemExit(not all(row.holds for row in rows))


def look(stage: Stage, folder: Path) -> list[Row]:
    """One row for each scheme and size: what counts against its pages."""
    from bench.fleet.enforced import enforce
    from bench.fleet.shape import END

    stage.judge(stage.resources, END)
    enforce(stage.organisation, now=END)
    _let_in()
    pages = {**PAGES, **_of_rows(stage)}
    rows = []
    with _chromium() as browser:
        for scheme in SCHEMES:
            for name, size in SIZES.items():
                context = browser.new_context(viewport=size, color_scheme=scheme)
                # Each server begins at the end of the data set: after two minutes that is old.
                with _server() as address:
                    told = _tour(context, address, pages, folder / f"{scheme}-{name}")
                context.close()
                what = f"pages that a browser complains of, {scheme}, {name}, of {len(pages)}"
                rows.append(at_most(what, "pages", 0, float(len(told)), "; ".join(told)))
                stage.say(f"{what}: {told or 'none'}")
    return rows


def _of_rows(stage: Stage) -> dict[str, str]:
    """The pages of one thing each."""
    from advisor.models import Incident, Recommendation, Workload
    from ingest.models import Host

    store, uplink = stage.stores[0].pk, stage.uplinks[0].pk
    incident = Incident.objects.filter(resource=store).latest("started_at").pk
    return {
        "datastore": f"/resources/{store}/",
        "uplink": f"/resources/{uplink}/",
        "what-if": f"/resources/{store}/what-if/?hours=24",
        "incident": f"/incidents/{incident}/",
        "timeline": f"/incidents/{incident}/timeline/",
        "recommendation": f"/recommendations/{Recommendation.objects.latest('pk').pk}/",
        "host": f"/hosts/{Host.objects.earliest('pk').pk}/",
        "workload": f"/workloads/{Workload.objects.earliest('pk').pk}/",
    }


def _tour(
    context: BrowserContext, address: str, pages: dict[str, str], folder: Path
) -> list[str]:  # fmt: skip
    """Open each page and keep its picture; what counts against them."""
    from bench.fleet.inventory import OPERATOR

    folder.mkdir(exist_ok=True)
    page = context.new_page()
    size = page.viewport_size
    assert size is not None
    page.set_default_timeout(1000 * LIMIT_S)
    said: list[str] = []
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda one: said.append(str(one)))
    # The console does not say which address failed.
    page.on("response", lambda one: said.append(f"{one.status} {one.url}") if not one.ok else None)
    page.goto(f"{address}/login/")
    page.get_by_label("Username").fill(OPERATOR)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url(f"{address}/")
    against = []
    for name, path in pages.items():
        said.clear()
        try:
            page.goto(address + path, wait_until="load")
            page.wait_for_selector(".htmx-request", state="detached")
            page.wait_for_timeout(400)
            wide = int(page.evaluate("document.documentElement.scrollWidth")) - size["width"]
            tall = int(page.evaluate("document.documentElement.scrollHeight"))
            page.screenshot(
                path=folder / f"{name}.png",
                full_page=True,
                clip={"x": 0, "y": 0, "width": size["width"], "height": min(tall, LONGEST_PX)},
            )
        except Error as error:
            against.append(f"{name}: {error.message.splitlines()[0]}")
            continue
        if "background worker is behind" in page.inner_text("body"):
            against.append(f"{name}: it is not in the time of the data set")
        if wide > 0:
            against.append(f"{name}: {wide} px wider than its window")
        against += [f"{name}: {one}" for one in said]
    return against


@contextmanager
def _chromium() -> Iterator[Browser]:
    from tests.lanes import find_browser

    with sync_playwright() as playwright:
        # As root Chromium runs without its sandbox only.
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        yield browser
        browser.close()


def _let_in() -> None:
    """The operator has a password, and may see all there is."""
    from django.contrib.auth.models import User

    from accounts.models import Membership, Role
    from bench.fleet.inventory import OPERATOR

    user = User.objects.get(username=OPERATOR)
    user.set_password(PASSWORD)
    user.save()
    Membership.objects.filter(user=user).update(role=Role.OWNER)


@contextmanager
def _server() -> Iterator[str]:
    """The web server in the time of the data set, of which the present is the end."""
    from appliance.demo.service import free_port
    from bench.fleet.clock import shifted_environment
    from bench.fleet.shape import END

    port = free_port()
    shift = END - datetime.now(UTC)
    with tempfile.NamedTemporaryFile("w+") as log:
        server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "appliance.web_server",
                f"--port={port}",
            ],
            env={**os.environ, **shifted_environment(shift)},
            stdout=log,
            stderr=log,
        )
        try:
            _wait(f"http://127.0.0.1:{port}", server, Path(log.name))
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(30)


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    import urllib.request

    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"{address}/login/", timeout=5).close()
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(log.read_text()) from None
            time.sleep(0.2)
        else:
            return


if __name__ == "__main__":
    main()
