"""What a rank says of its network is read as if a student had written it."""

import json

import numpy as np
import pytest
from psgd_hogwild.layers import ASKED, CONVOLUTION, MAX_POOL
from psgd_hogwild.network_cases import (
    Layers,
    Network,
    assert_all_layers,
    assert_classifying_half,
    assert_convolutional_half,
    assert_dropout_only_in_training,
    assert_one_row,
    assert_output_follows,
)

from grader.api import NotProven, Outcome, Trace, WrongAnswer

from .made_outcomes import facts_of, key_of

CASE = Network(batch_size=2)
OPERATIONS = {
    CONVOLUTION: "aten::convolution",
    MAX_POOL: "aten::max_pool2d",
    "ReLU": "aten::relu",
    "dropout": "aten::bernoulli",
    "linear": "aten::mm",
    "softmax": "aten::_softmax",
}
WINDOWS = {CONVOLUTION: {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1]}, MAX_POOL: {}}
HOSTILE = [
    *("", "no json", "3", "null", '"text"', "{}", '{"a": 1}', "[1]", "[[1]]", "[[1, 2, 3]]"),
    *('[["aten::relu", 7, {}]]', '[["aten::relu", [[]], {}]]', '[["aten::relu", ["x"], {}]]'),
    *('[["aten::relu", [Infinity], {}]]', '[["aten::relu", [NaN], {}]]', "Infinity"),
    *('[["aten::relu", [1e999], {}]]', f'[["aten::relu", [{"9" * 5000}], {{}}]]', "[" * 100_000),
    *('[["aten::relu", [1], []]]', '[["aten::relu", [1], {"stride": 1}]]', '{"a":' * 100_000),
    f"[[{'[' * 900}{']' * 900}, [2], {{}}]]",
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
        "crash": "",
        **said,
    }
    return Outcome(CASE.label, 1, (given,), (result,), Trace(()), 0.0)


def asked_layers(shape: object) -> str:
    """Return that the layers of the sheet ran, each with this shape."""
    return json.dumps([[OPERATIONS[name], shape, WINDOWS.get(name, {})] for name in ASKED])


@pytest.mark.parametrize("text", HOSTILE)
def test_layers_that_cannot_be_read_are_a_wrong_answer(text):
    """Too deep, too large, of another type, or no list at all."""
    for check, key, words in (
        (assert_all_layers, "network.number_of_layers", r"convolution 0 \(expected 2\)"),
        (assert_convolutional_half, "network.layer_missing", "ran: none"),
        (assert_classifying_half, "network.layer_missing", "ran: none"),
    ):
        with pytest.raises(WrongAnswer, match=words) as error:
            check(CASE, outcome_of(in_training=text))
        assert key_of(error) == key
    with pytest.raises(WrongAnswer) as error:
        assert_dropout_only_in_training(CASE, outcome_of(in_training=text))
    assert key_of(error) == "network.no_dropout"
    layers = asked_layers([2, 1])
    assert_dropout_only_in_training(CASE, outcome_of(in_training=layers, in_evaluation=text))


@pytest.mark.parametrize("text", [*HOSTILE, "[[1e308]]", "[[-1]]", "[[2, 2]]"])
def test_parameters_that_cannot_be_read_prove_nothing(text):
    """The layers are those of the sheet; whether they ran is not known."""
    layers = asked_layers([2, 1, 4, 4])
    with pytest.raises(NotProven):
        assert_output_follows(
            CASE, outcome_of(in_training=layers, in_evaluation=layers, parameter_shapes=text)
        )


@pytest.mark.parametrize("size", [0, -1, -4, 1, 28, 2**63, 10**300])
@pytest.mark.parametrize("place", range(4))
def test_shapes_that_no_layer_has_prove_nothing(size, place):
    """Also those that no array can have."""
    shape = [2, 1, 28, 28]
    shape[place] = size
    layers = json.dumps(
        [[OPERATIONS[name], shape, WINDOWS[name]] for name in (CONVOLUTION, MAX_POOL)]
    )
    with pytest.raises(NotProven):
        assert_output_follows(
            CASE,
            outcome_of(
                in_training=asked_layers(shape),
                in_evaluation=layers,
                parameters=np.ones(1, np.float32),
                parameter_shapes="[[1, 1, 1, 1]]",
            ),
        )


def test_each_half_is_judged_on_its_own():
    """Up to a crash all is known of the layers."""
    names = [OPERATIONS[name] for name in ASKED]
    halves = {
        assert_convolutional_half: [names[0], names[2], names[1], *names[3:]],
        assert_classifying_half: names[:8],
    }
    for broken, operations in halves.items():
        found = outcome_of(
            in_training=json.dumps([[name, [2, 1], {}] for name in operations]),
            crash="RuntimeError: mat1 and mat2",
        )
        for check in halves:
            if check is not broken:
                check(CASE, found)
        with pytest.raises(WrongAnswer):
            broken(CASE, found)
    with pytest.raises(WrongAnswer) as error:
        assert_all_layers(CASE, found)
    assert facts_of(error, "network.forward_crashed")["crash"] == "RuntimeError: mat1 and mat2"
    assert facts_of(error, "network.layers_that_ran")["names"] == tuple(ASKED[:8])
    with pytest.raises(WrongAnswer, match=r"linear 0 \(expected 2\)"):
        assert_all_layers(CASE, outcome_of(in_training=found["in_training"][0]))


def test_one_image_gives_one_row():
    """An output without the batch's dimension has ten rows."""
    one = Network(batch_size=1)
    assert_one_row(one, outcome_of(output=np.zeros((1, 10), np.float32)))
    for shape in ((10, 1), (2, 10), (1, 1)):
        with pytest.raises(WrongAnswer, match="expected") as error:
            assert_one_row(one, outcome_of(output=np.zeros(shape, np.float32)))
        assert facts_of(error, "network.one_image_shape") == {"shape": shape}


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ({"in_evaluation": '[["aten::bernoulli", [2, 1], {}]]'}, "network.dropout_after_eval"),
        ({"output_again": np.zeros((2, 10), np.float32)}, "network.output_varies"),
    ],
)
def test_what_is_random_after_eval_is_told(said, key):
    """A dropout that still runs, or outputs that differ without any."""
    with pytest.raises(WrongAnswer) as error:
        assert_dropout_only_in_training(CASE, outcome_of(in_training=asked_layers([2]), **said))
    assert key_of(error) == key


def test_labels_tell_the_cases_of_a_launch_apart():
    """A launch refuses two cases of one label."""
    assert Layers(batch_size=2).label != CASE.label
