"""The reader and the interposer describe the same memory."""

import re
import subprocess
from pathlib import Path

import pytest

from grader.observe.interposer import build
from grader.trace import calls, layout

_SOURCE = Path(build.__file__).parent / "sources"
_NUMBERS = (
    *("HEADER_NUM_BYTES", "NAME_NUM_BYTES", "REFUSAL_AT", "COUNTERS_AT"),
    *("MAX_COUNTED_PEERS", "NUM_COUNTED_PHASES"),
    *("NUM_GLOO_OPERATIONS", "NUM_GLOO_SAMPLES", "GLOO_SAMPLE_NUM_BYTES"),
)
_ALTERED_KINDS = ("ALTER_NOTHING", "ALTER_SENDS", "ALTER_CONTRIBUTIONS")


@pytest.fixture(scope="module")
def as_compiled(tmp_path_factory):
    """Return every number of layout.h that the reader also states, as a C compiler sees it."""
    header = (_SOURCE / "layout.h").read_text()
    enumerators = re.findall(r"^    ([A-Z_]+) = ", header, re.M)
    wanted = {
        **{f"header.{name}": f"offsetof(struct header, {name})" for name in layout.HEADER_WORDS},
        **{f"record.{name}": f"offsetof(struct record, {name})" for name in layout.RECORD.names},
        **{name: name for name in enumerators},
        **{name: name for name in ("ABI_VERSION", "JUDGE_MAGIC", "RANK_MAGIC")},
        **{name: name for name in _ALTERED_KINDS},
        **{name: name for name in _NUMBERS},
        "record": "sizeof(struct record)",
        "header": "sizeof(struct header)",
        "refusal": "sizeof(struct refusal)",
        "counted": "sizeof(struct counted)",
        "gloo_counts": "sizeof(struct gloo_counts)",
        **{
            f"gloo_counts.{name}": f"offsetof(struct gloo_counts, {name})"
            for name in layout.GLOO_COUNTS.names
        },
    }
    prints = "\n".join(
        f'    printf("{name} %lld\\n", (long long)({text}));' for name, text in wanted.items()
    )
    folder = tmp_path_factory.mktemp("layout")
    (folder / "print.c").write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <layout.h>\n"
        f"int main(void)\n{{\n{prints}\n    return 0;\n}}\n"
    )
    command = ["cc", f"-I{_SOURCE}", str(folder / "print.c"), "-o", str(folder / "print")]
    subprocess.run(command, check=True)
    printed = subprocess.run([folder / "print"], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: int(line.split()[1]) for line in printed.splitlines()}


def test_header(as_compiled):
    """The words lie one after the other in the order of HEADER_WORDS, and there are no others."""
    offsets = [as_compiled[f"header.{name}"] for name in layout.HEADER_WORDS]
    assert offsets == list(range(0, 8 * len(layout.HEADER_WORDS), 8))
    assert as_compiled["header"] == 8 * len(layout.HEADER_WORDS)
    for name in _NUMBERS:
        assert as_compiled[name] == getattr(layout, name), name


def test_what_else_is_in_the_page_of_the_header(as_compiled):
    """Words, refusal and counters follow each other, and do not overlap."""
    assert as_compiled["header"] <= layout.REFUSAL_AT
    assert layout.REFUSAL_AT + as_compiled["refusal"] == layout.COUNTERS_AT
    counters = layout.NUM_COUNTED_PHASES * layout.MAX_COUNTED_PEERS * as_compiled["counted"]
    assert layout.COUNTERS_AT + counters == layout.HEADER_NUM_BYTES


def test_record(as_compiled):
    """Every field of a record has the same place on both sides."""
    for name in layout.RECORD.names:
        assert as_compiled[f"record.{name}"] == layout.RECORD.fields[name][1], name
    assert as_compiled["record"] == layout.RECORD.itemsize


def test_what_gloo_sends(as_compiled):
    """Its memory is the same on both sides."""
    assert as_compiled["gloo_counts"] == layout.GLOO_COUNTS.itemsize
    for name in layout.GLOO_COUNTS.names:
        assert as_compiled[f"gloo_counts.{name}"] == layout.GLOO_COUNTS.fields[name][1], name


def test_numbers(as_compiled):
    """Versions, flags and special ranks are the same numbers on both sides."""
    for name in ("ABI_VERSION", "JUDGE_MAGIC", "RANK_MAGIC", *_ALTERED_KINDS):
        assert as_compiled[name] == getattr(layout, name), name
    for flag in layout.RecordFlag:
        assert as_compiled[flag.name] == flag, flag
    for name in ("ANY_SOURCE", "ANY_TAG", "PROC_NULL", "NO_PEER"):
        assert as_compiled[f"TRACE_{name}"] == getattr(calls, name), name
