"""Recorded autograd programs, and faults once reported against autodiff libraries."""

import json
import os

import pytest
from common import REFERENCE
from snippets import Runner, close


def read(name):
    with open(os.path.join(REFERENCE, name)) as f:
        return {r["id"]: r for r in map(json.loads, f)}


BEHAVIOURS, FAULTS = read("behaviours.jsonl"), read("bugs_autograd.jsonl")
with open(os.path.join(REFERENCE, "not_yet_behaviours.txt")) as f:
    NOT_YET = f.read().split()


@pytest.fixture(scope="module")
def run():
    runner = Runner()
    yield runner
    runner.close()


def matches(outcome, record, tol):
    """Whether the outcome is the one recorded: a value, an exception, or just no exception."""
    if record.get("raises"):
        return record["raises"] in outcome.get("raised", ())
    if record.get("no_error"):
        return "out" in outcome
    return "out" in outcome and close(outcome["out"], record["expect"], tol)


def check(run, record):
    """Fails unless the program's outcome is the recorded one or an accepted alternative."""
    if "right" in record:
        code, accepted, tol = record["input"], [{"expect": record["right"]}], 1e-6
    else:
        code, tol = record["torch_code"], record["tol"]
        accepted = [record, *record.get("also_ok", ())]
    outcome = run(code)
    if not any(matches(outcome, a, tol) for a in accepted):
        want = [a.get("raises") or a.get("expect", "no error") for a in accepted]
        raise AssertionError(
            f"{record.get('scenario') or record.get('summary')}\n{code}\ngot {outcome}\nexpected {want}"
        )


@pytest.mark.parametrize("name", [i for i in BEHAVIOURS if i not in NOT_YET])
def test_program_behaves_as_recorded(run, name):
    check(run, BEHAVIOURS[name])


@pytest.mark.parametrize("name", [i for i in FAULTS if i not in NOT_YET])
def test_reported_fault_is_absent(run, name):
    check(run, FAULTS[name])


@pytest.mark.parametrize("name", NOT_YET)
def test_listed_program_does_not_pass(run, name):
    """A program that works must leave not_yet_behaviours.txt."""
    record = {**BEHAVIOURS, **FAULTS}[name]
    with pytest.raises(AssertionError):
        check(run, record)


def test_list_of_missing_behaviours_is_sorted_and_unique():
    assert NOT_YET == sorted(set(NOT_YET))
