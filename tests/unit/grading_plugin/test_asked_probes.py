"""Which modules of the probes ranks are sent."""

import pytest

from grader.course.courses import bundled
from grader.grading_plugin.asked_probes import asked_probes
from grader.rank import probe_modules

SOURCES = {
    "__init__": "from .calls import call\nfrom .serial import train as plain\n",
    "calls": "from .log import Log\n\ndef call():\n    from . import late\n    return Log, late\n",
    "log": "class Log: ...",
    "late": "",
    "serial": "def train(): return 'trained'",
}


def test_a_probe_comes_with_what_it_imports_and_nothing_else():
    """Also within a function, and under another name."""
    asked = asked_probes(SOURCES, ["call", "call"])
    assert sorted(asked) == ["__init__", "calls", "late", "log"]
    assert [each.__name__ for each in probe_modules.load(asked).call()] == ["Log", "probes.late"]
    plain = asked_probes(SOURCES, ["plain"])
    assert sorted(plain) == ["__init__", "serial"]
    assert probe_modules.load(plain).plain() == "trained"
    assert sorted(asked_probes(SOURCES, ["call", "plain"])) == sorted(SOURCES)


@pytest.mark.parametrize(
    "first", ["def call(): ...\nfrom .log import Log", "from .calls import *", "from . import x ="]
)
def test_a_package_that_has_more_than_imports_is_sent_as_it_is(first):
    """As is one that Python cannot read: a rank tells why."""
    asked = asked_probes(SOURCES | {"__init__": first}, ["call"])
    assert asked["__init__"] == first


@pytest.mark.parametrize("name", ["federated", "mpi_sgd", "vgg_ddp"])
def test_no_probe_of_a_submission_brings_a_yardstick(name):
    """Whichever of them a launch asks for."""
    yardsticks = {
        "federated": {"serial_training": "serial"},
        "mpi_sgd": {"mpi_reduces_long": "yardsticks", "serial_fit": "yardsticks"},
        "vgg_ddp": {"train_plainly": "plain_training"},
    }[name]
    sources = bundled().load(name).probe_sources()
    others = set(vars(probe_modules.load(sources))["__all__"]) - yardsticks.keys()
    sent = asked_probes(sources, others)
    for probe, module in yardsticks.items():
        assert module in asked_probes(sources, [probe])
        assert module not in sent
