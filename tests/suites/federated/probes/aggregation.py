"""Calls of the student's Aggregator."""

import numpy as np


def aggregate(student, comm, *, file, keys, num_samples, counts=None, **entries):
    """Have the student's Aggregator average state dicts, load the mean, and return it."""
    import torch

    aggregator_class = student.function(file, "Aggregator")
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), _normalisation(4, counts is not None))
    arrays = [entries.get(f"entry {i}", counts) for i in range(len(keys))]
    state_dicts = [
        {key: torch.from_numpy(np.array(array[k])) for key, array in zip(keys, arrays, strict=True)}
        for k in range(len(num_samples))
    ]
    with student.phase():
        aggregator = aggregator_class(model)
        aggregated = aggregator.aggregate(state_dicts, list(num_samples))
    found = _entries(aggregated, "aggregated")
    # What is missing is judged by itself; no model can load a part of its state.
    if hasattr(aggregated, "items") and set(keys) - set(aggregated):
        aggregated = {**state_dicts[0], **aggregated}
    with student.phase():
        aggregator.set_model_params(aggregated)
        given_out = aggregator.get_model_params()
    return {**found, **_entries(given_out, "given out"), **_entries(model.state_dict(), "held")}


def _normalisation(num_features, counts_batches):
    """Return a module with the parameters and buffers of batch norm, with its counter or without.

    A BatchNorm1d refuses a plain state dict that has no counter.
    """
    import torch

    if counts_batches:
        return torch.nn.BatchNorm1d(num_features)
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(torch.ones(num_features))
    module.bias = torch.nn.Parameter(torch.zeros(num_features))
    module.register_buffer("running_mean", torch.zeros(num_features))
    module.register_buffer("running_var", torch.ones(num_features))
    return module


def _entries(state_dict, word):
    """Return the keys and dtypes of a state dict, a line each, and all its numbers in a row."""
    if not hasattr(state_dict, "items"):
        return {
            f"{word} keys": f"!{type(state_dict).__name__}",
            f"{word} numbers": np.zeros(0),
            f"{word} lengths": np.zeros(0, dtype=np.int64),
        }
    arrays = {key: np.asarray(value).ravel() for key, value in state_dict.items()}
    return {
        f"{word} keys": "\n".join(f"{key} {array.dtype}" for key, array in arrays.items()),
        f"{word} numbers": np.concatenate([np.zeros(0), *arrays.values()]),
        f"{word} lengths": np.array([len(array) for array in arrays.values()], dtype=np.int64),
    }
