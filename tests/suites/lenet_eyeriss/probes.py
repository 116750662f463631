"""Rank-side calls of the student's functions for lenet_eyeriss; knows no right answer."""

import contextlib
from itertools import islice
from types import SimpleNamespace

import numpy as np

_MAX_NUM_OPERATIONS = 20_000
_OPERATIONS = ("multiply", "add", "psum")
_FIELDS = ("cycle", "pe_row", "pe_col", "op", "out_col", "value")
_OPERANDS = {"multiply": ("kernel", "ifmap"), "add": ("tap",), "psum": ("psum_from",)}
_NONE = -1


def train_epochs(
    student, comm, *, file, images, labels, start, epochs, learning_rate, buffered_sends
):
    """Train LeNet-5 on this rank's examples of each epoch; the student's function averages.

    All results have one row an epoch: the rank's own gradients, what became of them, what the call
    returned if that looks like gradients, and the parameters after the step.
    """
    import torch
    import torch.distributed as dist
    from lenet import LeNet5
    from torch.nn.functional import cross_entropy

    average_gradients = student.function(file, "average_gradients")
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    model = LeNet5()
    with torch.no_grad():
        lengths = [parameter.numel() for parameter in model.parameters()]
        pieces = torch.tensor(start).split(lengths)
        for parameter, piece in zip(model.parameters(), pieces, strict=True):
            parameter.copy_(piece.view_as(parameter))
    inputs, classes = torch.tensor(images)[:, :, None].float() / 255, torch.tensor(labels)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    rows = {"own": [], "averaged": [], "returned": [], "parameters": []}
    problem = ""
    for epoch in range(epochs):
        optimizer.zero_grad()
        cross_entropy(model(inputs[epoch]), classes[epoch]).backward()
        rows["own"].append(_gradients(model))
        with student.phase(), _buffered(student, buffered_sends):
            returned = average_gradients(model)
        rows["returned"] += _returned_gradients(returned, lengths)
        problem = _unusable_gradients(model)
        if problem:
            break
        rows["averaged"].append(_gradients(model))
        optimizer.step()
        rows["parameters"].append(_packed(model.parameters()))
    empty = np.zeros((0, len(start)), dtype=np.float32)
    return {
        **{name: np.array(each) if each else empty for name, each in rows.items()},
        "problem": problem,
    }


@contextlib.contextmanager
def _buffered(student, is_wanted):
    """Let dist.send return before its message is received, as a send that is buffered does."""
    from torch.distributed import distributed_c10d

    if not is_wanted:
        yield
        return
    real, under_way = distributed_c10d.isend, []

    def isend(tensor, *args, **kwargs):
        under_way.append(real(tensor.clone(), *args, **kwargs))
        return SimpleNamespace(wait=lambda: None)

    # dist.send calls this name; who calls dist.isend has the real one.
    distributed_c10d.isend = isend
    try:
        yield
        with student.outside():
            for work in under_way:
                work.wait()
    finally:
        distributed_c10d.isend = real


def _returned_gradients(returned, lengths):
    """Return a row of what a call returned instead of writing it, if it is as long as gradients."""
    values = list(returned.values()) if isinstance(returned, dict) else returned
    tensors = values if isinstance(values, (list, tuple)) else [values]
    are_tensors = all(hasattr(each, "numel") for each in tensors)
    is_all = are_tensors and sum(each.numel() for each in tensors) == sum(lengths)
    return [_packed(tensors)] if is_all else []


def _unusable_gradients(model):
    """Return what is wrong with the form of the gradients, or nothing."""
    for name, parameter in model.named_parameters():
        gradient, form = parameter.grad, tuple(parameter.shape)
        if gradient is None:
            return f"{name}.grad is None after the call; it has to hold the mean gradient"
        if tuple(gradient.shape) != form:
            found = tuple(gradient.shape)
            return f"{name}.grad has shape {found} after the call, expected {form}"
    return ""


def _gradients(model):
    return _packed(parameter.grad for parameter in model.parameters())


def _packed(tensors):
    return np.concatenate([each.detach().numpy().ravel() for each in tensors]).astype(np.float32)


def run_dataflow(student, comm, *, file, ifmap, kernel):
    """Call row_stationary; return the ofmap, and the schedule as numbers: one row an operation.

    Columns: cycle, pe_row, pe_col, op (0 multiply, 1 add, 2 psum), out_col, the two of kernel, the
    two of ifmap, tap, the two of psum_from; -1 where a field is not given. What has not the form
    that the handout asks for is told in ofmap_problem, schedule_problem and operands_problem.
    """
    row_stationary = student.function(file, "row_stationary")
    ofmap, schedule, values = np.zeros((0, 0)), [], []
    problems = {"ofmap_problem": "", "schedule_problem": "", "operands_problem": ""}
    try:
        with student.phase():
            answer = row_stationary(ifmap, kernel)
    except NotImplementedError as error:
        if not _is_counting_written(student, file):
            raise
        # Said in a result, so that what is missing here does not end the part.
        told = str(error)[:1000] or "row_stationary is still to be written"
        return {**_tables(ofmap, [], []), **dict.fromkeys(problems, told)}
    try:
        ofmap_given, schedule_given = _two(answer)
    except _MalformedError as problem:
        return {**_tables(ofmap, [], []), **dict.fromkeys(problems, str(problem))}
    try:
        ofmap = _matrix(ofmap_given)
    except _MalformedError as problem:
        problems["ofmap_problem"] = str(problem)
    try:
        for number, record in enumerate(_records(schedule_given)):
            row, value, missing = _row(f"schedule[{number}]", record)
            schedule.append(row)
            values.append(value)
            problems["operands_problem"] = problems["operands_problem"] or missing[:1000]
    except _MalformedError as problem:
        schedule, values = [], []
        problems["schedule_problem"] = str(problem)[:1000]
    return {**_tables(ofmap, schedule, values), **problems}


