from planner.errors import InputError as InputError
from planner.errors import NoPlanError as NoPlanError
from planner.errors import PlannerError as PlannerError
from planner.errors import VerificationError as VerificationError
from planner.inputs import Inputs as Inputs
from planner.library import alternatives as alternatives
from planner.library import audit as audit
from planner.library import bid as bid
from planner.library import characterize as characterize
from planner.library import compare as compare
from planner.library import compare_rules as compare_rules
from planner.library import example as example
from planner.library import explain as explain
from planner.library import frontier as frontier
from planner.library import load as load
from planner.library import simulate as simulate
from planner.library import size as size
from planner.library import solve as solve
from planner.library import sweep as sweep
from planner.library import synthesize as synthesize
from planner.library import tornado as tornado
from planner.library import uncertain as uncertain
from planner.library import verify as verify
from planner.library import workbook as workbook
from planner.schema.plan import Plan as Plan
from planner.schema.problem import Problem as Problem

__version__: str
