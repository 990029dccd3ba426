"""What an inventory of a vCenter states, from exports and answers, whole or broken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.source_errors import AnswerError, ExportError, FaultError
from ingest.core.vcenter.export import read_export
from ingest.core.vcenter.inventory import (
    Controls,
    Inventory,
    RuleKind,
    ShareLevel,
    ThresholdMode,
)
from ingest.core.vcenter.managed_object import managed_objects, merged
from ingest.core.vcenter.read_inventory import WANTED, read_inventory
from ingest.core.vcenter.soap import login, page_of, read_answer
from tests.advisor.vcenter_export import (
    CONTROLLER,
    GIB,
    content,
    datastore,
    disk,
    export,
    guest,
    pod,
)

ENVELOPE = (
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xmlns:xsd="http://www.w3.org/2001/XMLSchema"><soapenv:Body>{}</soapenv:Body>'
    "</soapenv:Envelope>"
)


def read(*objects: dict[str, Any]) -> Inventory:
    return read_inventory(read_export(export(*objects)))


def problems(found: Inventory) -> list[str]:
    return [f"{one.what}: {one.why}" for one in found.problems]


def test_disk_has_its_shares_limit_reservation_and_place() -> None:
    found = read(guest(7, disk(unit=3, level="custom", shares=1500, limit=800, reservation=100)))

    (machine,) = found.guests
    (one,) = machine.disks
    assert (machine.moid, machine.name, machine.host) == ("vm-7", "vm7", "esx1")
    assert (one.instance, one.datastore, one.size_bytes) == ("scsi0:3", "datastore-1", 10 * GIB)
    assert one.controls == Controls(
        level=ShareLevel.CUSTOM, shares=1500, limit=800.0, reservation=100.0
    )
    assert found.problems == ()


@pytest.mark.parametrize(
    ("label", "key", "instance"),
    [
        ("SCSI controller 0", 1000, "scsi0:0"),
        ("NVME controller 0", 31000, "nvme0:0"),
        ("SATA controller 0", 15000, "sata0:0"),
        ("IDE 0", 200, "ide0:0"),
        # Labels are in the language of the vCenter.
        ("Контроллер 0", 31000, "nvme0:0"),
        ("控制器 0", 15001, "sata0:0"),
        ("控制器 0", 200, "ide0:0"),
    ],
)
def test_bus_of_a_disk_is_known_without_types(label: str, key: int, instance: str) -> None:
    controller = {"key": key, "busNumber": 0, "deviceInfo": {"label": label}}

    found = read(
        guest(7, **{"config.hardware.device": {"_value": [controller, disk(controllerKey=key)]}})
    )

    assert [one.instance for one in found.guests[0].disks] == [instance]


@pytest.mark.parametrize(
    ("controller", "instance"),
    [
        ("ParaVirtualSCSIController", "scsi0:0"),
        ("VirtualLsiLogicSASController", "scsi0:0"),
        ("VirtualNVMEController", "nvme0:0"),
        ("VirtualAHCIController", "sata0:0"),
        ("VirtualIDEController", "ide0:0"),
    ],
)
def test_disk_is_called_as_its_samples_are(controller: str, instance: str) -> None:
    devices = [
        {"_typeName": controller, "key": CONTROLLER, "busNumber": 0},
        disk(_typeName="VirtualDisk"),
    ]

    found = read(guest(7, **{"config.hardware.device": {"_value": devices}}))

    assert [one.instance for one in found.guests[0].disks] == [instance]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"level": "highest"}, 'level of shares is "highest", which is none of low, normal'),
        ({"level": "custom", "shares": 0}, "its shares are custom, and their number is not told"),
        ({"limit": -5}, "its limit -5 or reservation 0 is no rate"),
        ({"reservation": -1}, "its limit -1 or reservation -1 is no rate"),
        ({"limit": 100, "reservation": 200}, "its limit 100 is below its reservation 200"),
    ],
    ids=["level", "custom without number", "limit", "reservation", "contradiction"],
)
def test_wrong_settings_of_one_disk_are_named_and_others_are_kept(
    wrong: dict[str, Any], complaint: str
) -> None:
    found = read(guest(7, disk(**wrong), disk(2001, unit=1, level="high", shares=2000)))

    first, second = found.guests[0].disks
    assert first.controls is None
    assert second.controls is not None
    assert second.controls.shares == 2000
    (problem,) = problems(found)
    assert problem.startswith("scsi0:0 of vm7: ")
    assert complaint in problem


def test_raw_mapping_is_known_with_and_without_types() -> None:
    backings = (
        {"compatibilityMode": "physicalMode", "lunUuid": "02000"},
        {"_typeName": "VirtualDiskRawDiskMappingVer1BackingInfo"},
        {"diskMode": "persistent"},
    )

    found = read(guest(7, *(disk(unit=at, backing=one) for at, one in enumerate(backings))))

    assert [one.is_raw for one in found.guests[0].disks] == [True, True, False]


def test_disk_without_controller_is_named() -> None:
    found = read(guest(7, disk(controllerKey=99)))

    assert found.guests[0].disks == ()
    assert problems(found) == ["Hard disk 1 of vm7: its controller or unit is not told"]


def test_machine_without_devices_is_named() -> None:
    found = read(guest(7, **{"config.hardware.device": None}))

    assert problems(found) == ["vm7: no devices are told of it, so none of its disks is known"]


def test_refused_property_is_named_with_what_to_do() -> None:
    machine = guest(7)
    machine["changeSet"] = machine["changeSet"][:1]
    fault = {"_typeName": "LocalizedMethodFault", "fault": {"_typeName": "NoPermission"}}
    machine["missingSet"] = [{"path": "config.hardware.device", "fault": fault}]

    found = read(machine)

    (problem,) = problems(found)
    assert "config.hardware.device cannot be read: the account has no permission" in problem
    assert "Read-only" in problem


def test_templates_are_left_out() -> None:
    found = read(guest(7), guest(8, **{"config.template": True}))

    assert [one.moid for one in found.guests] == ["vm-7"]


def test_names_are_those_that_people_write() -> None:
    found = read(guest(7, name="a%2fb%25c%5cd%41"), datastore(name="x%2Fy"))

    assert found.guests[0].name == "a/b%c\\d%41"
    assert found.stores[0].name == "x/y"


def test_storage_io_control_of_a_datastore() -> None:
    manual = datastore(
        1, enabled=True, congestionThresholdMode="manual", congestionThreshold=20,
        statsCollectionEnabled=True,
    )  # fmt: skip
    automatic = datastore(
        2, name="b", enabled=True, congestionThresholdMode="automatic", percentOfPeakThroughput=85
    )

    first, second = read(manual, automatic).stores

    assert first.hosts == ("esx1", "esx2")
    assert first.congestion is not None
    assert (first.congestion.mode, first.congestion.threshold_ms) == (ThresholdMode.MANUAL, 20)
    assert first.congestion.collects_statistics
    assert second.congestion is not None
    assert second.congestion.mode is ThresholdMode.AUTOMATIC
    assert second.congestion.percent_of_peak == 85


@pytest.mark.parametrize(
    ("iorm", "complaint"),
    [
        ({"congestionThresholdMode": "guess"}, 'the mode "guess" of its congestion threshold'),
        ({"congestionThreshold": 0}, "its congestion threshold is manual, and no number"),
        ({}, "its congestion threshold is manual, and no number"),
    ],
)
def test_wrong_thresholds_are_named(iorm: dict[str, Any], complaint: str) -> None:
    found = read(datastore(enabled=True, **iorm))

    assert found.stores[0].congestion is None
    assert complaint in problems(found)[0]


def test_rules_of_a_datastore_cluster() -> None:
    vm = {"type": "VirtualMachine", "value": "vm-7"}
    other = {"type": "VirtualMachine", "value": "vm-8"}
    config = {
        "enabled": True,
        "defaultIntraVmAffinity": True,
        "loadBalanceInterval": 240,
        "ioLoadBalanceConfig": {"ioLatencyThreshold": 15},
        "rule": [
            {"_typeName": "ClusterAntiAffinityRuleSpec", "name": "n", "vm": [vm, other]},
            {"_typeName": "ClusterVmHostRuleInfo", "name": "odd"},
        ],
    }
    rules = [
        {"name": "a", "diskRuleType": "antiAffinity", "diskId": [2000, 2001]},
        {"name": "b", "diskRuleType": "affinity", "diskId": [2002, 2003], "enabled": False},
        {"name": "c", "diskRuleType": "disabled", "diskId": [2002, 2003]},
    ]

    found = read(pod(config, {"vm": vm, "intraVmAffinity": False, "virtualDiskRules": rules}))

    (cluster,) = found.clusters
    assert cluster.settings == {
        "enabled": True,
        "loadBalanceInterval": 240,
        "ioLoadBalanceConfig.ioLatencyThreshold": 15,
    }
    assert (cluster.keeps_together, cluster.exceptions) == (True, {"vm-7": False})
    assert [(one.kind, one.enabled, one.members) for one in cluster.rules] == [
        (RuleKind.GUESTS_APART, True, (("vm-7", None), ("vm-8", None))),
        (RuleKind.DISKS_APART, True, (("vm-7", 2000), ("vm-7", 2001))),
        (RuleKind.DISKS_TOGETHER, False, (("vm-7", 2002), ("vm-7", 2003))),
    ]
    assert problems(found) == ["odd of gold: it is no rule that keeps two VMs or more apart"]


def test_traffic_of_a_switch_is_in_bits_a_second() -> None:
    classes = [{"key": "vmotion", "allocationInfo": {
        "limit": 2000, "reservation": 250, "shares": {"level": "low", "shares": 25}}}]  # fmt: skip
    switch = content(
        "VmwareDistributedVirtualSwitch", "dvs-1",
        {"name": "dvs", "config.infrastructureTrafficResourceConfig": classes},
    )  # fmt: skip

    (found,) = read(switch).traffic

    assert (found.switch, found.name) == ("dvs", "vmotion")
    assert (found.controls.limit, found.controls.reservation) == (2e9, 250e6)


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("", "it holds no objects of a vCenter"),
        ("[]", "it holds no objects of a vCenter"),
        ('{"a": ', "it is no JSON from line 1 on"),
        ('{"a": 1}\n\n<xml/>', "it is no JSON from line 3 on"),
        ("[" * 100_000, "it is no JSON"),
        ('{"VirtualMachines": [{"Self": {"Type": "VirtualMachine"}}]}', "govc before 0.30"),
    ],
    ids=["empty", "nothing", "cut off", "other", "deep", "old"],
)
def test_file_that_is_no_export_is_refused(document: str, complaint: str) -> None:
    with pytest.raises(ExportError, match=complaint):
        read_export(document)


def test_other_forms_of_govc_are_read_alike() -> None:
    machine, store = guest(7, disk(limit=800)), datastore()
    whole = {
        "virtualMachines": [
            {
                "self": machine["obj"],
                "name": "vm7",
                "config": {
                    "uuid": "u",
                    "hardware": {"device": machine["changeSet"][3]["val"]["_value"]},
                },
            }
        ]
    }

    (found,) = read_inventory(read_export(json.dumps(whole) + json.dumps([store]))).guests

    assert found.disks == read(machine).guests[0].disks
    assert found.disks[0].controls is not None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.text(max_size=5)
    | st.sampled_from(["-1", "high", "true"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["_typeName", "_value", "value", "type", "key", "shares", "level", "limit", "host",
             "storageIOAllocation", "backing", "rule", "vmConfig", "podConfig", "allocationInfo",
             "controllerKey", "unitNumber", "busNumber", "resourceAllocation", "virtualDiskRules",
             "diskId", "enabled"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip
KINDS = st.sampled_from([*WANTED, "VmwareDistributedVirtualSwitch", "Folder"])


@given(
    st.lists(
        st.tuples(
            KINDS,
            st.sampled_from(["a-1", "b-2"]),
            st.dictionaries(
                st.sampled_from(sorted({path for paths in WANTED.values() for path in paths})),
                ANYTHING | st.lists(st.just(disk()) | ANYTHING, max_size=3),
            ),
        ),
        max_size=4,
    )
)
def test_nothing_that_is_told_makes_reading_fail(
    told: list[tuple[str, str, dict[str, Any]]],
) -> None:
    objects = merged(managed_objects(content(kind, moid, values) for kind, moid, values in told))

    found = read_inventory(objects)

    machines = {moid for kind, moid, _ in told if kind == "VirtualMachine"}
    assert {one.moid for one in found.guests} <= machines
    assert {one.moid for one in found.stores} == {
        moid for kind, moid, _ in told if kind == "Datastore"
    }


@given(ANYTHING)
def test_any_document_is_read_or_refused(value: Any) -> None:
    try:
        found = read_export(json.dumps(value))
    except ExportError:
        return

    assert found


def test_answer_of_properties_is_read_as_an_export_is() -> None:
    answer = ENVELOPE.format("""
      <RetrievePropertiesExResponse xmlns="urn:vim25"><returnval><token>7</token><objects>
        <obj type="VirtualMachine">vm-7</obj>
        <propSet><name>name</name><val xsi:type="xsd:string">vm7</val></propSet>
        <propSet><name>runtime.host</name>
          <val type="HostSystem" xsi:type="ManagedObjectReference">host-1</val></propSet>
        <propSet><name>config.hardware.device</name><val xsi:type="ArrayOfVirtualDevice">
          <VirtualDevice xsi:type="ParaVirtualSCSIController"><key>1000</key>
            <busNumber>0</busNumber></VirtualDevice>
          <VirtualDevice xsi:type="VirtualDisk"><key>2000</key>
            <deviceInfo xsi:type="Description"><label>Hard disk 1</label></deviceInfo>
            <backing xsi:type="VirtualDiskFlatVer2BackingInfo">
              <datastore type="Datastore">datastore-1</datastore></backing>
            <controllerKey>1000</controllerKey><unitNumber>0</unitNumber>
            <capacityInBytes>10737418240</capacityInBytes>
            <storageIOAllocation><limit>800</limit>
              <shares><shares>2000</shares><level>high</level></shares></storageIOAllocation>
          </VirtualDevice></val></propSet>
        <missingSet><path>config.uuid</path><fault><fault xsi:type="NoPermission"/>
          <localizedMessage/></fault></missingSet>
      </objects></returnval></RetrievePropertiesExResponse>""")

    objects, token = page_of(read_answer(answer.encode()))
    found = read_inventory(managed_objects(objects))

    asked = read(guest(7, disk(level="high", shares=2000, limit=800)))
    assert token == "7"
    assert found.guests[0].disks == asked.guests[0].disks
    assert "config.uuid cannot be read: the account has no permission" in problems(found)[0]


def test_fault_says_which_it_is() -> None:
    fault = ENVELOPE.format(
        "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>Cannot"
        "\n complete login.</faultstring><detail>"
        '<InvalidLoginFault xmlns="urn:vim25" xsi:type="InvalidLogin"/>'
        "</detail></soapenv:Fault>"
    )

    with pytest.raises(FaultError, match=r"InvalidLogin: Cannot complete login\.") as refused:
        read_answer(fault.encode())

    assert refused.value.fault == "InvalidLogin"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html><body>Sign in</body></html>", b"\xff\xfe", b"{}",
        b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    ],
    ids=["empty", "page", "bytes", "json", "document type"],
)  # fmt: skip
def test_answer_of_something_else_is_refused(body: bytes) -> None:
    with pytest.raises(AnswerError):
        read_answer(body)


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_password_arrives_as_it_is(password: str) -> None:
    sent = login(("SessionManager", "s"), "u", password).decode()

    value = read_answer(
        ENVELOPE.format(f"<r><returnval>{sent.split('</_this>')[1].split('</Login>')[0]}"
                        "</returnval></r>").encode()
    )  # fmt: skip

    assert value["password"] == password