def count_sequential_cycles(student, comm, *, file, shapes):
    """Call sequential_cycles once for every row (H, W, R, S) of shapes."""
    sequential_cycles = student.function(file, "sequential_cycles")
    numbers, problem = [], ""
    for height, width, num_rows, num_taps in shapes.tolist():
        number = _NONE
        try:
            with student.phase():
                returned = sequential_cycles((height, width), (num_rows, num_taps))
            number = _whole(returned, "sequential_cycles returns")
        # Said in a result, so that what is missing here does not end the part.
        except (NotImplementedError, _MalformedError) as error:
            problem = problem or str(error)[:1000] or "sequential_cycles is still to be written"
        numbers.append(number)
    return {"cycles": np.array(numbers, dtype=np.int64), "problem": problem}


def _is_counting_written(student, file):
    """Return whether the other function of the part is there."""
    try:
        with student.phase():
            student.function(file, "sequential_cycles")((3, 3), (2, 2))
    except Exception:
        return False
    return True


class _MalformedError(Exception):
    """What the student returned has not the form that the handout asks for."""


def _tables(ofmap, schedule, values):
    return {
        "ofmap": ofmap,
        "schedule": np.array(schedule, dtype=np.int64).reshape(-1, 12),
        "values": np.array(values, dtype=np.float64),
    }


def _two(answer):
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise _MalformedError(
            f"row_stationary returns {_told(answer)}, expected the pair (ofmap, schedule)"
        )
    return answer


def _records(schedule):
    if isinstance(schedule, (str, dict)) or not hasattr(schedule, "__iter__"):
        raise _MalformedError(
            f"the schedule is {_told(schedule)}, expected a list of Operation (see dataflow.py)"
        )
    records = list(islice(schedule, _MAX_NUM_OPERATIONS + 1))
    if len(records) > _MAX_NUM_OPERATIONS:
        raise _MalformedError(
            f"the schedule has more than {_MAX_NUM_OPERATIONS} operations; no case here needs as "
            "many"
        )
    return records


def _matrix(ofmap):
    try:
        matrix = np.asarray(ofmap, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = None
    if matrix is None or matrix.ndim != 2 or matrix.size > _MAX_NUM_OPERATIONS:
        shape = f" of shape {matrix.shape}" if matrix is not None else ""
        raise _MalformedError(f"the ofmap is {_told(ofmap)}{shape}, expected a matrix of numbers")
    return matrix


def _row(where, record):
    """Return the numbers of one record, its value, and which operand is not as asked, if any."""
    fields = _fields(where, record)
    op = fields["op"]
    if not isinstance(op, str) or op not in _OPERATIONS:
        told = ", ".join(f'"{name}"' for name in _OPERATIONS)
        raise _MalformedError(f"{where}: op is {_told(op)}, expected one of {told}")
    row = [
        _whole(fields["cycle"], f"{where}: cycle is"),
        _whole(fields["pe_row"], f"{where}: pe_row is"),
        _whole(fields["pe_col"], f"{where}: pe_col is"),
        _OPERATIONS.index(op),
        _whole(fields["out_col"], f"{where}: out_col is"),
    ]
    missing = ""
    for name, length in (("kernel", 2), ("ifmap", 2), ("tap", 1), ("psum_from", 2)):
        numbers = [_NONE] * length
        if name in _OPERANDS[op]:
            words = f'{where}: an operation "{op}" needs {name}, which is'
            given = fields.get(name)
            try:
                numbers = [_whole(given, words)] if length == 1 else _pair(given, words)
            except _MalformedError as problem:
                missing = missing or str(problem)
        row += numbers
    value = fields["value"]
    try:
        return row, float(value), missing
    except (TypeError, ValueError):
        raise _MalformedError(f"{where}: value is {_told(value)}, expected a number") from None


def _fields(where, record):
    """Return the fields of a record by name; it may be a plain tuple in the order of Operation."""
    names = (*_FIELDS, "kernel", "ifmap", "tap", "psum_from")
    if all(hasattr(record, name) for name in _FIELDS):
        return {name: getattr(record, name, None) for name in names}
    if isinstance(record, dict):
        fields = record
    elif isinstance(record, (tuple, list)):
        fields = dict(zip(names, record, strict=False))
    else:
        raise _MalformedError(
            f"{where} is {_told(record)}, expected an Operation (see dataflow.py)"
        )
    missing = [name for name in _FIELDS if name not in fields]
    if missing:
        raise _MalformedError(f"{where} is {_told(record)}; it lacks {', '.join(missing)}")
    return fields


def _pair(given, words):
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise _MalformedError(f"{words} {_told(given)}, expected a pair (row, column)")
    return [_whole(each, words) for each in given]


def _whole(given, words):
    """Return a whole number that fits, whatever type it has."""
    try:
        number = int(given)
        fits = number == given and abs(number) < 2**31
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits or isinstance(given, str):
        raise _MalformedError(f"{words} {_told(given)}, expected a whole number")
    return number


def _told(given):
    """Return a few words on any object, short enough for a message."""
    if given is None:
        return "None"
    text = " ".join(repr(given).split())
    return f"{text[:60]}{'...' if len(text) > 60 else ''} ({type(given).__name__})"
