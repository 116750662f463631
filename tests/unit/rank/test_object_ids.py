"""What has ended: no later object gets the identity that it had."""

import pytest

from grader.rank.torch_backend import EndedIdentities


def simple() -> object:
    """Return an object of the size of torch's process groups, like them not looked after."""
    return str(12_345_678)


class Collected:
    """Has references to others, so that the collector looks after its objects."""


def identities_of_later_ones(make) -> set[int]:
    return {id(each) for each in [make() for _ in range(5_000)]}


@pytest.mark.parametrize("make", [simple, Collected])
def test_a_later_object_does_not_get_the_identity_of_one_that_has_ended(make):
    ended = EndedIdentities()
    group = make()
    identity = id(group)
    ended.add(group)
    del group
    ended.take()
    assert identity not in identities_of_later_ones(make)


@pytest.mark.parametrize("make", [simple, Collected])
def test_what_somebody_still_holds_is_asked_for_again(make):
    ended = EndedIdentities()
    group = make()
    identity = id(group)
    ended.add(group)
    ended.take()
    assert identity not in identities_of_later_ones(make)
    del group
    ended.take()
    assert identity not in identities_of_later_ones(make)


@pytest.mark.parametrize("make", [simple, Collected])
def test_without_it_a_later_object_does_get_it(make):
    group = make()
    identity = id(group)
    del group
    assert identity in identities_of_later_ones(make)
