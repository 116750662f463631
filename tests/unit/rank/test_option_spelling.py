"""Options are understood with `-` and with `_`, whichever a parser defines."""

import argparse
import sys

import pytest

from grader.rank.student import either_spelling

LINE = ["--master-ip", "10.0.0.1", "--num_nodes=4", "--rank", "0"]


def defining(*names, **options):
    """Return a parser of these options."""
    parser = argparse.ArgumentParser(**options)
    for name in names:
        parser.add_argument(name)
    return parser


@pytest.mark.parametrize(
    ("names", "own"),
    [
        (("--master_ip", "--num-nodes"), ["--master_ip", "--num-nodes"]),
        (("--master-ip", "--num_nodes"), []),
        (("--master_ip_address", "--num-nodes-x"), ["--master_ip_address", "--num-nodes-x"]),
        (("--master-ip-address", "--num_nodes_x"), []),
    ],
)
@pytest.mark.parametrize("call", ["parse_args", "parse_known_args", "parse_intermixed_args"])
def test_both_spellings_are_understood(monkeypatch, names, own, call):
    """By every way to parse, whole or abbreviated; what argparse itself finds is not touched."""
    monkeypatch.setattr(sys, "argv", ["main.py", *LINE])
    respelt = {}
    with either_spelling(respelt):
        found = getattr(defining(*names, "--rank"), call)()
    namespace, *rest = found if isinstance(found, tuple) else (found,)
    assert sorted(vars(namespace).values()) == ["0", "10.0.0.1", "4"]
    assert (list(respelt.values()), rest) == (own, [[]] if rest else [])


def test_subparsers_and_given_words_are_parsed_likewise():
    """What is handed to parse_args need not stand on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_subparsers().add_parser("train").add_argument("--master_ip")
    respelt = {}
    with either_spelling(respelt):
        assert parser.parse_args(["train", "--master-ip", "a"]).master_ip == "a"
    assert respelt == {"--master-ip": "--master_ip"}


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (("--master_ip",), ["--master-ap", "x"]),
        (("--a_b-c", "--a-b_c"), ["--a-b-c", "x"]),
        (("--master_ip",), ["--", "--master-ip"]),
        (("--master_ip",), ["-master-ip"]),
    ],
)
def test_what_is_no_spelling_of_one_option_stays_as_it_is(names, line):
    """An option of another name, one that could be two, and what comes after `--`."""
    respelt = {}
    with either_spelling(respelt):
        _, rest = defining(*names).parse_known_args(line)
    assert (respelt, rest[-1]) == ({}, line[-1])


def test_an_abbreviation_is_none_where_the_parser_allows_none():
    """The whole name in the other spelling is understood all the same."""
    parser = defining("--master_ip", allow_abbrev=False)
    with either_spelling({}):
        assert parser.parse_known_args(["--master", "a"])[0].master_ip is None
        assert parser.parse_known_args(["--master-ip", "a"])[0].master_ip == "a"


def test_argparse_is_as_before_afterwards():
    """The grader's own process may be the same one."""
    before = argparse.ArgumentParser.parse_known_args
    with pytest.raises(SystemExit), either_spelling({}):
        defining().parse_args(["--x"])
    assert argparse.ArgumentParser.parse_known_args is before
