"""What a rank says of its network is read as if a student had written it."""

import json

import numpy as np
import pytest
from psgd_hogwild.layers import ASKED, CONVOLUTION, MAX_POOL
from psgd_hogwild.network_cases import Network, assert_dropout_only_in_training, assert_layers

from grader.judge.findings import NotProven, WrongAnswer
from grader.model import Outcome
from grader.trace.calls import Trace

CASE = Network(batch_size=2)
OPERATIONS = {
    CONVOLUTION: "aten::convolution",
    MAX_POOL: "aten::max_pool2d",
    "ReLU": "aten::relu",
    "dropout": "aten::bernoulli",
    "linear": "aten::mm",
    "softmax": "aten::_softmax",
}
HOSTILE = [
    *("", "no json", "3", "null", '"text"', "{}", '{"a": 1}', "[1]", "[[1]]", "[[1, 2, 3]]"),
    *('[["aten::relu", 7]]', '[["aten::relu", [[]]]]', '[["aten::relu", ["x"]]]'),
    *('[["aten::relu", [Infinity]]]', '[["aten::relu", [NaN]]]', "Infinity", "[" * 100_000),
    *('[["aten::relu", [1e999]]]', f'[["aten::relu", [{"9" * 5000}]]]', '{"a":' * 100_000),
    f"[[{'[' * 900}{']' * 900}, [2]]]",
]


def outcome_of(**said: str) -> Outcome:
    """Return the outcome of a rank that says this of the network."""
    (given,) = CASE.inputs(np.random.default_rng(0), 1, None)
    output = np.full((2, 10), 0.1, np.float32)
    result = {
        "in_training": "[]",
        "in_evaluation": "[]",
        "output_in_training": output,
        "output": output,
        "output_again": output,
        "parameters": np.zeros(4, np.float32),
        "parameter_shapes": "[]",
        **said,
    }
    return Outcome(CASE.label, 1, (given,), (result,), Trace(()), 0.0)


def asked_layers(shape: object) -> str:
    """Return that the layers of the sheet ran, each with this shape."""
    return json.dumps([[OPERATIONS[name], shape] for name in ASKED])


@pytest.mark.parametrize("text", HOSTILE)
def test_layers_that_cannot_be_read_are_a_wrong_answer(text):
    """Too deep, too large, of another type, or no list at all."""
    with pytest.raises(WrongAnswer, match="the layers are"):
        assert_layers(CASE, outcome_of(in_training=text))
    assert_dropout_only_in_training(CASE, outcome_of(in_evaluation=text))


@pytest.mark.parametrize("text", [*HOSTILE, "[[1e308]]", "[[-1]]", "[[2, 2]]"])
def test_parameters_that_cannot_be_read_prove_nothing(text):
    """The layers are those of the sheet; whether they ran is not known."""
    layers = asked_layers([2, 1, 4, 4])
    with pytest.raises(NotProven):
        assert_layers(
            CASE, outcome_of(in_training=layers, in_evaluation=layers, parameter_shapes=text)
        )


@pytest.mark.parametrize("size", [0, -1, -4, 1, 28, 2**63, 10**300])
@pytest.mark.parametrize("place", range(4))
def test_shapes_that_no_layer_has_prove_nothing(size, place):
    """Also those that no array can have."""
    shape = [2, 1, 28, 28]
    shape[place] = size
    layers = json.dumps([[OPERATIONS[CONVOLUTION], shape], [OPERATIONS[MAX_POOL], shape]])
    with pytest.raises(NotProven):
        assert_layers(
            CASE,
            outcome_of(
                in_training=asked_layers(shape),
                in_evaluation=layers,
                parameters=np.ones(1, np.float32),
                parameter_shapes="[[1, 1, 1, 1]]",
            ),
        )
