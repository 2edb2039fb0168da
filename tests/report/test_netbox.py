"""Files for NetBox, taken in as NetBox would: field by field, reference by reference, in order."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

import pytest

from planner import shipped
from planner.loader import load
from planner.plan.hall import cable_schedule
from planner.report.exports import netbox_files
from planner.schema.plan import CableSchedule, Plan
from tests.world.commands import ran
from tests.world.random_cases import inputs_of, random_case
from tests.world.solved import solve, solved

FORMS = {
    # netbox-community/netbox @016a533, netbox/dcim/forms/bulk_import.py: Meta.fields of each form
    "1-sites": "name slug status region group tenant facility time_zone description "
    "physical_address shipping_address latitude longitude comments tags",
    "2-manufacturers": "name slug description tags",
    "3-rack-roles": "name slug color description tags",
    "4-device-roles": "name slug color vm_role config_template description tags",
    "5-device-types": "manufacturer default_platform model slug part_number u_height "
    "exclude_from_utilization is_full_depth subdevice_role airflow description weight weight_unit "
    "comments tags",
    "6-racks": "site location name facility_id tenant status role form_factor serial asset_tag "
    "width u_height desc_units outer_width outer_depth outer_unit mounting_depth airflow weight "
    "max_weight weight_unit description comments tags",
    "7-devices": "name role tenant manufacturer device_type platform serial asset_tag status site "
    "location rack position face latitude longitude parent device_bay airflow virtual_chassis "
    "vc_position vc_priority cluster description config_template comments tags",
    "8-interfaces": "device name label parent bridge lag type speed duplex enabled mark_connected "
    "wwn vdcs mtu mgmt_only description poe_mode poe_type mode vrf rf_role rf_channel "
    "rf_channel_frequency rf_channel_width tx_power tags",
    "9-cables": "side_a_device side_a_type side_a_name side_b_device side_b_type side_b_name type "
    "status tenant label color length length_unit description comments tags",
}
REQUIRED = {
    "1-sites": "name slug status",
    "2-manufacturers": "name slug",
    "3-rack-roles": "name slug",
    "4-device-roles": "name slug",
    "5-device-types": "manufacturer model slug u_height",
    "6-racks": "site name status width u_height",
    "7-devices": "role manufacturer device_type status site",
    "8-interfaces": "device name type",
    "9-cables": "side_a_device side_a_type side_a_name side_b_device side_b_type side_b_name",
}
SLUG = re.compile(r"[-a-z0-9_]{1,100}")
Table = list[dict[str, str]]


def tables(plan: Plan, schedule: CableSchedule) -> dict[str, Table]:
    found = {}
    for name, content in netbox_files(plan, schedule).items():
        reader = csv.DictReader(io.StringIO(content.decode("utf-8")))
        found[name] = list(reader)
        assert reader.fieldnames is not None
        assert set(reader.fieldnames) <= set(FORMS[name].split()), name
    assert list(found) == sorted(FORMS), "in the order of import"
    return found


def taken_in(found: dict[str, Table]) -> None:
    """Check what NetBox checks while it takes the files in, one after the other."""
    for name, rows in found.items():
        for row in rows:
            empty = [field for field in REQUIRED[name].split() if not row[field]]
            assert not empty, (name, row)
            assert "slug" not in row or SLUG.fullmatch(row["slug"]), (name, row)
    sites = only(row["name"] for row in found["1-sites"])
    vendors = only(row["name"] for row in found["2-manufacturers"])
    rack_roles = only(row["name"] for row in found["3-rack-roles"])
    roles = only(row["name"] for row in found["4-device-roles"])
    types = {(row["manufacturer"], row["model"]): row for row in found["5-device-types"]}
    only((row["manufacturer"], row["model"]) for row in found["5-device-types"])
    only(row["slug"] for row in found["5-device-types"])
    assert {vendor for vendor, _ in types} <= vendors
    assert all(float(row["u_height"]) * 2 % 1 == 0 for row in types.values())
    assert all((row["weight"] == "") == (row["weight_unit"] == "") for row in types.values())
    racks = {row["name"]: row for row in found["6-racks"]}
    only(racks)
    assert all(row["site"] in sites and row["role"] in rack_roles for row in racks.values())
    devices = only(row["name"] for row in found["7-devices"])
    taken: Counter[tuple[str, int]] = Counter()
    for row in found["7-devices"]:
        assert row["role"] in roles
        kind = types[row["manufacturer"], row["device_type"]]
        assert row["rack"] in racks or (not row["rack"] and not row["position"])
        assert (row["position"] == "") == (row["face"] == ""), row
        if row["position"]:
            low = round(2 * (float(row["position"]) - 1))
            high = low + round(2 * float(kind["u_height"]))
            assert 0 <= low < high <= 2 * int(racks[row["rack"]]["u_height"]), row
            taken.update((row["rack"], half) for half in range(low, high))
    assert max(taken.values(), default=1) == 1, "two devices in one place"
    ports = only((row["device"], row["name"]) for row in found["8-interfaces"])
    assert {device for device, _ in ports} <= devices
    ended: Counter[tuple[str, str]] = Counter()
    for row in found["9-cables"]:
        for side in "ab":
            assert row[f"side_{side}_type"] == "dcim.interface"
            ended[row[f"side_{side}_device"], row[f"side_{side}_name"]] += 1
        assert (row["length"] == "") == (row["length_unit"] == "")
    assert set(ended) <= ports
    assert max(ended.values(), default=1) == 1, "a port takes one cable"


def only(names: object) -> set[object]:
    listed = list(names)  # type: ignore[call-overload]
    assert len(set(listed)) == len(listed), "a name stands twice"
    return set(listed)


@pytest.mark.parametrize("problem", ["full_bill", "enterprise_1MW"])
def test_shipped_plans_are_taken_in(problem: str) -> None:
    inputs, plan = load(shipped.problem_files()[problem]), solved(problem)
    schedule = cable_schedule(inputs, plan)
    found = tables(plan, schedule)
    taken_in(found)
    connected = [cable for cable in schedule.cables if cable.lower.port and cable.upper.port]
    assert len(found["9-cables"]) == len(connected) > 500
    assert len(found["6-racks"]) == sum(group.count for group in plan.racks)
    standing = sum(group.count * len(group.devices) for group in plan.racks)
    assert sum(bool(row["rack"] and row["position"]) for row in found["7-devices"]) == standing
    numbers = {row["part_number"] for row in found["5-device-types"]}
    assert "none public" not in numbers
    assert any(numbers)


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("seed", range(40))
def test_random_plans_are_taken_in(seed: int) -> None:
    inputs = inputs_of(random_case(seed))
    plan = solve(inputs, explain=False)
    if plan.lines and plan.racks:
        taken_in(tables(plan, cable_schedule(inputs, plan)))


def test_names_from_elsewhere_do_no_harm() -> None:
    inputs, plan = load(shipped.problem_files()["enterprise_1MW"]), solved("enterprise_1MW")
    lines = tuple(
        line.model_copy(update={"model": f'=cmd|"/c"!A{number}\n\x07', "vendor": "Ünïcode, Inc."})
        for number, line in enumerate(plan.lines)
    )
    hostile = plan.model_copy(update={"lines": lines, "problem": "=1+1"})
    found = tables(hostile, cable_schedule(inputs, plan))
    for rows in found.values():
        for row in rows:
            assert not any(re.match(r"[=+\-@]", cell) or "\x07" in cell for cell in row.values())


def test_the_command_writes_the_files(tmp_path: Path) -> None:
    problem = shipped.problem_files()["enterprise_1MW"]
    words = ("solve", str(problem), "--also", "netbox", "-q", "-o", str(tmp_path))
    done = ran(*words, "--audience=customer")
    assert done.code == 0, done.err
    written = sorted(tmp_path.glob("*.customer.netbox-*.csv"))
    assert len(written) == len(FORMS)
    assert not any("USD" in path.read_text("utf-8") for path in written)


def test_without_racks_there_is_nothing_to_import(tmp_path: Path) -> None:
    problem = shipped.problem_files()["gpt3_octet"]
    bare = ("--set", "site.racks=null", "--set", "site.rack=null")
    done = ran("solve", str(problem), *bare, "--also", "netbox", "-q", "-o", str(tmp_path))
    assert done.code == 2
    assert "--also netbox: the plan has no racks" in done.err
    assert not list(tmp_path.iterdir())
