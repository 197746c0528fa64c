"""Reproduction: every method of the paper on the same data with the same budget, by one command."""

from bangbang.reproduction.budgets import BUDGETS, TASKS, read_budget
from bangbang.reproduction.crew import Crew, cores
from bangbang.reproduction.methods import METHODS, Method
from bangbang.reproduction.outline import Outline
from bangbang.reproduction.plan import Plan, Training, check_unchanged, make_plan

__all__ = [
    "BUDGETS",
    "METHODS",
    "TASKS",
    "Crew",
    "Method",
    "Outline",
    "Plan",
    "Training",
    "check_unchanged",
    "cores",
    "make_plan",
    "read_budget",
]
