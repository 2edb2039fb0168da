"""Broken catalogs."""

from __future__ import annotations

from tests.bad_input.row import Row, catalog
from tests.world.files import BOOK, CATALOG, PROBLEM, changed

GPUS = "gpus: {value: 8, source: sheet, confidence: high}"
READ = "read: {value: 90 GB/s, source: sheet, confidence: high}"
DRAW = "it_power: {value: 10 kW, source: sheet, confidence: high}"
BUNDLE = """\
  - id: bundle
    vendor: Boxes
    model: Bundle
    category: gpu_system
    provides: {gpus: {value: 8, source: sheet, confidence: high}}
    consumes: {it_power: {value: 10 kW, source: sheet, confidence: high}}
    components: [{id: tray, quantity: 2}]
"""


def circle(names: tuple[str, ...]) -> dict[str, str]:
    """Return catalogs of which each includes the next, and the last the first."""
    files = {}
    for name, following in zip(names, (*names[1:], names[0]), strict=True):
        head = f"catalog: Part {name}\ninclude:\n  - {following}\n"
        files[name] = (
            CATALOG.replace("catalog: Own hardware\n", head) if name == "own.yaml" else head
        )
    return files


def circle_of(*names: str) -> Row:
    """Return a row whose catalogs include one another in a circle."""
    return Row(
        f"circle_of_{len(names)}",
        wrong="circular include: " + " -> ".join((*names, names[0])).replace(".", r"\."),
        right="remove one of these includes",
        at=(names[-1], f"  - {names[0]}"),
        files=circle(names),
    )


def second(name: str, catalog_text: str, *, wrong: str, right: str, at: str) -> Row:
    """Return a row with a second catalog beside the first."""
    return Row(
        name,
        wrong,
        right,
        at=("two.yaml", at),
        files={
            "problem.yaml": changed(PROBLEM, "  - own.yaml", "  - own.yaml\n  - two.yaml"),
            "two.yaml": catalog_text,
        },
    )


