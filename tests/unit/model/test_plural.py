import pytest

from grader.model.plural import counted


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (1, ("rank",), "1 rank"),
        (0, ("rank",), "0 ranks"),
        (3, ("rank",), "3 ranks"),
        (1, ("batch", "batches"), "1 batch"),
        (2, ("batch", "batches"), "2 batches"),
    ],
)
def test_only_one_is_in_the_singular(number, nouns, text):
    assert counted(number, *nouns) == text
