"""Broken command lines on valid files."""

from __future__ import annotations

from tests.bad_input.row import Row

HELP = "planner --help"


def said(
    name: str, command: str, *, wrong: str, right: str, at: tuple[str, str] | str | None = None
) -> Row:
    """Return a row that breaks the command line only."""
    return Row(name, wrong, right, at=at, command=command)


SOLVE = "solve problem.yaml"

ROWS: tuple[Row, ...] = (
    said(
        "unknown_command",
        "slove problem.yaml",
        wrong="No such command 'slove'",
        right="Did you mean 'solve'",
    ),
    said("unknown_option", f"{SOLVE} --gaps 1", wrong="No such option: --gaps", right="--gap"),
    said("missing_argument", "solve", wrong="Missing argument 'problem'", right=HELP),
    said(
        "extra_argument", f"{SOLVE} more.yaml", wrong="unexpected extra argument", right="more.yaml"
    ),
    said(
        "option_without_value",
        f"{SOLVE} --scenario",
        wrong="--scenario.* requires an argument",
        right=HELP,
    ),
    said(
        "unknown_solver",
        f"{SOLVE} --solver glpk",
        wrong="'glpk' is not one of",
        right="'highs', 'cbc'",
    ),
    said(
        "unknown_schema",
        "check --schema problems",
        wrong="--schema 'problems' is not known",
        right="one of problem, catalog",
    ),
    said(
        "unknown_example", "init 10MV", wrong="no example named '10MV'", right="did you mean '10MW'"
    ),
    said(
        "unknown_quote_command",
        "quote imprt",
        wrong="No such command 'imprt'",
        right="Did you mean 'import'",
    ),
    said(
        "unknown_item_shown",
        "catalog nvidia_dgx_h10",
        wrong="no item 'nvidia_dgx_h10'",
        right="did you mean 'nvidia_dgx_h100'",
    ),
    said(
        "catalog_not_there",
        "catalog none.yaml",
        wrong="no such catalog",
        right="none.yaml",
        at="none.yaml",
    ),
    said(
        "bad_gap",
        f"{SOLVE} --gap small",
        wrong="--gap: cannot read 'small' as a share",
        right="'10 %'",
    ),
    said("gap_of_zero", f"{SOLVE} --gap 0", wrong="--gap 0", right="must lie between 0 and 1"),
    said(
        "negative_gap",
        f"{SOLVE} --gap=-1e-3",
        wrong="--gap -1e-3",
        right="must lie between 0 and 1",
    ),
    said("gap_over_one", f"{SOLVE} --gap 5", wrong="--gap 5", right="must lie between 0 and 1"),
    said("gap_is_nan", f"{SOLVE} --gap nan", wrong="--gap: cannot read 'nan'", right="'10 %'"),
    said(
        "time_limit_without_unit",
        f"{SOLVE} --time-limit 30",
        wrong="--time-limit: '30' has no unit",
        right="'5 s'",
    ),
    said(
        "time_limit_of_wrong_unit",
        f"{SOLVE} --time-limit '30 MW'",
        wrong="'MW' in '30 MW' is not a unit of time",
        right="'5 s'",
    ),
    said(
        "negative_time_limit",
        f"{SOLVE} --time-limit=-5s",
        wrong="--time-limit -5s",
        right="must be more than 0",
    ),
    said(
        "unknown_scenario",
        f"{SOLVE} --scenario half_pwr",
        wrong=r"no scenario 'half_pwr' \(known: half_power\)",
        right="did you mean 'half_power'",
        at="problem.yaml",
    ),
    said(
        "set_without_equals",
        f"{SOLVE} --set site.pue",
        wrong="not PATH=VALUE",
        right="write for example --set site.facility_power='12 MW'",
        at="--set site.pue",
    ),
    said(
        "set_nothing",
        f"{SOLVE} --set =5",
        wrong="not PATH=VALUE",
        right="write for example --set",
        at="--set =5",
    ),
    said(
        "set_double_dot",
        f"{SOLVE} --set site..pue=1.2",
        wrong="'site..pue' is not a path",
        right="write for example --set",
        at="--set site..pue=1.2",
    ),
    said(
        "set_a_price",
        f"{SOLVE} --set prices.gpu.list=300000",
        wrong=r"'prices\.gpu\.list' stands in price books, not in the problem",
        right="try values: planner sweep --vary",
        at="--set prices.gpu.list=300000",
    ),
    said(
        "set_a_figure",
        f"{SOLVE} --set catalog.box.provides.read=80",
        wrong=r"'catalog\.box\.provides\.read' stands in catalogs, not in the problem",
        right="change a copy and name that",
        at="--set catalog.box.provides.read=80",
    ),
    said(
        "set_unknown_key",
        f"{SOLVE} --set site.power=5MW",
        wrong=r"site\.power: unknown key 'power'",
        right="did you mean 'it_power'",
        at="--set site.power=5MW",
    ),
    said(
        "set_deep_unknown",
        f"{SOLVE} --set jobs.0.checkpoint.stal=5s",
        wrong="unknown key 'stal'",
        right="did you mean 'stall'",
        at="--set jobs.0.checkpoint.stal=5s",
    ),
    said(
        "set_missing_entry",
        f"{SOLVE} --set jobs.3.name=x",
        wrong=r"'jobs\.3\.name': the list has no entry '3'",
        right=r"its entries: 0 \(seventy\)",
        at="--set jobs.3.name=x",
    ),
    said(
        "set_bad_unit",
        f"{SOLVE} --set site.facility_power=12",
        wrong="12 has no unit",
        right="'10 MW'",
        at="--set site.facility_power=12",
    ),
    said(
        "set_wrong_unit",
        f"{SOLVE} --set 'site.facility_power=12 GB'",
        wrong="'GB' in '12 GB' is not a unit of power",
        right="'10 MW'",
        at="--set site.facility_power=12 GB",
    ),
    said(
        "set_broken_yaml",
        f"{SOLVE} --set 'site.rack=[1'",
        wrong="a bracket that is opened here is not closed",
        right="add ']'",
        at="--set site.rack=[1",
    ),
    said(
        "set_two_documents",
        f"{SOLVE} --set 'name=a\n---\nb'",
        wrong="more than one document",
        right="keep one",
        at="--set name=a --- b",
    ),
    said(
        "set_over_a_value",
        f"{SOLVE} --set site.it_power.deep=1",
        wrong=r"site\.it_power: expected power, found a mapping",
        right="write for example '10 MW'",
        at="--set site.it_power.deep=1",
    ),
    said(
        "set_a_section_to_a_word",
        f"{SOLVE} --set site=big",
        wrong="site: expected a mapping of keys to values, found 'big'",
        right="its keys: cooling, facility_power, feeds",
        at="--set site=big",
    ),
    said(
        "path_with_a_null_byte",
        f"{SOLVE} --set catalogs='[\"a\\0.yaml\"]'",
        wrong="no such catalog: 'a .yaml'",
        right="the path counts from",
        at='--set catalogs=["a\\0.yaml"]',
    ),
    said(
        "set_too_deep",
        f"{SOLVE} --set {'a.' * 5000}a=1",
        wrong="is not a path",
        right="write for example --set",
        at="--set " + ("a." * 5000)[:77] + "...",
    ),
    said(
        "terminal_codes",
        f"{SOLVE} --set 'site.\x1b[31mred=1'",
        wrong=r"unknown key '. ?\[31mred'",
        right="expected one of: cooling, facility_power",
        at="--set site. [31mred=1",
    ),
    said(
        "shown_nothing",
        "catalog ''",
        wrong="no item '' in the catalogs",
        right="planner catalog lists all",
    ),
    said(
        "problem_as_catalog",
        "catalog problem.yaml",
        wrong="expected a catalog, found a problem file",
        right="a catalog begins with 'catalog: '",
        at=("problem.yaml", "jobs:"),
    ),
    said(
        "no_gpus_to_size",
        "size problem.yaml --gpus 0",
        wrong="'--gpus'",
        right="greater than or equal to 1",
    ),
    said(
        "too_many_gpus",
        "size problem.yaml --gpus 99999999999",
        wrong="'--gpus'",
        right="less than or equal to 10000000",
    ),
    said(
        "gpus_not_a_number",
        "size problem.yaml --gpus many",
        wrong="'--gpus'",
        right="valid integer",
    ),
    said(
        "size_of_broken_problem",
        "size problem.yaml --set site.pue=x",
        wrong="cannot read 'x' as a number",
        right=r"write for example '1\.25'",
        at="--set site.pue=x",
    ),
    said(
        "set_beyond_any_cluster",
        f"{SOLVE} --set 'jobs.0.ingest_per_gpu=1e15 GB/s'",
        wrong=r"'1e15 GB/s' is more than any cluster can have, 1e\+09 GB/s",
        right="'273 GB/s'",
        at="--set jobs.0.ingest_per_gpu=1e15 GB/s",
    ),
    Row(
        "init_into_a_file",
        command="init -o notes",
        wrong="cannot write: file exists",
        right="a folder is needed where a file is",
        at="notes/10MW.yaml",
        files={"notes": "not a folder"},
    ),
    said(
        "model_over_a_folder",
        f"{SOLVE} --save-model .",
        wrong="there is a folder of this name",
        right="choose another name",
        at=".",
    ),
    said(
        "null_problem_name",
        "solve ''",
        wrong="is a folder, not a file",
        right="name a file in it",
        at=".",
    ),
)
