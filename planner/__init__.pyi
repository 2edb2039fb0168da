from collections.abc import Sequence
from typing import Literal

from planner.errors import InputError as InputError
from planner.errors import NoPlanError as NoPlanError
from planner.errors import PlannerError as PlannerError
from planner.errors import VerificationError as VerificationError
from planner.inputs import Inputs as Inputs
from planner.library import example as example
from planner.library import load as load
from planner.library import size as size
from planner.library import solve as solve
from planner.library import sweep as sweep
from planner.library import write_workbook as write_workbook
from planner.library.asking import File, PlanSource, ProblemSource, Settings, TraceSource
from planner.schema.bids import Bids
from planner.schema.comparison import Alternatives, Comparison, RulesTable
from planner.schema.explanation import Explanation
from planner.schema.plan import Plan as Plan
from planner.schema.problem import Problem as Problem
from planner.schema.sensitivity import Frontier, Tornado, Uncertain
from planner.schema.simulation import Simulation
from planner.schema.telemetry import Characterization
from planner.schema.verification import Audit, Verification

__version__: str

def alternatives(
    problem: ProblemSource,
    *,
    within: float | str = "1 %",
    most: int = 8,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str = "2e-6",
    time_limit: str | None = None,
    solver: Literal["highs", "cbc"] = "highs",
) -> Alternatives:
    """Find plans nearly as good as the best that differ from it: in vendors, GPUs, counts, money.

    Args:
        problem: Problem file (YAML).
        within: How far behind the best a plan may be, as a share or in percent.
        most: How many plans to show, the best included.
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
        gap: Largest gap to prove, as a share or in percent.
        time_limit: Stop then with the best plan and what is known of it so far, e.g. '5 min'.
        solver: Solver.
    """

def audit(
    workbook: File,
    *,
    gap: float | str = "2e-6",
    time_limit: str | None = None,
    solver: Literal["highs", "cbc"] = "highs",
    solve_again: bool = True,
) -> Audit:
    """Read an edited workbook back: what changed, which limits break, how far from the best plan.

    Args:
        workbook: Workbook that planner wrote.
        gap: Largest gap to prove of the plan compared with.
        time_limit: Stop solving with the best plan so far, e.g. '30 s'.
        solver: Solver.
        solve_again: Compare with the best plan under the edited inputs.
    """

def bid(
    *files: ProblemSource,
    quotes: Sequence[File] = (),
    quantities: Literal["quoted", "free"] = "quoted",
    vendor: Settings = (),
    mapping: Settings = (),
    date: Settings = (),
    currency: Settings = (),
    rate: Settings = (),
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str = "2e-6",
    time_limit: str | None = None,
    solver: Literal["highs", "cbc"] = "highs",
) -> Bids:
    """Evaluate vendors' quotes as bids on a problem: which limits each keeps, useful work and cost
    over the term, what it lacks, the best mix with proof, and the price at which each would
    win.

    Args:
        files: Problem file (YAML); files after it are bids, too.
        quotes: Bids: .xlsx or .csv, as vendors send them.
        quantities: Take quantities as quoted, or plan with the prices alone.
        vendor: Who bids; default: the file's name. Several may be given.
        mapping: How a file is laid out, as `planner quote import` writes it. Several may be
            given.
        date: Date of a quote where its file does not tell it.
        currency: Currency of a quote where its file does not tell it.
        rate: USD for one unit of a currency. Several may be given.
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
        gap: Largest gap to prove, as a share or in percent.
        time_limit: Stop each solve with the best plan so far, e.g. '30 s'.
        solver: Solver.
    """

