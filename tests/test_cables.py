"""The cable schedule: as many cables as the bill has, every port once, lengths by hand."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random

import pytest

from planner import api
from planner.assemble.cables import cable_schedule, links_of
from planner.case.cabling import longest_run_m
from planner.errors import InputError
from planner.foreign_workbooks import load_bytes
from planner.inputs import Inputs
from planner.outputs.bill import bill, json_bytes
from planner.outputs.netbox import COLUMNS, schedule_csv
from planner.outputs.plan_json import to_bytes
from planner.schema.beside import Cable, CableSchedule
from planner.schema.catalog import Copper, Item, LengthOnOffer, Lengths, PortGroup
from planner.schema.plan import PartByLength, Plan
from planner.schema.site import Floor
from planner.verifier import recheck
from planner.verifier.basis import Basis
from planner.workbook import write
from tests.test_superpod import SUPERPOD
from tests.world.commands import ran
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


def test_a_system_is_on_a_leaf_of_each_rail_and_the_manager_on_what_is_left(
    schedule: CableSchedule,
) -> None:
    compute = [c for c in schedule.cables if c.network == "compute"]
    of_first = [c.upper.device for c in compute if c.lower.device == "nvidia_dgx_h100-001"]
    assert of_first == [f"compute-leaf-{leaf:02d}" for leaf in range(1, 33, 4)]
    manager = [c for c in compute if c.lower.device == "fabric-manager"]
    assert [(c.upper.port, c.length_m) for c in manager] == [("32", None)] * 4
    between = Counter((c.lower.device, c.upper.device) for c in compute if "leaf" in c.lower.device)
    assert set(between.values()) == {2}, "32 uplinks to 16 spines"


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


def test_runs_beyond_the_modules_reach_are_told(superpod: tuple[Inputs, Plan]) -> None:
    inputs, plan = superpod
    floor = inputs.problem.site.floor
    assert floor is not None
    wide = floor.model_copy(update={"row_pitch_m": 20.0})
    site = inputs.problem.site.model_copy(update={"floor": wide})
    far = replace(inputs, problem=inputs.problem.model_copy(update={"site": site}))
    found = cable_schedule(far, plan)
    beyond = [c for c in found.cables if c.medium == "single mode: beyond 50 m"]
    assert beyond
    assert all((c.length_m or 0) > 50 for c in beyond)
    assert f"{len(beyond):,} links are longer than" in found.notes[0]


def test_without_a_floor_there_are_no_lengths(superpod: tuple[Inputs, Plan]) -> None:
    inputs, plan = superpod
    site = inputs.problem.site.model_copy(update={"floor": None})
    bare = replace(inputs, problem=inputs.problem.model_copy(update={"site": site}))
    found = cable_schedule(bare, plan)
    assert {cable.length_m for cable in found.cables} == {None}
    assert found.notes == ("no lengths: the problem gives no site.floor",)


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


def test_the_file_has_a_row_for_every_link(schedule: CableSchedule) -> None:
    found = rows(schedule_csv(schedule))
    assert tuple(found[0]) == COLUMNS
    assert len(found) == len(schedule.cables)
    first: Cable = schedule.cables[0]
    assert found[0]["from_device"] == first.lower.device
    assert found[0]["length_m"] == str(first.length_m)


def test_the_command_writes_the_file_and_the_sheet(problem: Path, tmp_path: Path) -> None:

    assert ran("solve", str(problem), "--also", "cables", "-o", str(tmp_path)).code == 0
    found = rows((tmp_path / "problem.cables.csv").read_bytes())
    sheet = load_bytes(tmp_path / "problem.xlsx")["Cables"]
    shown = [row[0] for row in sheet.iter_rows(values_only=True)]
    head = next(at for at, value in enumerate(shown) if value == "Cable")
    assert sum(isinstance(value, int) for value in shown[head:]) == len(found)


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


def test_the_longest_run_is_from_corner_to_corner(by_length: tuple[Inputs, Plan]) -> None:
    inputs, _ = by_length
    # 9 racks along the row, 5 rows across, two risers, twice from the bottom of 48 RU; a tenth more
    expected = (9 * 0.6 + 5 * 3.0 + 2 * 1.5 + 2 * 47 * 0.04445) * 1.1
    assert longest_run_m(inputs) == pytest.approx(expected)
    assert Basis.of(inputs).hall_m() == pytest.approx(expected)
    tall = in_hall(inputs, 1, 3.0)
    floor = tall.problem.site.floor
    assert floor is not None
    alone = floor.model_copy(update={"racks_per_row": 1, "riser_m": 0.0, "slack": 0.0})
    site = tall.problem.site.model_copy(update={"floor": alone})
    one = replace(tall, problem=tall.problem.model_copy(update={"site": site}))
    assert longest_run_m(one) == pytest.approx(2 * 47 * 0.04445)


def test_the_part_that_reaches_is_told_of_each_hall(by_length: tuple[Inputs, Plan]) -> None:
    inputs, _ = by_length
    item = next(i for i in inputs.items if i.beyond is not None and i.reach is not None)
    halls = [in_hall(inputs, rows, 3.0) for rows in (1, 500, 1)]
    short, long, again = (Basis.of(hall).reaching(item.id) for hall in halls)
    assert (short, again) == (item.id, item.id)
    assert long != item.id


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


def test_netbox_has_the_lengths_that_are_ordered(by_length: tuple[Inputs, Plan]) -> None:
    from tests.outputs.test_netbox import tables

    inputs, plan = by_length
    schedule = cable_schedule(inputs, plan)
    lengths = {
        (c.lower.device, c.lower.port): c.ordered_m
        for c in schedule.cables
        if c.lower.port and c.upper.port
    }
    found = tables(plan, schedule)["9-cables"]
    assert len(found) == len(lengths)
    for row in found:
        ordered = lengths[row["side_a_device"], row["side_a_name"]]
        assert row["length"] == ("" if ordered is None else f"{ordered:g}")
    copper = next(c for c in schedule.cables if c.medium == "copper" and c.network == "compute")
    assert any((copper.part_number or "?") in row["description"] for row in found)


def test_the_customers_bill_has_the_lengths_and_no_money(by_length: tuple[Inputs, Plan]) -> None:
    _, plan = by_length
    lines = bill(plan, "customer", "none").lines
    ours = [line for line in lines if line.length_m is not None]
    assert len(ours) == sum(part.length_m is not None for part in plan.cabling)
    assert {(line.unit_net, line.extended_net, line.currency) for line in ours} == {
        (None, None, None)
    }
    net = [line for line in bill(plan, "customer").lines if line.length_m is not None]
    assert [line.unit_net for line in net] == [
        part.unit_net_usd for part in plan.cabling if part.length_m is not None
    ]
    whole = bill(plan)
    assert whole.totals.grand.extended_net == pytest.approx(
        plan.totals.capex_usd if plan.totals is not None else None
    ), "the money is in the lines that count"


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


def test_copper_that_costs_more_is_not_taken(by_length: tuple[Inputs, Plan]) -> None:
    inputs, _ = by_length
    used = []
    for list_usd in (1361.0, 1360.0):  # 2 fibres of 80 USD and 2 transceivers of 600
        prices = dict(inputs.prices)
        for sku in ("nvidia_mcp4y10", "nvidia_mca4j80"):
            prices[sku] = prices[sku].model_copy(update={"list_usd": list_usd})
        plan = api.solve_inputs(replace(inputs, prices=prices))
        used.append({part.sku for part in plan.cabling} - {"cable_cat6", "nvidia_mfp7e10"})
    assert used == [set(), {"nvidia_mcp4y10", "nvidia_mma4z00_ns"}]


def test_a_hall_beyond_the_reach_of_multimode_is_planned_with_single_mode(
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


def test_what_stands_in_and_has_no_price_is_refused_with_the_reason(
    by_length: tuple[Inputs, Plan],
) -> None:
    far = in_hall(by_length[0], 6, 20.0)
    prices = {sku: price for sku, price in far.prices.items() if sku != "nvidia_mfp7e30"}
    says = (
        r"'nvidia_mfp7e30' comes with this plan, but has no price in the price books; give its "
        r"price in a book of your own; it stands in for nvidia_mfp7e10, which reaches 50 m, and "
        r"runs in the hall \(site.floor\) get as long as 124 m"
    )
    with pytest.raises(InputError, match=says):
        api.solve_inputs(replace(far, prices=prices))


def test_runs_beyond_every_length_and_reach_are_told(by_length: tuple[Inputs, Plan]) -> None:
    inputs, _ = by_length
    huge = in_hall(inputs, 6, 150.0)
    plan = api.solve_inputs(huge)
    assert any("links are longer than any modules on offer reach" in w for w in plan.warnings)
    items = []
    for item in inputs.items:
        lengths = item.lengths
        if item.id == "nvidia_mfp7e10" and lengths is not None:
            short = lengths.model_copy(update={"offered": lengths.offered[:4]})
            item = item.model_copy(update={"lengths": short})
        items.append(item)
    plan = api.solve_inputs(replace(inputs, items=tuple(items)))
    told = next(w for w in plan.warnings if "any length on offer of MFP7E10-N030" in w)
    assert told.endswith("up to 21 m") or "up to 2" in told
    assert [p for p in plan.cabling if p.part_number is None]


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


def test_no_part_can_be_left_out_counted_otherwise_or_moved_to_another_length(
    by_length: tuple[Inputs, Plan],
) -> None:
    inputs, plan = by_length
    parts = list(plan.cabling)
    assert check(inputs, plan) == ()
    assert check(inputs, ordering(plan, [])), "all of them"
    for index, part in enumerate(parts):
        others = parts[:index] + parts[index + 1 :]
        assert check(inputs, ordering(plan, others)), f"{part.sku} of {part.length_m} left out"
        assert check(inputs, ordering(plan, [*parts, part])), f"{part.sku} listed twice"
        for more in (-1, 1):
            changed = part.model_copy(update={"quantity": part.quantity + more})
            assert check(inputs, ordering(plan, [*others, changed])), f"{part.sku} {more:+d}"
        for other in others:
            if other.counted_as == part.counted_as and other.in_place_of == part.in_place_of:
                one, two = (
                    each.model_copy(update={"quantity": each.quantity + more})
                    for each, more in ((part, -1), (other, 1))
                )
                moved = [one if p is part else two if p is other else p for p in parts]
                assert check(inputs, ordering(plan, moved)), f"{part.length_m} to {other.length_m}"


def test_no_line_of_a_fabric_can_be_left_out_or_counted_otherwise(
    by_length: tuple[Inputs, Plan],
) -> None:
    inputs, plan = by_length
    kinds = [
        n for n, p in enumerate(plan.lines) if p.category in ("switch", "cable", "transceiver")
    ]
    assert len(kinds) == 6
    for index in kinds:
        line, others = plan.lines[index], plan.lines[:index] + plan.lines[index + 1 :]
        assert any(
            f"lines.{line.sku}: missing" in text
            for text in check(inputs, plan.model_copy(update={"lines": others}))
        )
        for more in (-1, 1):
            changed = line.model_copy(update={"quantity": line.quantity + more})
            lines = (*plan.lines[:index], changed, *plan.lines[index + 1 :])
            found = check(inputs, plan.model_copy(update={"lines": lines}))
            assert any(f"lines.{line.sku}.quantity" in text for text in found)


@pytest.mark.parametrize(
    ("told", "instead", "ordered"),
    [
        ("extras: {", "extras: {nvidia_mfp7e10: {count: 9}, ", {"cable_cat6"}),
        ("items: {", "items: {nvidia_mfp7e10: {installed: 5}, ", {"cable_cat6"}),
        (
            "extras: {",
            "extras: {nvidia_qm9700: {count: 2}, nvidia_sn2201: {count: 1}, ",
            {"cable_cat6", "nvidia_mfp7e10", "nvidia_mma4z00_ns"},
        ),
    ],
)
def test_lines_that_are_no_fabrics_alone_verify(
    tmp_path: Path, told: str, instead: str, ordered: set[str]
) -> None:
    """A line that counts other cables too is not ordered by length, nor copper in its place."""
    path = tmp_path / "problem.yaml"
    text = SUPERPOD.replace("  racks: 60\n", f"  racks: 60\n  {hall(6, 3.0)}\n")
    path.write_text(text.replace(told, instead), "utf-8")
    plan = api.solve(path)
    assert {part.counted_as for part in plan.cabling} == ordered


def test_a_rack_that_is_moved_asks_for_other_cables(by_length: tuple[Inputs, Plan]) -> None:
    """Lengths follow from where racks stand: the first system's rack at the far end of the hall."""
    inputs, plan = by_length
    site = inputs.problem.site
    assert site.floor is not None
    narrow = site.floor.model_copy(update={"racks_per_row": 6, "rows": 10})
    other = site.model_copy(update={"floor": narrow})
    moved = replace(inputs, problem=inputs.problem.model_copy(update={"site": other}))
    assert any("cabling.cable_cat6" in text for text in check(moved, plan))


