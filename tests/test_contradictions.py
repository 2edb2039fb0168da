"""Demands that contradict one another: refused before solving, with what would be right."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner import cli
from planner.api import solve_inputs
from planner.inputs import Inputs
from planner.levers import applied, levers
from planner.loader import load_with_findings
from planner.loader.contradictions import contradictions
from tests.infeasible.plant import drawn, has_plan
from tests.levers.test_looser import SEEDS
from tests.world.files import CATALOG, FILES, PROBLEM, changed, line_of
from tests.world.random_cases import inputs_of
from tests.world.requests import two_systems

PLACE = "    failures: llama3\n"
"""Where the job takes further demands."""
RUN = "    parallelism: {tensor: 8, pipeline: 4}\n"
INTERVAL = "      interval: {policy: optimal, min: 1 min, max: 4 h}\n"
BATCHES = "      mfu: 40 %\n      scale: {micro_batches: 16}\n"
FASTEST = "bf16_dense: {value: 989 TFLOP/s, source: sheet, confidence: high}"


def job(*lines: str) -> dict[str, str]:
    """Return the edit that gives the job further lines."""
    return {PLACE: PLACE + "".join(f"    {line}\n" for line in lines)}


def micro_batches(count: int) -> dict[str, str]:
    """Return the change that splits a step into so many micro-batches."""
    rate = "      mfu: 40 %\n"
    return {rate: f"{rate}      scale: {{micro_batches: {count}}}\n"}


def also(**sections: str) -> dict[str, str]:
    """Return the edit that gives the problem further sections, on one line each."""
    lines = "".join(f"{name}: {text}\n" for name, text in sections.items())
    return {"objective: {maximize: goodput}\n": f"objective: {{maximize: goodput}}\n{lines}"}


@dataclass(frozen=True)
class Case:
    """Demands that contradict one another, what is said of them, and the least that is right.

    ``near`` and ``wrong`` are edits of the problem file by old text; ``memory`` is that of the
    GPUs, as the catalog has it.
    """

    name: str
    wrong: Mapping[str, str]
    near: Mapping[str, str]
    path: str
    at: str
    says: str
    fix: str
    memory: str | None = None

    def files(self, edits: Mapping[str, str]) -> dict[str, str]:
        """Return the files with edits made."""
        problem, catalog = PROBLEM, CATALOG
        for old, new in edits.items():
            problem = changed(problem, old, new)
        if self.memory is not None:
            memory = f"memory: {{value: {self.memory}, source: sheet, confidence: high}}"
            catalog = changed(catalog, FASTEST, f"{FASTEST}\n      {memory}")
        return {**FILES, "problem.yaml": problem, "own.yaml": catalog}


CASES = (
    Case(
        "replica",
        wrong=job("gpus: {max: 31}"),
        near=job("gpus: {max: 32}"),
        path="jobs.0.gpus.max",
        at="gpus: {max: 31}",
        says="one replica takes 32 GPUs (tensor 8 x pipeline 4), and at most 31 may be used",
        fix="raise it to 32 or more",
    ),
    Case(
        "min_gpus",
        wrong=job("gpus: {max: 64}") | also(targets="{min_gpus: 65}"),
        near=job("gpus: {max: 64}") | also(targets="{min_gpus: 64}"),
        path="jobs.0.gpus.max",
        at="gpus: {max: 64}",
        says="targets.min_gpus asks for 65 GPUs in use, and at most 64 may be used",
        fix="raise it to 65, or ask for fewer",
    ),
    Case(
        "min_useful_gpus",
        wrong=job("gpus: {max: 64}") | also(targets="{min_useful_gpus: 64}"),
        near=job("gpus: {max: 64}") | also(targets="{min_useful_gpus: 63.9}"),
        path="jobs.0.gpus.max",
        at="gpus: {max: 64}",
        says="targets.min_useful_gpus asks for the work of 64 GPUs that never stop, and at most 64",
        fix="raise it, or ask for less",
    ),
    Case(
        "micro_batches",
        wrong=job("gpus: {min: 65}") | micro_batches(2),
        near=job("gpus: {min: 65}") | micro_batches(3),
        path="jobs.0.training.scale.micro_batches",
        at="scale: {micro_batches: 2}",
        says="2 micro-batches of a step fill 64 GPUs, 32 each, and no fewer than 65 are asked for",
        fix="raise it to 3, or ask for fewer",
    ),
    Case(
        "micro_batches_of_useful_gpus",
        wrong=also(targets="{min_useful_gpus: 64}") | micro_batches(2),
        near=also(targets="{min_useful_gpus: 63.9}") | micro_batches(2),
        path="jobs.0.training.scale.micro_batches",
        at="scale: {micro_batches: 2}",
        says="2 micro-batches of a step fill 64 GPUs, 32 each, and no fewer than 65 are asked for",
        fix="raise it to 3, or ask for fewer",
    ),
    Case(
        "micro_batches_of_any_spread",
        wrong=micro_batches(2)
        | {
            RUN: "    parallelism: [{tensor: 8, pipeline: 4, min_replicas: 3}, "
            "{tensor: 8, pipeline: 2, min_replicas: 4}]\n"
        },
        near=micro_batches(3)
        | {
            RUN: "    parallelism: [{tensor: 8, pipeline: 4, min_replicas: 3}, "
            "{tensor: 8, pipeline: 2, min_replicas: 4}]\n"
        },
        path="jobs.0.training.scale.micro_batches",
        at="scale: {micro_batches: 2}",
        says="2 micro-batches of a step fill 64 GPUs, 32 each, and no fewer than 96 are asked for",
        fix="raise it to 3, or ask for fewer",
    ),
    Case(
        "goodput_fixed",
        wrong=also(targets="{min_goodput: 95.1 %}")
        | {INTERVAL: "      interval: {policy: fixed, every: 100 s}\n"},
        near=also(targets="{min_goodput: 95 %}")
        | {INTERVAL: "      interval: {policy: fixed, every: 100 s}\n"},
        path="targets.min_goodput",
        at="targets: {min_goodput: 95.1 %}",
        says="goodput of 95.1 % cannot be had: a stall of 5 s in every interval of at most 1.66667 "
        "min leaves 95 %",
        fix="lower it, shorten the stall, or lengthen the interval",
    ),
    Case(
        "goodput_longest",
        wrong=also(targets="{min_goodput: 99.99 %}"),
        near=also(targets="{min_goodput: 99.96 %}"),
        path="targets.min_goodput",
        at="targets: {min_goodput: 99.99 %}",
        says="goodput of 99.99 % cannot be had: a stall of 5 s in every interval of at most "
        "240 min leaves 99.97 %",
        fix="lower it, shorten the stall, or lengthen the interval",
    ),
    Case(
        "days",
        # 6 x 70e9 x 1.4e12 FLOP at 512 x 989e12 x 0.4 FLOP/s: 33.600 days.
        wrong=job("gpus: {max: 512}")
        | {"      mfu: 40 %\n": "      mfu: 40 %\n      tokens: 1.4 T\n"}
        | also(targets="{max_days_to_train: 33.5 days}"),
        near=job("gpus: {max: 512}")
        | {"      mfu: 40 %\n": "      mfu: 40 %\n      tokens: 1.4 T\n"}
        | also(targets="{max_days_to_train: 33.61 days}"),
        path="targets.max_days_to_train",
        at="targets: {max_days_to_train: 33.5 days}",
        says="33.5 days cannot be met: 512 GPUs of the fastest type take at least 33.6 days "
        "without any interruption",
        fix="allow more days, or raise jobs.0.gpus.max",
    ),
    Case(
        "days_of_micro_batches",
        # 16 of 32 GPUs each are the same 512, fewer than may be used.
        wrong=job("gpus: {max: 2048}")
        | {"      mfu: 40 %\n": f"{BATCHES}      tokens: 1.4 T\n"}
        | also(targets="{max_days_to_train: 33.5 days}"),
        near=job("gpus: {max: 2048}")
        | {"      mfu: 40 %\n": f"{BATCHES}      tokens: 1.4 T\n"}
        | also(targets="{max_days_to_train: 33.61 days}"),
        path="targets.max_days_to_train",
        at="targets: {max_days_to_train: 33.5 days}",
        says="33.5 days cannot be met: 512 GPUs of the fastest type take at least 33.6 days "
        "without any interruption",
        fix="allow more days, or raise jobs.0.training.scale.micro_batches",
    ),
    Case(
        "memory",
        # 140 GB of weights in GPUs of 4.1 GB: 34.1 of them at least.
        wrong={RUN: "    parallelism: {tensor: 2, pipeline: 17}\n"},
        near={RUN: "    parallelism: {tensor: 5, pipeline: 7}\n"},
        path="jobs.0.parallelism",
        at="parallelism: {tensor: 2, pipeline: 17}",
        says="the weights alone take 4.118 GB a GPU where 34 hold a replica, and no GPU on offer "
        "has more than 4.1 GB",
        fix="spread a replica over 35 GPUs or more",
        memory="4.1 GB",
    ),
    Case(
        "memory_fp8",
        wrong={
            RUN: "    parallelism: {tensor: 2, pipeline: 8}\n",
            "      mfu: 40 %\n": "      mfu: 40 %\n      precision: fp8\n",
            "objective: {maximize: goodput}": "objective: {maximize: useful_gpus}",
        },
        near={
            RUN: "    parallelism: {tensor: 2, pipeline: 9}\n",
            "      mfu: 40 %\n": "      mfu: 40 %\n      precision: fp8\n",
            "objective: {maximize: goodput}": "objective: {maximize: useful_gpus}",
        },
        path="jobs.0.parallelism",
        at="parallelism: {tensor: 2, pipeline: 8}",
        says="the weights alone take 4.375 GB a GPU where 16 hold a replica, and no GPU on offer "
        "has more than 4 GB",
        fix="spread a replica over 18 GPUs or more",
        memory="4 GB",
    ),
    Case(
        "families",
        wrong={"  max_families: 1\n": "  exact_families: 3\n"},
        near={"  max_families: 1\n": "  exact_families: 2\n"},
        path="storage.exact_families",
        at="exact_families: 3",
        says="3 storage families are asked for, and 2 are on offer",
        fix="ask for fewer, or add catalogs",
    ),
    Case(
        "families_considered",
        wrong={"  max_families: 1\n": "  exact_families: 2\n"}
        | also(consider="{storage_families: [slow_fs]}"),
        near={"  max_families: 1\n": "  exact_families: 1\n"}
        | also(consider="{storage_families: [slow_fs]}"),
        path="storage.exact_families",
        at="exact_families: 2",
        says="2 storage families are asked for, and 1 is on offer",
        fix="ask for fewer, or add catalogs",
    ),
)
NO_CONTRADICTION: dict[str, dict[str, str]] = {
    "goodput_of_sync": also(targets="{min_goodput: 99.99 %}")
    | {"      mode: async\n": "      mode: sync\n"},
    "goodput_of_open": also(targets="{min_goodput: 99.99 %}")
    | {"      mode: async\n": "      mode: open\n"},
    "goodput_of_lost_work": also(targets="{min_goodput: 99.99 %}")
    | {INTERVAL: "      interval: {policy: lost_work, kappa: 10 %}\n"},
    "goodput_without_stall": also(targets="{min_goodput: 100 %}")
    | {"      stall: 5 s\n": "      stall: 0 s\n"},
    "days_without_most_gpus": {"      mfu: 40 %\n": "      mfu: 40 %\n      tokens: 1.4 T\n"}
    | also(targets="{max_days_to_train: 1 day}"),
    "days_of_few_active_parameters": job("gpus: {max: 512}")
    | {"      mfu: 40 %\n": "      mfu: 40 %\n      tokens: 1.4 T\n      active_parameters: 7 B\n"}
    | also(targets="{max_days_to_train: 4 days}"),
    "memory_not_known": {RUN: "    parallelism: {tensor: 1, pipeline: 1}\n"},
    "one_item_of_a_family_twice": {"  max_families: 1\n": "  max_families: 9\n"},
}
IDS: Any = [case.name for case in CASES]


def lay_out(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return folder / "problem.yaml"


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process, in the folder of the files."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["planner", *arguments])
        code = cli._run(cli.app)
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_contradiction_is_one_line_with_its_place(
    case: Case, tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    files = case.files(case.wrong)
    lay_out(tmp_path, files)
    line = line_of(files["problem.yaml"], case.at)
    for command in ("solve", "explain"):
        code, out, err = run(command, "problem.yaml")
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith(f"planner: problem.yaml:{line}: {case.path}: {case.says}"), err
        assert f"; {case.fix}" in err
        assert err.endswith("[contradiction]\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    code, out, _ = run("check", "problem.yaml")
    assert code == 2
    assert f"error: problem.yaml:{line}: {case.path}: {case.says}" in out


@pytest.mark.parametrize("name", NO_CONTRADICTION)
def test_what_only_looks_like_a_contradiction(name: str, tmp_path: Path) -> None:
    case = Case(name, NO_CONTRADICTION[name], {}, "", "", "", "")
    inputs, findings = load_with_findings(lay_out(tmp_path, case.files(case.wrong)))
    assert list(contradictions(inputs)) == []
    assert [finding.code for finding in findings if finding.code == "contradiction"] == []


# No plan is ever refused.


def tighter(inputs: Inputs, random: Random) -> Iterator[Inputs]:
    """Yield a problem with each limit tighter in turn."""
    for lever in levers(inputs):
        if lever.value is None or lever.between:
            continue
        share = random.choice((0.9, 0.5, 0.2))
        value = lever.value * share if lever.looser > 0 else lever.value / share
        value = min(value, 1.0) if lever.unit == "share" else value
        value = float(round(value)) if lever.whole else value
        if value > 0:
            yield applied(inputs, lever.to(value))


def test_no_problem_that_has_a_plan_is_contradictory() -> None:
    refused = 0
    for seed in SEEDS:
        inputs = drawn(seed)
        for one in (inputs, *tighter(inputs, Random(seed))):
            if found := list(contradictions(one)):
                refused += 1
                assert not has_plan(one), (seed, found)
    assert refused > 0


# Memory: the weights of a replica have to fit into its GPUs.


@pytest.mark.parametrize(
    ("parameters", "precision", "taken"),
    [
        ("320 B", "bf16", "small"),  # 80 GB each: it just fits
        ("320.001 B", "bf16", "large"),
        ("640 B", "fp8", "small"),
        ("640.001 B", "fp8", "large"),
        ("769 B", "bf16", "silent"),  # whose memory nobody states
    ],
)
def test_weights_fit_to_the_last_byte_or_not(parameters: str, precision: str, taken: str) -> None:
    request = two_systems(parameters, tensor=8, pipeline=1)
    request.job["training"] = {"mfu": 0.5, "precision": precision}
    plan = solve_inputs(inputs_of(request.case()))
    assert {line.sku for line in plan.lines if line.section == "Compute"} == {taken}