def characterize(
    *traces: TraceSource,
    time: str | None = None,
    write: str | None = None,
    read: str | None = None,
    cluster: str | None = None,
    sum_: bool = False,
    unit: str | None = None,
    decimal: str | None = None,
    time_format: str | None = None,
    read_as: Literal["rate", "bytes", "counter"] | None = None,
    stamp: Literal["start", "end"] = "start",
    window: str | None = None,
    bytes_per_parameter: float = 14.0,
    jobs: File | None = None,
    problem: File | None = None,
    job: str | None = None,
    plan: File | None = None,
    gpus: int | None = None,
    nameplate: str | None = None,
    nameplate_read: str | None = None,
    log: File | None = None,
    log_job: str | None = None,
    settings: Settings = (),
    scenario: str | None = None,
) -> Characterization:
    """Find checkpoints and training jobs in storage telemetry: sizes, intervals, drains, overlaps,
    restarts.

    Args:
        traces: Traces: CSV, Excel, JSON (objects) or Parquet. Several clusters in one file by a
            column, or a file each.
        time: Column of times; DATE+TIME for two columns.
        write: Column of writes.
        read: Column of reads.
        cluster: Column of the clusters' names.
        sum_: Add up the columns of writes and of reads (--write 'ost*': such as these), and the
            rows of one time.
        unit: Unit of the figures, e.g. GB/s, MiB/s, B; default: from names and cells.
        decimal: Decimal mark, . or ,; the other one groups thousands. Default: . and no groups.
        time_format: Format of times, e.g. '%d/%m/%Y %H:%M'; default: ISO 8601, or the one that
            fits.
        read_as: Bandwidth, bytes per sample, or counters of bytes; default: found out.
        stamp: Whether a time is the start or the end of its sample.
        window: Time over which each sample is a mean, e.g. '5 min' of rate(...[5m]); default:
            found out.
        bytes_per_parameter: Bytes of a checkpoint per parameter, for the parameters implied.
        jobs: Table of jobs (job, cluster, gpus, parameters): adds the study of the fleet.
        problem: Problem to calibrate by a job; with --jobs: catalogs for the storage that
            suffices.
        job: Which job found; default: the one that wrote most.
        plan: Plan that ran: GPUs and nameplate of the storage.
        gpus: GPUs that the job ran on.
        nameplate: Write bandwidth of the storage by its nameplate.
        nameplate_read: Read bandwidth of the storage by its nameplate.
        log: The job's log (CSV: time, job, event).
        log_job: The job's name in the log.
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
    """

def compare(
    *files: PlanSource | ProblemSource,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str = "2e-6",
    time_limit: str | None = None,
    solver: Literal["highs", "cbc"] = "highs",
) -> Comparison:
    """Compare plans side by side: what differs, by how much, and why it matters.

    Args:
        files: Plans (.plan.json), problem files (.yaml) and workbooks (.xlsx), the first to
            tell the others from. With --rules: one problem file.
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
        gap: Largest gap to prove, as a share or in percent.
        time_limit: Stop each solve with the best plan so far, e.g. '30 s'.
        solver: Solver.
    """

def compare_rules(
    *files: PlanSource | ProblemSource,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str = "2e-6",
    time_limit: str | None = None,
    solver: Literal["highs", "cbc"] = "highs",
) -> RulesTable:
    """Compare storage sized by what the job needs, by vendors' rules and otherwise: `planner
    compare --rules`.

    Args:
        files: Plans (.plan.json), problem files (.yaml) and workbooks (.xlsx), the first to
            tell the others from. With --rules: one problem file.
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
        gap: Largest gap to prove, as a share or in percent.
        time_limit: Stop each solve with the best plan so far, e.g. '30 s'.
        solver: Solver.
    """

def explain(
    problem: ProblemSource,
    *,
    settings: Settings = (),
    scenario: str | None = None,
    step: Settings = (),
    why_not: Sequence[str] = (),
    weight: Settings = (),
    keep: Sequence[str] = (),
    gap: float | str = "2e-6",
    time_limit: str | None = None,
    solver: Literal["highs", "cbc"] = "highs",
    jobs: int = 0,
    dask: str | None = None,
) -> Explanation:
    """Explain the best plan: what binds, what one more unit is worth, why nothing else. Without a
    plan: which limits cannot hold together, and the least changes that help.

    Args:
        problem: Problem file (YAML).
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
        step: How far to move a limit: --step site.facility_power='1 kW'. Several may be given.
        why_not: Explain exactly why this item is not bought. Several may be given.
        weight: Without a plan: what changing a limit counts beside others. Several may be
            given.
        keep: Without a plan: a limit that must stay. Several may be given.
        gap: Largest gap to prove, as a share or in percent.
        time_limit: Stop then with the best plan and what is known of it so far, e.g. '5 min'.
        solver: Solver.
        jobs: How many processes to use; 0 for as many as there are cores.
        dask: Let the workers of this Dask scheduler do the work.
    """

def frontier(
    problem: ProblemSource,
    against: Literal["storage", "cost", "power"] = "storage",
    *,
    points: int = 50,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str = "0.1 %",
    time_limit: str | None = None,
    jobs: int = 0,
    dask: str | None = None,
) -> Frontier:
    """Show the most useful work against storage bandwidth, cost and power, and where it bends.

    Args:
        problem: Problem file (YAML).
        against: Against what: storage, cost or power. Several may be given.
        points: How many points to find at most.
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
        gap: Largest gap to prove for each plan, as a share or in percent.
        time_limit: Stop each solve with the best plan so far, e.g. '30 s'.
        jobs: How many processes to use; 0 for as many as there are cores.
        dask: Let the workers of this Dask scheduler do the work.
    """

