"""The cable schedule: as many cables as the bill has, every port once, lengths by hand."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from planner import api
from planner.inputs import Inputs
from planner.plan.cables import cable_schedule, links_of
from planner.report.bill import bill, json_bytes
from planner.schema.beside import CableSchedule
from planner.schema.catalog import Copper, Item, LengthOnOffer, Lengths, PortGroup
from planner.schema.plan import PartByLength, Plan
from planner.schema.site import Floor
from planner.verifier import recheck
from tests.test_superpod import SUPERPOD
from tests.world.random_cases import inputs_of, random_case

FLOOR = "floor: {racks_per_row: 10, rack_width: 60 cm, row_pitch: 3 m, riser: 1.5 m, slack: 10 %}"


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("superpod") / "problem.yaml"
    path.write_text(SUPERPOD.replace("  racks: 60\n", f"  racks: 60\n  {FLOOR}\n"), "utf-8")
    return path


@pytest.fixture(scope="module")
def superpod(problem: Path) -> tuple[Inputs, Plan]:
    inputs = api.load(problem)
    return inputs, api.solve_inputs(inputs)


@pytest.fixture(scope="module")
def schedule(superpod: tuple[Inputs, Plan]) -> CableSchedule:
    return cable_schedule(*superpod)


def pulled(schedule: CableSchedule) -> Counter[str]:
    """Return the cables by item: rows that share a number are one."""
    return Counter(sku for sku, _ in {(c.sku, c.number) for c in schedule.cables if c.sku})


def billed(inputs: Inputs, plan: Plan) -> Counter[str]:
    kinds = {item.id: item.category for item in inputs.items}
    named = inputs.problem.extras
    lines = [line for line in plan.lines if kinds[line.sku] == "cable" and line.sku not in named]
    return Counter({line.sku: line.quantity for line in lines if line.quantity})


def twice(schedule: CableSchedule) -> list[tuple[str, str]]:
    ends = [(e.device, e.port) for c in schedule.cables for e in (c.lower, c.upper)]
    return [end for end, count in Counter(ends).items() if count > 1]


def test_the_superpod_has_the_cables_of_its_bill(
    superpod: tuple[Inputs, Plan], schedule: CableSchedule
) -> None:
    assert pulled(schedule) == billed(*superpod)
    assert pulled(schedule)["nvidia_mfp7e10"] == 2044
    assert twice(schedule) == []
    assert schedule.notes == ()


def test_lengths_follow_from_rows_positions_and_heights(schedule: CableSchedule) -> None:
    cable = next(c for c in schedule.cables if c.lower.device == "nvidia_dgx_h100-001")
    assert (cable.lower.rack, cable.lower.position_ru) == (1, 1)
    rack, unit = cable.upper.rack or 0, cable.upper.position_ru or 0
    assert rack > 32, "behind the racks of systems"
    row, place = divmod(rack - 1, 10)
    way = row * 3 + place * 0.6 + 2 * 1.5 + ((48 - 1) + (48 - unit)) * 0.04445
    assert cable.length_m == -(-way * 1.1 // 1)
    assert cable.medium == "multimode"
    beside = [c for c in schedule.cables if c.lower.rack == c.upper.rack and c.lower.rack]
    assert beside
    assert {c.medium for c in beside if c.network == "compute"} <= {"DAC", "ACC"}
    assert all((c.length_m or 0) <= 4 for c in beside)


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize("seed", range(60))
def test_random_plans_have_the_cables_of_their_bills(seed: int) -> None:
    inputs = inputs_of(random_case(seed))
    plan = api.solve_inputs(inputs, explain=False)
    if not plan.lines:
        return
    found = cable_schedule(inputs, plan)
    assert not [note for note in found.notes if "the schedule" in note], found.notes
    assert pulled(found) == billed(inputs, plan)
    free = [end for end in twice(found) if end[0] not in ("no free out-of-band port",)]
    assert free == []


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))


def check(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    return recheck(inputs, plan, schedule=links_of).disagreements


def hall(rows: int, pitch_m: float) -> str:
    return FLOOR.replace("row_pitch: 3 m", f"rows: {rows}, row_pitch: {pitch_m:g} m")


@pytest.fixture(scope="module")
def by_length(tmp_path_factory: pytest.TempPathFactory) -> tuple[Inputs, Plan]:
    """Return the SuperPOD in a hall of which all is known."""
    path = tmp_path_factory.mktemp("hall") / "problem.yaml"
    path.write_text(SUPERPOD.replace("  racks: 60\n", f"  racks: 60\n  {hall(6, 3.0)}\n"), "utf-8")
    inputs = api.load(path)
    return inputs, api.solve_inputs(inputs)


def in_hall(inputs: Inputs, rows: int, pitch_m: float) -> Inputs:
    floor = inputs.problem.site.floor
    assert floor is not None
    floor = floor.model_copy(update={"rows": rows, "row_pitch_m": pitch_m})
    site = inputs.problem.site.model_copy(update={"floor": floor})
    return replace(inputs, problem=inputs.problem.model_copy(update={"site": site}))


def test_bill_schedule_and_order_agree_link_by_link(by_length: tuple[Inputs, Plan]) -> None:
    inputs, plan = by_length
    schedule = cable_schedule(inputs, plan)
    drawn = Counter(
        (sku, number, length)
        for _, sku, number, length in {
            ((c.network, c.number), c.sku, c.part_number, c.ordered_m) for c in schedule.cables
        }
    )
    ordered = [part for part in plan.cabling if part.category == "cable"]
    assert {(p.sku, p.part_number, p.length_m): p.quantity for p in ordered} == drawn
    for cable in schedule.cables:
        assert (cable.ordered_m is None) == (cable.length_m is None)
        assert (cable.ordered_m or 0) >= (cable.length_m or 0)
    bill = {line.sku: line.quantity for line in plan.lines}
    covered: Counter[str] = Counter()
    for part in ordered:
        covered[part.counted_as] += part.quantity * part.in_place_of
    assert covered == {sku: bill[sku] for sku in ("nvidia_mfp7e10", "cable_cat6")}
    written = json_lines(plan)
    for part in plan.cabling:
        row = next(
            r
            for r in written
            if (r["sku"], r["part_number"], r["length_m"], bool(r["parent_line"]))
            == (part.sku, part.part_number, part.length_m, True)
        )
        assert (row["quantity"], row["unit_net"]) == (part.quantity, part.unit_net_usd)
        assert row["extended_net"] is None


def json_lines(plan: Plan) -> list[dict[str, object]]:
    return list(json.loads(json_bytes(bill(plan)))["lines"])


def test_copper_takes_whole_cages_where_it_reaches(by_length: tuple[Inputs, Plan]) -> None:
    inputs, plan = by_length
    schedule = cable_schedule(inputs, plan)
    copper = [c for c in schedule.cables if c.medium == "copper" and c.network == "compute"]
    pairs = Counter((c.lower.device, c.upper.device, c.number) for c in copper)
    assert pairs
    assert set(pairs.values()) == {2}
    assert all((c.length_m or 9) <= 2 for c in copper)
    for c in copper:
        mate = next(m for m in copper if m.number == c.number and m is not c)
        assert {(int(p) - 1) // 2 for p in (c.lower.port, mate.lower.port)} == {
            (int(c.lower.port) - 1) // 2
        }
        assert (int(c.upper.port) - 1) // 2 == (int(mate.upper.port) - 1) // 2
    cables = len(pairs)
    left = next(p.quantity for p in plan.cabling if p.category == "transceiver")
    line = next(line for line in plan.lines if line.sku == "nvidia_mma4z00_ns")
    assert left == line.quantity - 2 * cables
    less = cables * (2 * 80 + 2 * 600 - 400)
    assert f"{cables} copper cables serve between switches" in plan.warnings[-1]
    assert f"costs {less:,} USD less and draws {2 * cables * 0.015:,.1f} kW" in plan.warnings[-1]


def test_a_hall_beyond_multimode_has_single_mode_optics(
    by_length: tuple[Inputs, Plan],
) -> None:
    inputs, near = by_length
    far = in_hall(inputs, 6, 20.0)
    plan = api.solve_inputs(far)
    lines = {line.sku: line for line in plan.lines}
    assert "nvidia_mma4z00_ns" not in lines
    assert lines["nvidia_mms4x00_nm"].quantity == 1536
    assert lines["nvidia_mms4x00_nm_flt"].quantity == 508
    assert lines["nvidia_mfp7e30"].quantity == 2044
    assert near.totals is not None
    assert plan.totals is not None
    more_kw = (1536 + 508) * 0.002
    assert plan.totals.it_power_kw == pytest.approx(near.totals.it_power_kw + more_kw)
    media = {c.medium for c in cable_schedule(far, plan).cables if c.network == "compute"}
    assert media == {"single mode", "copper", "as billed"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"quantity": 1}, "7.0 m (MFP7E10-N007): plan says 1"),
        ({"part_number": "MFP7E10-N003"}, "7.0 m (MFP7E10-N007): plan says 0"),
        ({"length_m": 50.0, "part_number": "MFP7E10-N050"}, "50.0 m (MFP7E10-N050): plan says"),
        ({"length_m": 12.0}, "of 12 m: not on offer"),
        ({"unit_net_usd": 1.0}, "unit_net_usd"),
        ({"counted_as": "cable_cat6"}, "cabling.cable_cat6: cables: plan says"),
        ({"counted_as": "none_such"}, "not in the catalogs or not in the bill"),
        ({"sku": "nvidia_mfp7e30"}, "cabling.nvidia_mfp7e10.nvidia_mfp7e30"),
        ({"sku": "none_such"}, "not in the catalogs or not in the bill"),
        ({"in_place_of": 2}, "cabling.nvidia_mfp7e10: cables: plan says"),
        ({"model": "other"}, "model"),
        ({"vendor": "other"}, "vendor"),
        ({"category": "transceiver"}, "category"),
    ],
)
def test_tampered_orders_are_caught(
    by_length: tuple[Inputs, Plan], change: dict[str, object], says: str
) -> None:
    plan = by_length[1]
    inputs = in_hall(by_length[0], 5, 3.0)
    assert check(inputs, plan) == (), "five rows of ten hold its racks, too"
    index = next(i for i, p in enumerate(plan.cabling) if p.length_m == 7.0)
    parts = list(plan.cabling)
    parts[index] = parts[index].model_copy(update=change)
    found = check(inputs, plan.model_copy(update={"cabling": tuple(parts)}))
    assert any(says in text for text in found), found


def ordering(plan: Plan, parts: list[PartByLength]) -> Plan:
    return plan.model_copy(update={"cabling": tuple(parts)})


def with_lengths(inputs: Inputs, random: Random) -> Inputs:
    """Return random inputs in a hall, with lengths on offer and copper between switches."""
    site, prices = inputs.problem.site, dict(inputs.prices)
    per_row = random.choice((3, 7, 12, 40))
    floor = Floor(
        racks_per_row=per_row,
        rows=-(-(site.racks or 400) // per_row) + random.randint(0, 2),
        rack_width="60 cm",
        row_pitch=f"{random.choice((2, 3, 40))} m",
        riser=f"{random.choice((0, 1.5))} m",
        slack=random.choice((0.0, 0.1)),
    )
    racks = 400 if site.racks is None else site.racks
    site = site.model_copy(update={"floor": floor, "racks": racks})

    def sold(item: Item, most: int) -> Item:
        metres = sorted(random.sample(range(1, most), random.randint(0, 6)))
        offered = tuple(
            LengthOnOffer(length=f"{m} m", part_number=f"{item.id}-{m}") for m in metres
        )
        lengths = Lengths(model=item.model, source="made_up", confidence="low", offered=offered)
        return item.model_copy(update={"lengths": lengths})

    cables = [item for item in inputs.items if item.category == "cable"]
    copper = [sold(c.model_copy(update={"id": f"dac_{n}"}), 30) for n, c in enumerate(cables[:3])]
    for made, like in zip(copper, cables, strict=False):
        cheap = {"list_usd": random.choice((5.0, 300.0, 900.0))}
        prices[made.id] = prices[like.id].model_copy(update=cheap)
    items = list(copper)
    for item in inputs.items:
        if item.category == "cable" and random.random() < 0.7:
            item = sold(item, 80)
        if item.switch is not None and copper:
            groups = tuple(_with_copper(group, copper, random) for group in item.switch.ports)
            switch = item.switch.model_copy(update={"ports": groups})
            item = item.model_copy(update={"switch": switch})
        items.append(item)
    problem = inputs.problem.model_copy(update={"site": site})
    return replace(inputs, problem=problem, items=tuple(items), prices=prices)


def _with_copper(group: PortGroup, copper: list[Item], random: Random) -> PortGroup:
    if group.link is None or group.link.switch_end is None:
        return group
    each = group.link.switch_end.links
    links = 1 if random.random() < 0.8 else group.link.links
    offered = tuple(
        Copper(cable=random.choice(copper).id, links=each + (random.random() < 0.2))
        for _ in range(random.randint(1, 3))
    )
    link = group.link.model_copy(update={"links": links})
    return group.model_copy(update={"copper": offered, "link": link})


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize("seed", range(80))
def test_random_halls_have_orders_that_verify(seed: int) -> None:
    inputs = inputs_of(random_case(seed))
    if inputs.problem.site.rack is None:
        return
    inputs = with_lengths(inputs, Random(f"hall {seed}"))
    plan = api.solve_inputs(inputs, explain=False)
    if not plan.lines:
        return
    assert check(inputs, plan) == ()
    found = cable_schedule(inputs, plan)
    assert pulled_as(found) == billed(inputs, plan)
    for index in range(len(plan.cabling)):
        parts = list(plan.cabling)
        del parts[index]
        assert check(inputs, ordering(plan, parts))


def pulled_as(schedule: CableSchedule) -> Counter[str]:
    """Return the cables that the bill counts; copper is the fibres in whose place it goes."""
    one = Counter((c.counted_as, c.sku, c.number) for c in schedule.cables if c.sku)
    many: Counter[str] = Counter()
    for (counted, sku, _), links in one.items():
        many[counted or ""] += 1 if counted == sku else links
    return many