def test_more_transceivers_or_copper_than_there_is_are_caught(
    by_length: tuple[Inputs, Plan],
) -> None:
    inputs, plan = by_length
    fewer = [p for p in plan.cabling if p.category != "transceiver"]
    found = check(inputs, plan.model_copy(update={"cabling": tuple(fewer)}))
    assert any("cabling.nvidia_mma4z00_ns.nvidia_mma4z00_ns" in text for text in found)
    site = inputs.problem.site.model_copy(update={"floor": None})
    bare = replace(inputs, problem=inputs.problem.model_copy(update={"site": site}))
    assert any("gives no rows of its hall" in text for text in check(bare, plan))


def test_a_plan_without_rows_has_no_parts_by_length(superpod: tuple[Inputs, Plan]) -> None:
    _, plan = superpod
    assert plan.cabling == ()
    assert "cabling" not in json.loads(to_bytes(plan))


@pytest.mark.parametrize(
    ("racks", "floor", "says"),
    [
        ("  racks: 61\n", hall(6, 3.0), "racks is 61; floor has places for 60"),
        ("", hall(6, 3.0), "floor.rows needs racks: how many the hall takes"),
    ],
)
def test_a_hall_that_cannot_be_is_refused(
    tmp_path: Path, racks: str, floor: str, says: str
) -> None:
    path = tmp_path / "problem.yaml"
    path.write_text(SUPERPOD.replace("  racks: 60\n", f"{racks}  {floor}\n"), "utf-8")
    done = ran("solve", str(path), "-o", str(tmp_path))
    assert done.code == 2
    assert says in done.err