def simulate(
    plan: PlanSource | ProblemSource,
    *,
    failures: str = "exponential",
    column: str | None = None,
    time_format: str | None = None,
    scaled: bool = False,
    interval: str | None = None,
    intervals: bool = True,
    repairs: str = "exponential",
    when_short: str = "plan",
    replications: int = 1000,
    length: str = "1 year",
    seed: int = 1,
    settings: Settings = (),
    scenario: str | None = None,
) -> Simulation:
    """Simulate a plan's job failure by failure, many times: goodput beside the predicted one, lost
    time by cause, and whether another interval would have been better.

    Args:
        plan: PROBLEM.plan.json that planner solve wrote; also a problem file or a workbook.
        failures: When the job fails: exponential, weibull:SHAPE, or a file of times between
            interruptions or of dates, such as the answer of sacct -P.
        column: The column of that file.
        time_format: Format of its dates, e.g. '%m/%d/%Y %H:%M'.
        scaled: Stretch the file's times to the plan's mean.
        interval: Another interval than the plan's, e.g. '10 min'.
        intervals: Try other intervals under the same failures.
        repairs: How times of repair are spread about the plan's mean: exponential, constant or
            lognormal:SIGMA.
        when_short: Whether the job waits while units are short, or goes on with fewer replicas:
            wait or shrink, or as the plan has it.
        replications: How many runs.
        length: How long each run is.
        seed: The same seed draws the same runs.
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
    """

def tornado(
    problem: ProblemSource,
    vary: Settings = (),
    *,
    by: float | str = "20 %",
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str = "0.1 %",
    time_limit: str | None = None,
    jobs: int = 0,
    dask: str | None = None,
) -> Tornado:
    """Vary one input at a time, low and high, and rank them by what they do to the best plan.

    Args:
        problem: Problem file (YAML).
        vary: An input and its two ends: site.pue=1.1:1.4, x0.8:x1.2 or +-20%. Several may be
            given; default: every number that may matter.
        by: How far to move each input where no ends are given.
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
        gap: Largest gap to prove for each plan, as a share or in percent.
        time_limit: Stop each solve with the best plan so far, e.g. '30 s'.
        jobs: How many processes to use; 0 for as many as there are cores.
        dask: Let the workers of this Dask scheduler do the work.
    """

def uncertain(
    problem: ProblemSource,
    dist: Settings = (),
    *,
    samples: int = 256,
    method: Literal["lhs", "sobol"] = "lhs",
    seed: int = 1,
    indices: bool = False,
    settings: Settings = (),
    scenario: str | None = None,
    gap: float | str = "0.1 %",
    time_limit: str | None = None,
    jobs: int = 0,
    dask: str | None = None,
) -> Uncertain:
    """Draw inputs that are not known: what the best plan becomes, how often the planned one breaks
    a limit, and which plan is regretted least.

    Args:
        problem: Problem file (YAML).
        dist: What is not known: PATH='uniform(LOW, HIGH)', triangular, normal, lognormal,
            loguniform or discrete. Several may be given; default: prices, power draw, failures,
            delivered write bandwidth, checkpoint size.
        samples: How many scenarios to draw.
        method: How: Latin hypercube or Sobol.
        seed: The same seed draws the same scenarios.
        indices: Explain the spread by inputs; more scenarios.
        settings: changes laid over it, as `--set`: `{path: value}`, or texts `path=value`.
        scenario: a named scenario of the file.
        gap: Largest gap to prove for each plan, as a share or in percent.
        time_limit: Stop each solve with the best plan so far, e.g. '30 s'.
        jobs: How many processes to use; 0 for as many as there are cores.
        dask: Let the workers of this Dask scheduler do the work.
    """

def verify(
    plan: PlanSource,
    *,
    solve_again: bool = True,
    time_limit: str | None = None,
) -> Verification:
    """Check a plan file: every figure and limit computed again, prices against the catalogs it
    names, the bound proven again by the other solver. What could not be checked is said. Audit
    an edited workbook: what changed, which limits break, how far from the best plan.

    Args:
        plan: PROBLEM.plan.json, or an edited PROBLEM.xlsx, of planner solve.
        solve_again: Solve for the bound again with the other solver.
        time_limit: Stop solving with the bound so far, e.g. '2 min'.
    """
