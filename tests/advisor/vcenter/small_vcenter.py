"""A vCenter of one machine and one datastore, as far as five requests see of it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.advisor.small_server import drip, small_server

USER, PASSWORD = "reader@vsphere.local", "opensesame"
_CONTENT = (
    "<about><fullName>VMware vCenter Server 8.0.2</fullName><apiType>VirtualCenter</apiType>"
    "</about>"
) + "".join(
    f'<{name} type="{name}">{name}</{name}>'
    for name in ("rootFolder", "sessionManager", "viewManager", "propertyCollector")
)
_STORE = """
<objects><obj type="Datastore">datastore-1</obj>
<propSet><name>name</name><val>nfs-08</val></propSet>
<propSet><name>iormConfiguration</name><val><enabled>true</enabled>
<congestionThresholdMode>manual</congestionThresholdMode>
<congestionThreshold>{threshold}</congestionThreshold></val></propSet></objects>
"""
_GUEST = """
<objects><obj type="VirtualMachine">vm-7</obj>
<propSet><name>name</name><val>vm7</val></propSet></objects>
"""


@dataclass(slots=True, kw_only=True)
class SmallVcenter:
    """What it states, and how it behaves; `requests` are the methods that were called."""

    url: str = ""
    threshold: int = 20
    is_empty: bool = False
    is_esx: bool = False
    drips: bool = False
    goes_on: threading.Event = field(default_factory=threading.Event)
    requests: list[str] = field(default_factory=list)
    passwords: list[str] = field(default_factory=list)

    def answer(self, body: str) -> str:
        found = re.search(r"<soapenv:Body><(\w+) ", body)
        assert found is not None
        method = found[1]
        self.requests.append(method)
        match method:
            case "RetrieveServiceContent":
                content = _CONTENT
                return content.replace("VirtualCenter", "HostAgent") if self.is_esx else content
            case "Login":
                found = re.search(r"<password>(.*)</password>", body)
                assert found is not None
                self.passwords.append(found[1])
                return "" if found[1] == PASSWORD else "fault"
            case "CreateContainerView":
                kind = re.search(r"<type>(\w+)</type>", body)
                assert kind is not None
                return f"view-{kind[1]}"
            case "RetrievePropertiesEx":
                if self.is_empty:
                    return ""
                if "<type>Datastore</type>" in body:
                    return _STORE.format(threshold=self.threshold)
                return _GUEST if "<type>VirtualMachine</type>" in body else ""
        return ""


def _envelope(method: str, inner: str) -> bytes:
    if inner == "fault":
        said = (
            "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>no</faultstring>"
            '<detail><InvalidLoginFault xmlns="urn:vim25" xsi:type="InvalidLogin"/></detail>'
            "</soapenv:Fault>"
        )
    else:
        of = ' type="ContainerView"' if inner.startswith("view-") else ""
        said = (
            f'<{method}Response xmlns="urn:vim25"><returnval{of}>{inner}</returnval>'
            f"</{method}Response>"
        )
    return (
        '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<soapenv:Body>{said}</soapenv:Body></soapenv:Envelope>"
    ).encode()


@contextmanager
def small_vcenter(certificate: Path | None = None) -> Iterator[SmallVcenter]:
    """It runs on this machine; with a file of its key and certificate it speaks TLS."""
    vcenter = SmallVcenter()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if vcenter.drips and not drip(self, vcenter.goes_on):
                return
            inner = vcenter.answer(body)
            said = _envelope(vcenter.requests[-1], inner)
            self.send_response(500 if inner == "fault" else 200)
            self.send_header("Content-Type", "text/xml")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    with small_server(Handler, certificate, vcenter.goes_on) as vcenter.url:
        yield vcenter