def with_lengths(inputs: Inputs, random: Random) -> Inputs:
    """Return random inputs in a hall, with lengths on offer and copper between switches."""
    site, prices = inputs.problem.site, dict(inputs.prices)
    per_row = random.choice((3, 7, 12, 40))
    floor = Floor(
        racks_per_row=per_row,
        rows=-(-(site.rack_count or 400) // per_row) + random.randint(0, 2),
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


def test_lengths_and_ends_follow_positions_where_the_hall_has_groups(tmp_path: Path) -> None:
    """Systems stand behind the 20 weak positions of the network, though their racks come first."""
    from tests.outputs.test_netbox import tables

    groups = "racks: [{count: 20, power: 20 kW, name: west}, {count: 40, power: 60 kW}]"
    text = SUPERPOD.replace("  racks: 60\n", f"  {groups}\n  {FLOOR}\n")
    text = text.replace("  rack:\n", "  rack_classes: {network: {power: 20 kW}}\n  rack:\n")
    path = tmp_path / "problem.yaml"
    path.write_text(text, "utf-8")
    inputs = api.load(path)
    plan = api.solve_inputs(inputs)
    found = cable_schedule(inputs, plan)
    system = next(c for c in found.cables if c.lower.device == "nvidia_dgx_h100-001")
    assert (system.lower.rack, system.lower.position) == (1, "group 2-01")
    assert (system.upper.position or "").startswith("west-")
    place = int((system.upper.position or "").removeprefix("west-"))
    row, along = divmod(place - 1, 10)
    way = (2 - row) * 3 + abs(0 - along) * 0.6 + 2 * 1.5
    way += ((48 - 1) + (48 - (system.upper.position_ru or 0))) * 0.04445
    assert system.length_m == -(-way * 1.1 // 1)
    first = rows(schedule_csv(found))[0]
    assert first["from_position"] == "group 2-01"
    racks = tables(plan, found)["6-racks"]
    assert racks[0]["facility_id"] == "group 2-01"
    assert len({rack["facility_id"] for rack in racks}) == len(racks)


def test_the_quote_has_a_row_for_every_length(by_length: tuple[Inputs, Plan]) -> None:
    _, plan = by_length
    book = write(plan, io.BytesIO(), created=datetime(2026, 1, 1), keep=True)
    texts = [str(text).strip() for text in book.cells.values()]
    lengths = [text for text in texts if text.startswith("of which ")]
    assert len(lengths) == len(plan.cabling)
    assert plan.totals is not None
    assert book.names["bill_amount"].value == pytest.approx(plan.totals.capex_usd), "counts once"
