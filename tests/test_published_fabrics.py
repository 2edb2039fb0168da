"""Published fabrics by shipped products: every row that is claimed, and which are not.

What the product does not claim: leaves that are joined to each other without spines, and a core
that carries compute and all else on the same two leaves (NVIDIA Enterprise RA 2-8-9-400, 2-8-9-800,
2-8-5-200 and 2-4-3-200); counts of out-of-band switches, which depend on consoles that those
documents do not list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from planner.case import Case, resolve
from planner.loader import load
from planner.sizing.fabric import smallest

PROBLEM = """\
name: a fabric
site: {{pue: 1.2}}
catalogs: [gpu_systems, gpu_systems_oem, storage_ddn, network]
prices: estimates_2026
consider: {{gpu_systems: [{item}], storage_families: [ddn_exascaler]}}
items: {{{item}: {{max: 2100, installed: 1}}}}
network:
  compute: {{switches: [{switch}], {options}}}
storage: {{delivered_fraction: {{read: 0.8, write: 0.8}}}}
jobs: [{{name: train, parameters: 8 B, checkpoint: {{keep_last: 1}}}}]
objective: {{minimize: cost}}
"""


@dataclass(frozen=True)
class Table:
    """A published table: system, switch and options, and rows of systems, leaf, spine, core."""

    source: str
    item: str
    switch: str
    options: str
    rows: tuple[tuple[int, int, int, int], ...]


MANAGER = "manager: {slots: 1, ports: 4}"
TABLES = (
    Table("DGX SuperPOD H100, RA-11333-001 V11, Table 4", "nvidia_dgx_h100", "nvidia_qm9700",
          MANAGER, ((31, 8, 4, 0), (63, 16, 8, 0), (95, 24, 16, 0), (127, 32, 16, 0))),
    Table("DGX SuperPOD B200, network fabrics, Table 4", "nvidia_dgx_b200", "nvidia_qm9700",
          MANAGER, ((31, 8, 4, 0), (63, 16, 8, 0), (95, 24, 16, 0), (127, 32, 16, 0))),
    Table("DGX SuperPOD B200, architecture, larger counts", "nvidia_dgx_b200", "nvidia_qm9700",
          "planes: 1",
          ((64, 16, 8, 0), (128, 32, 16, 0), (256, 64, 32, 0), (512, 128, 128, 64),
           (1024, 256, 256, 128), (2048, 512, 512, 256))),
    Table("DGX SuperPOD B300 XDR, Table 3", "nvidia_dgx_b300", "nvidia_q3400",
          "planes: 1",
          ((72, 8, 4, 0), (144, 16, 8, 0), (288, 32, 18, 0), (576, 64, 36, 0),
           (1296, 144, 72, 0))),
    Table("DGX SuperPOD B300 Spectrum-4, Table 3", "nvidia_dgx_b300", "nvidia_sn5610",
          "planes: 2",
          ((64, 16, 8, 0), (128, 32, 16, 0), (256, 64, 32, 0), (512, 128, 64, 0),
           (1024, 256, 128, 0))),
    Table("DGX SuperPOD GB200, RA-11338-001 V01, Table 3", "nvidia_gb200_nvl72", "nvidia_qm9700",
          MANAGER, ((16, 64, 48, 18), (32, 128, 96, 36), (64, 256, 192, 72), (128, 512, 384, 144))),
    Table("DGX SuperPOD GB200, a unit alone, in two tiers, as restated by a comparison of the four",
          "nvidia_gb200_nvl72", "nvidia_qm9700", "planes: 1", ((8, 32, 9, 0),)),
    Table("DGX SuperPOD GB300 RA as restated: 18 spines for 32 leaves; 128 and 72 for 16 units",
          "nvidia_gb300_nvl72", "nvidia_q3400", "planes: 1",
          ((32, 32, 18, 0), (128, 128, 72, 0))),
)  # fmt: skip


@cache
def case_of(item: str, switch: str, options: str) -> Case:
    text = PROBLEM.format(item=item, switch=switch, options=options)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "problem.yaml"
        path.write_text(text, "utf-8")
        return resolve(load(path))


def built(table: Table, systems: int) -> tuple[int, int, int]:
    """Return leaves, spines and cores over all planes."""
    (fabric,) = case_of(table.item, table.switch, table.options).companions.fabrics
    size = smallest(fabric.sizes, systems)
    assert size is not None
    tree = size.tree
    return fabric.planes * tree.leaves, fabric.planes * tree.spines, fabric.planes * tree.cores


@pytest.mark.parametrize(
    ("table", "row"),
    [
        pytest.param(table, row, id=f"{table.item}-{table.switch}-{row[0]}")
        for table in TABLES
        for row in table.rows
    ],
)
def test_every_row_that_is_claimed(table: Table, row: tuple[int, int, int, int]) -> None:
    systems, *switches = row
    assert built(table, systems) == tuple(switches), table.source