ROWS: tuple[Row, ...] = (
    catalog(
        "figure_of_wrong_unit",
        READ,
        "read: {value: 90 GB, source: sheet, confidence: high}",
        wrong="'GB' in '90 GB' is not a unit of bandwidth",
        right="'273 GB/s'",
    ),
    catalog(
        "figure_in_bits",
        READ,
        "read: {value: 720 Gb/s, source: sheet, confidence: high}",
        wrong="'Gb/s' in '720 Gb/s' is in bits",
        right="write '90 GB/s'",
    ),
    catalog(
        "bare_figure",
        GPUS,
        "gpus: 8",
        wrong=r"items\.0\.provides\.gpus: expected a mapping of keys to values, found '8'",
        right="its keys: confidence, note, source, value",
    ),
    catalog(
        "missing_source",
        DRAW,
        "it_power: {value: 10 kW, confidence: high}",
        wrong="'source' is missing",
        right="one of the names under sources",
    ),
    catalog(
        "missing_confidence",
        DRAW,
        "it_power: {value: 10 kW, source: sheet}",
        wrong="'confidence' is missing",
        right="one of: high, medium, low",
    ),
    catalog(
        "unknown_confidence",
        DRAW,
        "it_power: {value: 10 kW, source: sheet, confidence: sure}",
        wrong="'sure' is not known here",
        right="expected one of: high, medium, low",
    ),
    catalog(
        "unknown_source",
        DRAW,
        "it_power: {value: 10 kW, source: sheets, confidence: high}",
        wrong=r"consumes\.it_power: the source 'sheets' is not listed under sources",
        right="did you mean 'sheet'",
    ),
    catalog(
        "misspelt_figure",
        DRAW,
        "power: {value: 10 kW, source: sheet, confidence: high}",
        wrong="unknown key 'power'",
        right="did you mean 'it_power'",
    ),
    catalog(
        "fraction_of_a_gpu",
        GPUS,
        "gpus: {value: 7.5, source: sheet, confidence: high}",
        wrong="found '7.5'",
        right="expected a whole number",
    ),
    catalog(
        "negative_draw",
        DRAW,
        "it_power: {value: -1 kW, source: sheet, confidence: high}",
        wrong="-1 kW is out of range",
        right="at least 0 kW",
    ),
    catalog(
        "id_twice",
        "  - id: quick_store",
        "  - id: gpu_box #2",
        wrong=r"the id 'gpu_box' is used twice \(first in own\.yaml:8\)",
        right="rename one",
        at="  - id: gpu_box #2",
    ),
    second(
        "id_in_two_files",
        "catalog: Two\nitems:\n  - {id: gpu_box, extends: quick_store}\n",
        wrong=r"the id 'gpu_box' is used twice \(first in own\.yaml:8\)",
        right="rename one",
        at="  - {id: gpu_box, extends: quick_store}",
    ),
    second(
        "family_in_two_files",
        "catalog: Two\nfamilies:\n  - {id: quick_fs, vendor: Quick, name: Again}\n",
        wrong=r"the family 'quick_fs' is defined twice \(first in own\.yaml:5\)",
        right="rename one",
        at="  - {id: quick_fs, vendor: Quick, name: Again}",
    ),
    catalog(
        "bad_id",
        "  - id: gpu_box",
        "  - id: GPU Box",
        wrong="'GPU Box' is not well formed",
        right="an id is lower-case letters, digits and _",
    ),
    catalog(
        "unknown_category",
        "category: gpu_system",
        "category: toaster",
        wrong="'toaster' is not known here",
        right="expected one of: gpu_system, storage, component, switch, .*software, service",
    ),
    catalog(
        "family_unknown",
        "family: quick_fs",
        "family: quik_fs",
        wrong="no family 'quik_fs'",
        right="did you mean 'quick_fs'",
    ),
    catalog(
        "storage_without_family",
        "    family: quick_fs\n",
        "",
        wrong="a storage item needs its family",
        right="add family: quick_fs or slow_fs",
        at="  - id: quick_store",
    ),
    catalog(
        "gpu_system_without_gpus",
        f"    provides:\n      {GPUS}\n",
        "",
        wrong=r"a GPU system needs provides\.gpus",
        right="add gpus: {value: 8",
        at="  - id: gpu_box",
    ),
    catalog(
        "unknown_extends",
        "  - id: tray\n",
        "  - id: more\n    extends: gpu_bx\n  - id: tray\n",
        wrong="no item 'gpu_bx'",
        right="did you mean 'gpu_box'",
        at="    extends: gpu_bx",
    ),
    catalog(
        "extends_itself",
        "  - id: tray\n",
        "  - id: tray\n    extends: tray\n",
        wrong="circular extends: tray -> tray",
        right="remove one of these extends",
        at="    extends: tray",
    ),
    catalog(
        "circular_extends",
        "  - id: tray\n",
        "  - {id: left, extends: right}\n  - {id: right, extends: left}\n  - id: tray\n",
        wrong="circular extends: left -> right -> left",
        right="remove one of these extends",
        at="  - {id: left, extends: right}",
    ),
    catalog(
        "missing_component",
        "  - id: tray\n",
        BUNDLE.replace(
            "    consumes: {it_power: {value: 10 kW, source: sheet, confidence: high}}\n", ""
        ).replace("id: tray", "id: trai")
        + "  - id: tray\n",
        wrong="no component 'trai'",
        right="did you mean 'tray'",
        at="    components:",
    ),
    catalog(
        "component_is_storage",
        "  - id: tray\n",
        BUNDLE.replace(
            "    consumes: {it_power: {value: 10 kW, source: sheet, confidence: high}}\n", ""
        ).replace("id: tray", "id: quick_store")
        + "  - id: tray\n",
        wrong="'quick_store' is not a component",
        right="give it category: component",
        at="    components:",
    ),
    catalog(
        "bundle_with_own_power",
        "  - id: tray\n",
        BUNDLE + "  - id: tray\n",
        wrong="a bundle consumes is the sum of its components'",
        right=r"leave out consumes\.it_power, rack_units, weight, typical_power, liquid_share and",
        at="    consumes: {it",
    ),
    catalog(
        "bundle_with_its_own_share_of_heat",
        "  - id: tray\n",
        BUNDLE.replace("it_power: {value: 10 kW", "liquid_share: {value: 90 %") + "  - id: tray\n",
        wrong="a bundle consumes is the sum of its components'",
        right=r"leave out consumes\.it_power, rack_units, weight, typical_power, liquid_share and",
        at="    consumes: {liquid",
    ),
    catalog(
        "min_over_max_units",
        "    family: quick_fs\n",
        "    family: quick_fs\n    min_units: {value: 5, source: sheet, confidence: low}\n"
        "    max_units: {value: 4, source: sheet, confidence: low}\n",
        wrong="min_units 5 is more than max_units 4",
        right="is more than",
        at="    min_units:",
    ),
    catalog(
        "sizes_fall",
        "    family: quick_fs\n",
        "    family: quick_fs\n    sizes:\n"
        "      source: sheet\n      confidence: low\n      rows:\n"
        "        - {units: 4, read: 9 GB/s, write: 9 GB/s}\n"
        "        - {units: 2, read: 4 GB/s, write: 4 GB/s}\n",
        wrong="sizes: the rows must have rising units",
        right="from the fewest units to the most",
        at="      rows:",
    ),
    Row(
        "catalog_is_a_price_book",
        wrong="expected a catalog, found a price book",
        right="a catalog begins with 'catalog: '",
        at=("own.yaml", "price_book: Own prices"),
        files={"own.yaml": BOOK},
    ),
    Row(
        "empty_catalog",
        wrong="the catalog is empty",
        right="begin with 'catalog: '",
        at=("own.yaml", ""),
        files={"own.yaml": ""},
    ),
    Row(
        "binary_catalog",
        wrong="not a text file",
        right="a catalog is YAML in UTF-8",
        at="own.yaml",
        files={"own.yaml": b"\x89PNG\r\n\x1a\n\0\0"},
    ),
    circle_of("own.yaml"),
    circle_of("own.yaml", "b.yaml"),
    circle_of("own.yaml", "b.yaml", "c.yaml"),
    catalog(
        "missing_include",
        "sources:\n",
        "include: [none.yaml]\nsources:\n",
        wrong=r"no such catalog: 'none\.yaml'",
        right="the path counts from this folder",
    ),
    catalog(
        "include_is_not_a_list",
        "sources:\n",
        "include: two.yaml\nsources:\n",
        wrong="include: .*found 'two.yaml'",
        right="expected a list",
    ),
)
