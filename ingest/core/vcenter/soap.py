"""Requests and answers of the vSphere Web Services API: the few that read an inventory.

The API has been the same since vSphere 4.1 for these, so one form serves all releases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree as ET

from ingest.core.source_errors import AnswerError, FaultError
from ingest.core.vcenter.managed_object import many, text, within

_ENVELOPE = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    '<soapenv:Body><{method} xmlns="urn:vim25"><_this type="{kind}">{this}</_this>{inner}'
    "</{method}></soapenv:Body></soapenv:Envelope>"
)
_XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
_SOAP = "{http://schemas.xmlsoap.org/soap/envelope/}"

Reference = tuple[str, str]
"""Type and number of an object of the API."""


def call(method: str, this: Reference, inner: str = "") -> bytes:
    """A request to a method of an object."""
    kind, moid = escape(this[0]), escape(this[1])
    return _ENVELOPE.format(method=method, kind=kind, this=moid, inner=inner).encode()


def login(session_manager: Reference, user: str, password: str) -> bytes:
    inner = f"<userName>{escape(user)}</userName><password>{escape(password)}</password>"
    return call("Login", session_manager, inner)


def view_of(view_manager: Reference, root: Reference, kind: str) -> bytes:
    """Ask for a view of all objects of a kind below a folder."""
    inner = f"{_reference('container', root)}<type>{kind}</type><recursive>true</recursive>"
    return call("CreateContainerView", view_manager, inner)


def properties_of(
    collector: Reference, view: Reference, kind: str, paths: Sequence[str], *, most: int
) -> bytes:
    """Ask for properties of the objects of a view, at most so many at a time."""
    asked = "".join(f"<pathSet>{path}</pathSet>" for path in paths)
    inner = (
        f"<specSet><propSet><type>{kind}</type><all>false</all>{asked}</propSet>"
        f"<objectSet>{_reference('obj', view)}<skip>true</skip>"
        '<selectSet xsi:type="TraversalSpec"><name>view</name><type>ContainerView</type>'
        "<path>view</path><skip>false</skip></selectSet></objectSet></specSet>"
        f"<options><maxObjects>{most}</maxObjects></options>"
    )
    return call("RetrievePropertiesEx", collector, inner)


def more_properties(collector: Reference, token: str) -> bytes:
    return call("ContinueRetrievePropertiesEx", collector, f"<token>{escape(token)}</token>")


def _reference(name: str, one: Reference) -> str:
    return f'<{name} type="{escape(one[0])}">{escape(one[1])}</{name}>'


def read_answer(body: bytes) -> Any:
    """The `returnval` of an answer, None without one; FaultError if it refuses."""
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise AnswerError("the answer has a document type, which SOAP forbids")
    try:
        root = ET.fromstring(body)  # noqa: S314 - see above
    except ET.ParseError as error:
        raise AnswerError(f"the answer is no XML ({error}); is this a vCenter?") from error
    inside = root.find(f"{_SOAP}Body")
    if root.tag != f"{_SOAP}Envelope" or inside is None or len(inside) == 0:
        raise AnswerError("the answer is not of the vSphere API; is this a vCenter?")
    found = inside[0]
    if found.tag == f"{_SOAP}Fault":
        raise _fault(found)
    return within(_value(found), "returnval")


def _fault(element: ET.Element) -> FaultError:
    detail = element.find("detail")
    first = detail[0] if detail is not None and len(detail) else None
    kind = _local(first.get(f"{_XSI}type") or first.tag) if first is not None else ""
    words = " ".join((element.findtext("faultstring") or "").split())
    return FaultError(kind.removesuffix("Fault") or "fault", words)


def _value(element: ET.Element) -> Any:
    """What an element holds; a value that is alone of its name is no list of one."""
    kind = _local(element.get(f"{_XSI}type") or "")
    children = list(element)
    if kind.startswith("ArrayOf"):
        return [_value(child) for child in children]
    if not children:
        content = element.text or ""
        of = element.get("type")
        # A data object may be empty; simple types begin with a small letter.
        if of is None and kind[:1].isupper() and not content.strip():
            return {"_typeName": kind}
        return content if of is None else {"type": of, "value": content}
    found: dict[str, list[Any]] = defaultdict(list)
    for child in children:
        found[_local(child.tag)].append(_value(child))
    value: dict[str, Any] = {
        name: values[0] if len(values) == 1 else values for name, values in found.items()
    }
    return {"_typeName": kind, **value} if kind else value


def _local(name: str) -> str:
    return name.rpartition("}")[2].rpartition(":")[2]


def page_of(answer: Any) -> tuple[list[Any], str]:
    """The objects of one answer, and by what to ask for more; empty at the end."""
    return many(within(answer, "objects")), text(within(answer, "token"))


def manager(content: Any, name: str) -> Reference:
    """One of the objects that the service's content names."""
    found = within(content, name)
    if not (text(within(found, "type")) and text(within(found, "value"))):
        raise AnswerError(f"the vCenter names no {name}")
    return found["type"], found["value"]


def is_vcenter(content: Any) -> bool:
    """Whether it is a vCenter, and not one ESXi host."""
    return text(within(content, "about", "apiType")) == "VirtualCenter"
