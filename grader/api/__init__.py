"""What authors use to write a suite: the only import of a suite, except for its oracle.

A suite says what a part is called with (`Case`), gets outcomes (`run`, a fixture), and compares
them with an oracle or with a rule. What its checks raise becomes the verdict of a test.

Declaring
    `part(NAME)`, `points(NUMBER, requires=...)`: marks of a module and of a test.
    `stage(NUMBER)`: mark of a test without points; if it passes, the part gets at least this
    number.
    `not_run(REASON)`: ends a test that does not apply; it earns nothing.
    `Case`, `Array`, `Text`: a seeded input, and the exact form of the result.
    `Data`: the images that inputs may be made of.
Looking at results
    `Launch`: iterate it for (case, `Outcome`); `having(field=value)` selects cases,
    `holding(check)` returns those whose answers are correct; `holds(check, case, outcome)` tests
    one. `RunFailed` carries the `RunFailure` of a case that ended its run, with its `Verdict`.
    `attempts()` returns each case with an `Attempt`: its calls, even if the case has no answer.
    `case_context(case, outcome)`: puts number of ranks and case before a check's message.
Verdicts
    `WrongAnswer`, `RuleViolation`, `BudgetExceeded` (TIME_LIMIT_EXCEEDED), `NotProven`: each takes
    sentences, or findings, of which the first names the cause. `found(key, text, help=...,
    fact=...)` makes a `Finding`, and `WrongAnswer.of(...)` an error of one; reports group by its
    key, and labels name it.
Values
    `assert_every_rank`, `assert_unchanged`, `reduction_tolerance`; `sum_text`, `factor_text`: what
    a wrong sum is made of. `WrongAnswer.at(message, [differences_of(...)])` shows elements beside a
    message of your own.
Rules over a `Trace`, which holds the `Call`s of each rank
    `assert_...`; `bytes_sent` (bytes a rank), `messages`, `calls_by_rank`, `sends_of`,
    `reduction_communicators`; `message_depth`, how many messages follow one another, and
    `assert_message_depth`: rounds of a tree; `functions`, sets of MPI and c10d names; `ANY_SOURCE`.
Stencils and iterative solvers
    `ring_graph`, `grid_graph`, `star_graph`, `complete_graph`: a `Graph`, the neighbours of each
    rank; `edges_of` one. `assert_neighbours`, `assert_bytes_per_edge`, `bytes_by_edge`.
    `assert_messages_per_iteration`, `assert_collectives_per_iteration`: from runs with different
    numbers of iterations; `assert_collective_size`: what a rank gives to each call.
    Wherever a number is expected, `Bounds` allow (fewest, most) instead.
Fault injection
    `inject_faults` runs a case once for each `MessageFault`, and returns what each changed, a
    `FaultEffect`; `assert_..._matter` and `assert_..._influence` judge these.
    `assert_envelopes_too_small`: faults alter the data of messages, not their tags or lengths.
Time
    `assert_time_ratio`: compares with a yardstick, never with seconds. The yardstick's launch is
    without the submission, and its probe has its own module.
    `same_failures_as`: what a timed case may get wrong.
    `assert_at_once`: ranks that pause in computing do not `take_turns`.
Words
    `call_name`, `call_place`, `call_site`, `counted`, `listed`, `ranks_text`; `arrival_text`: a
    message that a rank read before it had arrived.

Oracles
    `grader.oracles`, which a suite may also import: layers, losses and optimizers in numpy.

Errors: a check raises one of the verdicts above, or ValueError if a suite asks for something
impossible; `GraderError` is the grader's own failure. The last two cost no points.

`API_VERSION` is the version of this package: docs/api.md says which change needs which version.
"""

from grader.course.data import Data
from grader.grading_plugin.case import Array, Case, Text
from grader.grading_plugin.fault_injection import inject_faults
from grader.grading_plugin.launch_results import Launch, RunFailed, case_context, holds
from grader.grading_plugin.marks import not_run, part, points, stage
from grader.grading_plugin.timing import assert_time_ratio, same_failures_as
from grader.judge.check_failures import BudgetExceeded, NotProven, RuleViolation, WrongAnswer
from grader.judge.traffic.call_bounds import (
    Bounds,
    assert_bytes_per_edge,
    assert_collective_size,
    assert_collectives_per_iteration,
    assert_messages_per_iteration,
    bytes_by_edge,
)
from grader.judge.traffic.collective_calls import reduction_communicators
from grader.judge.traffic.contents import (
    assert_results_were_sent,
    is_zeros,
    may_hold,
    messages_with_contents,
    samples_of,
)
from grader.judge.traffic.counting import (
    assert_envelopes_too_small,
    assert_naive_volume,
    assert_not_truncated,
    assert_ring_volume,
    bytes_sent,
    calls_by_rank,
    messages,
    sends_of,
)
from grader.judge.traffic.fault_effects import (
    FaultEffect,
    assert_answers_follow,
    assert_messages_matter,
    assert_ring_influence,
    assert_some_message_matters,
)
from grader.judge.traffic.message_faults import (
    every_contribution_fault,
    every_message_fault,
    every_payload_fault,
    in_drawn_order,
    single_message_faults,
)
from grader.judge.traffic.message_order import arrival_text, assert_message_depth, message_depth
from grader.judge.traffic.neighbours import (
    Graph,
    assert_neighbours,
    assert_one_neighbour,
    complete_graph,
    edges_of,
    grid_graph,
    ring_graph,
    star_graph,
)
from grader.judge.traffic.payload_contents import assert_contributions_sent
from grader.judge.traffic.rules import (
    assert_buffers_not_pickles,
    assert_only_nonblocking,
    assert_only_operations,
    assert_only_point_to_point,
    assert_requests_completed,
    assert_uses_operations,
)
from grader.judge.traffic.turns import assert_at_once, take_turns
from grader.judge.values.array_comparison import (
    assert_every_rank,
    assert_unchanged,
    differences_of,
    reduction_tolerance,
)
from grader.judge.values.contributions import factor_text, sum_text
from grader.model.errors import GraderError
from grader.model.finding import Finding, found
from grader.model.plural import counted
from grader.model.report import Attempt, MessageFault, Outcome, RunFailure, Verdict
from grader.trace import functions
from grader.trace.call_formatting import at as call_site
from grader.trace.call_formatting import listed, ranks_text
from grader.trace.call_formatting import name_of as call_name
from grader.trace.call_formatting import place_of as call_place
from grader.trace.calls import ANY_SOURCE, Call, Trace

API_VERSION = "3.10"
"""Version of this module: grows as docs/api.md promises."""

__all__ = [each for each in dir() if each[0].isalpha()]
