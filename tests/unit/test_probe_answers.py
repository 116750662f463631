"""A probe runs in the process that it reports on: its lone yes, no or number decides few points."""

import ast
from pathlib import Path

SUITES = Path(__file__).parents[1] / "suites"
WHAT_ELSE_DECIDES = {
    "counts_server": "the formula's answer beside it",
    "is_early": "nothing does, but one call of join() earns the same points",
    "num_backward": "altered messages have to change the mean, however often it is called",
    "num_failed": "hogwild itself has to raise",
    "num_steps": "nothing does, but a rank that has an optimizer can as well let it step",
    "optimizer_steps": "the server's messages carry the model that the worker goes on with",
}
"""By the name of the result: a submission that writes its own value still has to meet this."""


def lone_numbers(tree):
    """Yield the names of results that are announced as one whole number or truth value."""
    for node in ast.walk(tree):
        for key, value in zip(
            *(getattr(node, name, ()) for name in ("keys", "values")), strict=False
        ):
            if not isinstance(key, ast.Constant) or not isinstance(value, ast.Call):
                continue
            if getattr(value.func, "id", "") != "Array" or len(value.args) < 2:
                continue
            dtype, shape = (ast.unparse(each) for each in value.args[:2])
            if ("int" in dtype or "bool" in dtype) and shape in ("()", "(1,)"):
                yield key.value


def test_no_rule_reads_a_lone_number_of_a_probe_without_another_witness():
    trees = [ast.parse(path.read_text()) for path in SUITES.glob("*/*.py")]
    assert {name for tree in trees for name in lone_numbers(tree)} == {*WHAT_ELSE_DECIDES}
