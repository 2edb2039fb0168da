"""Problem files whose parts do not fit together: keys, names, rules, references."""

from __future__ import annotations

from tests.bad_input.world import CATALOG, PROBLEM, Row, changed, problem

OBJECTIVE = "objective: {maximize: goodput}"
INTERVAL = "interval: {policy: optimal, min: 1 min, max: 4 h}"
JOB = PROBLEM[PROBLEM.index("  - name: seventy") : PROBLEM.index("objective:")]

ROWS: tuple[Row, ...] = (
    problem(
        "misspelt_top_key", "budget:", "budgets:",
        wrong="unknown key 'budgets'", right="did you mean 'budget'",
    ),
    problem(
        "misspelt_deep_key", "stall: 5 s", "stal: 5 s",
        wrong=r"jobs\.0\.checkpoint\.stal: unknown key 'stal'", right="did you mean 'stall'",
    ),
    problem(
        "misspelt_key_of_a_choice", INTERVAL, "interval: {policy: optimal, minimum: 1 min}",
        wrong="unknown key 'minimum'", right="did you mean 'min'",
    ),
    problem(
        "unknown_key", "  capex: 60 MUSD", "  colour: blue",
        wrong=r"unknown key 'colour'", right="expected one of: capex, opex_per_year, tco",
    ),
    problem(
        "key_of_the_wrong_place", "  racks: 40", "  stall: 40 s",
        wrong="unknown key 'stall'", right="expected one of: .*facility_power",
    ),
    problem(
        "two_misspelt_keys", "  pue: 1.25\n  racks: 40", "  peu: 1.25\n  rack_count: 40",
        wrong="unknown key 'peu'", right="did you mean 'pue'", at="  peu", lines=3,
    ),
    problem(
        "missing_section", "storage:\n  delivered_fraction: {read: 0.8, write: 0.8}\n  max_families: 1\n",
        "", wrong="'storage' is missing", right="add storage: {delivered_fraction", at="name: Small hall",
    ),
    problem(
        "missing_key", "  pue: 1.25\n", "",
        wrong="'pue' is missing", right=r"add pue: 1\.25", at="site:",
    ),
    problem(
        "missing_job_name", "  - name: seventy\n    parameters", "  - parameters",
        wrong="'name' is missing", right="add name: ", at="  - parameters",
    ),
    problem(
        "unknown_objective", OBJECTIVE, "objective: {maximize: profit}",
        wrong="'profit' is not known here", right="expected one of: goodput, useful_gpus, gpus",
    ),
    problem(
        "misspelt_objective", OBJECTIVE, "objective: {maximize: good_put}",
        wrong="'good_put' is not known here", right="did you mean 'goodput'",
    ),
    problem(
        "both_objectives", OBJECTIVE, "objective: {maximize: goodput, minimize: cost}",
        wrong="exactly one of", right=r"maximize \(goodput.* or minimize \(cost, tco, power\)",
    ),
    problem(
        "no_objective", OBJECTIVE, "objective: {}",
        wrong="exactly one of", right=r"maximize \(goodput.* or minimize \(cost, tco, power\)",
    ),
    problem(
        "two_jobs", "objective:", JOB.replace("seventy", "eighty") + "objective:",
        wrong="several jobs on one cluster are not supported yet", right="keep one job", at="jobs:",
    ),
    problem("no_jobs", JOB, "  []\n", wrong="the list is empty", right="give one entry", at="jobs:"),
    problem(
        "missing_parallelism", "    parallelism: {tensor: 8, pipeline: 4}\n",
        "    restore: {fan_out: every_replica}\n",
        wrong="every_replica", right=r"parallelism: \{tensor: 8, pipeline: 64\}",
        at="  - name: seventy",
    ),
    problem(
        "nothing_to_size", "    parameters: 70 B\n    bytes_per_parameter: 14\n", "",
        wrong="give parameters", right=r"or checkpoint\.size", at="  - name: seventy",
    ),
    problem(
        "missing_mfu", "    training:\n      mfu: 40 %\n", "",
        wrong="need the model FLOP/s utilisation", right="add training.mfu: 40 %",
        at="  - name: seventy",
    ),
    problem(
        "missing_tokens", OBJECTIVE, OBJECTIVE + "\ntargets: {max_days_to_train: 90 day}",
        wrong="days to train needs the tokens", right="add training.tokens: 15 T",
        at="    training:",
    ),
    Row(
        "missing_term", wrong="TCO and opex need a term", right="add term: {years: 4",
        at=("problem.yaml", "name: Small hall"),
        files={
            "problem.yaml": changed(
                changed(PROBLEM, "term: {years: 4, electricity: 0.08 USD/kWh}\n", ""),
                OBJECTIVE, "objective: {minimize: tco}\ntargets: {min_gpus: 64}",
            )
        },
    ),
    Row(
        "unbounded", wrong="nothing limits the purchase",
        right=r"site\.facility_power, site\.racks or a budget",
        at=("problem.yaml", "maximize: goodput"),
        files={
            "problem.yaml": changed(
                changed(
                    changed(PROBLEM, "  facility_power: 2 MW\n", ""),
                    "  racks: 40\n  rack: {height: 48 RU, power: 45 kW}\n", "",
                ),
                "budget:\n  capex: 60 MUSD\n", "",
            ).replace("items:\n  gpu_box: {max: 64}\n", "")
        },
    ),
    problem(
        "racks_without_size", "  rack: {height: 48 RU, power: 45 kW}\n", "",
        wrong="racks needs rack", right=r"rack: \{height: 48 RU, power: 45 kW\}", at="site:",
    ),
    problem(
        "fixed_and_min", "gpu_box: {max: 64}", "gpu_box: {fixed: 8, min: 4}",
        wrong="fixed does not go with min or max", right="leave out the one or the other",
    ),
    problem(
        "min_over_max", "gpu_box: {max: 64}", "gpu_box: {min: 65, max: 64}",
        wrong="min 65 is more than max 64", right="more than max",
    ),
    problem(
        "exclude_and_required", "gpu_box: {max: 64}", "gpu_box: {exclude: true, required: true}",
        wrong="exclude does not go with", right="leave out the one or the other",
    ),
    problem(
        "unknown_item", "gpu_box: {max: 64}", "gpu_bocks: {max: 64}",
        wrong="no item 'gpu_bocks'", right="did you mean 'gpu_box'",
    ),
    problem(
        "unlike_any_item", "gpu_box: {max: 64}", "zzz: {max: 64}",
        wrong="no item 'zzz'", right="known: .*gpu_box",
    ),
    problem(
        "component_bought", "gpu_box: {max: 64}", "tray: {min: 2}",
        wrong="'tray' is a component and cannot be bought alone", right="name the item it is part of",
    ),
    problem(
        "two_families_forced", "gpu_box: {max: 64}", "quick_store: {min: 1}\n  slow_store: {min: 1}",
        wrong=r"items demands 2 storage families \(quick_fs, slow_fs\)",
        right=r"raise storage\.max_families from 1 to 2", at="max_families: 1",
    ),
    problem(
        "unknown_vendor", "storage:\n", "consider: {vendors: [Boxs, Quick]}\nstorage:\n",
        wrong="no vendor 'Boxs'", right="did you mean 'Boxes'",
    ),
    problem(
        "unknown_gpu_system", "storage:\n", "consider: {gpu_systems: [quick_store]}\nstorage:\n",
        wrong="no GPU system 'quick_store'", right="known: gpu_box",
    ),
    problem(
        "unknown_family", "storage:\n", "consider: {storage_families: [quik_fs]}\nstorage:\n",
        wrong="no storage family 'quik_fs'", right="did you mean 'quick_fs'",
    ),
    problem(
        "unknown_rule", "max_families: 1", "rule: beter",
        wrong="'beter' is not known here", right="did you mean 'better'",
    ),
    problem(
        "unknown_policy", INTERVAL, "interval: {policy: optimum}",
        wrong="'optimum' is not known here", right="did you mean 'optimal'",
    ),
    problem(
        "policy_missing", INTERVAL, "interval: {every: 5 min}",
        wrong="'policy' is missing", right="write fixed, lost_work or optimal",
    ),
    problem(
        "every_missing", INTERVAL, "interval: {policy: fixed}",
        wrong="'every' is missing", right="add every: 10 min",
    ),
    problem(
        "unknown_failures", "failures: llama3", "failures: llama4",
        wrong="'llama4' is not known here", right="did you mean 'llama3'",
    ),
    problem(
        "unknown_bytes_preset", "bytes_per_parameter: 14", "bytes_per_parameter: mixed_adm",
        wrong="'mixed_adm' is not known here", right="did you mean 'mixed_adam'",
    ),
    problem(
        "scenarios_not_mapping", "scenarios:\n  half_power: {site: {facility_power: 1 MW}}",
        "scenarios: [half_power]",
        wrong="scenarios: expected names, each with a mapping of overrides",
        right="write for example half_power: {site: ",
    ),
    problem(
        "scenario_not_mapping", "half_power: {site: {facility_power: 1 MW}}", "half_power: 1 MW",
        wrong=r"scenarios\.half_power: expected names, each with a mapping of overrides",
        right="write for example half_power: {site: ",
    ),
    problem(
        "unknown_catalog", "  - own.yaml", "  - storage_dnd",
        wrong="no catalog named 'storage_dnd'", right="did you mean 'storage_ddn'",
    ),
    problem(
        "no_catalogs", "catalogs:\n  - own.yaml", "catalogs: []",
        wrong="catalogs: the list is empty", right="leave it out to use all shipped ones",
    ),
    problem(
        "unknown_price_book", "prices:\n  - book.yaml", "prices: estimates_2062",
        wrong="no price book named 'estimates_2062'", right="did you mean 'estimates_2026'",
    ),
    problem(
        "missing_catalog_file", "  - own.yaml", "  - ./none.yaml",
        wrong=r"no such catalog: 'none\.yaml'", right="the path counts from this folder",
    ),
    problem(
        "catalog_outside", "  - own.yaml", "  - ../../../../none/own.yaml",
        wrong=r"no such catalog: '\.\./\.\./\.\./\.\./none/own\.yaml'",
        right="the path counts from this folder",
    ),
    problem(
        "catalog_of_wrong_suffix", "  - own.yaml", "  - ./own.json",
        wrong="a catalog is a .yaml file, found './own.json'", right=r"\.yaml",
    ),
    problem(
        "misspelt_catalog_file", "  - own.yaml", "  - owns.yaml",
        wrong=r"no such catalog: 'owns\.yaml'", right="did you mean 'own'",
    ),
    Row(
        "catalog_is_a_folder", wrong="expected a catalog, found a folder", right="expected a catalog",
        at="folder.yaml",
        files={
            "problem.yaml": changed(PROBLEM, "  - own.yaml", "  - folder.yaml"),
            "folder.yaml/own.yaml": CATALOG,
        },
    ),
    Row(
        "demanded_without_price",
        wrong="'quick_store' is demanded but cannot be planned: .*price",
        right="price book of your own",
        at=("problem.yaml", "quick_store: {min: 1}"),
        files={
            "problem.yaml": changed(PROBLEM, "gpu_box: {max: 64}", "quick_store: {min: 1}"),
            "book.yaml": (
                "price_book: Own prices\nsources: {quote: {title: Quote}}\nprices:\n  gpu_box: "
                '{list: 3 USD, date: "2026-01", source: quote, confidence: high}\n'
            ),
        },
    ),
)  # fmt: skip
