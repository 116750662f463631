"""Charts and the table of all ways."""

from grader.study import OF_COMMON_RUNS, Chart, Dot, Network, Series, Spread, Table

from .plan import ALL, FEDERATED, LONG, LONG_TIMES

NETWORK = Network()
NUM_BYTES = 4 * 62006
"""Of the network's parameters."""
NUM_ARRAYS = 10
NUM_EPOCHS, BATCH_SIZE, ROUNDS = 3, 100, 5
"""Of the scripts: the first two of those that average gradients."""


def figures(results):
    """Return all charts and the table."""
    return [
        *(_labels(results, split) for split in FEDERATED),
        _weights(results),
        _rounds(results.with_common_runs(ALL)),
        _accuracies(results.with_common_runs(ALL)),
        _table(results),
    ]


def _labels(results, split):
    series = []
    for run, *_ in results.reports(FEDERATED[split])[:1]:
        for label in range(len(run["labels"][0]) if run["labels"] else 0):
            dots = tuple(
                Dot.exact(f"client {client + 1}", float(counts[label]))
                for client, counts in enumerate(run["labels"])
            )
            series.append(Series(f"digit {label}", dots))
    return Chart(
        f"labels_{split.replace('-', '_')}", f"FedAvg, {split}: the clients' labels",
        "", "examples", tuple(series),
        "From the first run. iid: equal random parts. non-iid: shares of each class drawn from a "
        "Dirichlet distribution with alpha = 0.1.",
        is_bars=True, is_stacked=True,
    )  # fmt: skip


def shares_and_weights(run):
    """Return, for each client of a run, its share of the examples and the weight of its model.

    Empty where no weights were found.
    """
    sizes = [sum(counts) for counts in run["labels"]]
    if len(run["weights"]) != len(sizes):
        return []
    return [(size / sum(sizes), weight) for size, weight in zip(sizes, run["weights"], strict=True)]


def _weights(results):
    clients = []
    for run, *_ in results.reports(FEDERATED["non-iid"])[:1]:
        clients = [
            [Dot.exact(f"client {i + 1}", each) for each in pair]
            for i, pair in enumerate(shares_and_weights(run))
        ]
    shares, weights = zip(*clients, strict=True) if clients else ((), ())
    return Chart(
        "fedavg_weights", "FedAvg, non-iid: the weight of each client's model",
        "", "share",
        (Series("share of all examples", shares), Series("weight of its model", weights)),
        "The numbers of examples are from the first run. We gave aggregate(...) "
        "a model of ones from one client and models of zeros from the others; the result is "
        "that client's weight. FedAvg weights a client by its share of the examples.",
        is_bars=True, is_share=True,
    )  # fmt: skip


def _rounds(results):
    series = []
    for way in (*FEDERATED.values(), *LONG.values()):
        curves = [run["accuracies"] for run, *_ in results.reports(way) if run["accuracies"]]
        columns = zip(*curves, strict=False)
        dots = tuple(Dot.of(i + 1, Spread.of(values)) for i, values in enumerate(columns))
        series.append(Series(way, dots))
    return Chart(
        "fedavg_rounds", "FedAvg: accuracy by round, iid and non-iid", "round", "accuracy",
        tuple(series),
        "The global model's accuracy on the test images, with 4 clients. "
        f"{OF_COMMON_RUNS} The seed also determines the split. "
        "The scripts train one local epoch per round. "
        f"With {LONG_TIMES} local epochs, a client takes {LONG_TIMES} times as many steps.",
        x_ticks=tuple(range(1, ROUNDS + 1)), is_share=True,
    )  # fmt: skip


def _accuracies(results):
    dots = [Dot.of(way, spread) for way in ALL if (spread := results.spread(way, "accuracy"))]
    has_long = any(results.reports(way) for way in LONG.values())
    return Chart(
        "final_accuracy", "Final accuracy on the test images", "", "accuracy",
        (Series("accuracy", tuple(dots)),),
        "From the scripts' output: FedAvg after 5 rounds (batches of 32, 4 clients), "
        "the others after 3 epochs (batches of 100). "
        + OF_COMMON_RUNS
        + f" Rightmost: FedAvg with {LONG_TIMES} local epochs instead of one." * has_long,
        is_bars=True, is_share=True, bars=tuple(ALL),
    )  # fmt: skip


def communication_s(way, num_training):
    """Return the modelled time of all messages of a way, in seconds."""
    steps = NUM_EPOCHS * num_training // BATCH_SIZE
    array_num_bytes = NUM_BYTES / NUM_ARRAYS
    model_s = NETWORK.message_s(NUM_BYTES)
    return {
        "centralized": 0.0,
        "serverless": steps * NUM_ARRAYS * NETWORK.collective_s(4, array_num_bytes),
        "parameter server": steps * 2 * 4 * model_s,
    }.get(way, ROUNDS * 2 * 4 * model_s)


def _messages_ms(results, way):
    for run, *_ in results.reports(way):
        return communication_s(way, run["num_training"]) * 1e3
    return None


def _table(results):
    rows = []
    same_runs = results.with_common_runs(ALL)
    for way, (_, ranks) in ALL.items():
        time, accuracy = results.spread(way, "time_s"), same_runs.spread(way, "accuracy")
        rows.append(
            (
                way,
                ranks,
                accuracy.text("{:.1%}") if accuracy else results.why_in_short(way),
                time.text() if time else None,
                _messages_ms(results, way),
            )
        )
    return Table(
        "five_ways", "All methods compared",
        ("way", "ranks", "final accuracy", "time of the script (s)", "messages, modelled (ms)"),
        tuple(rows),
        "Time from the script's first line to its last, including its own measurements. "
        f"Modelled: the time to send all gradients and models. Network: {NETWORK.describe()}.",
    )  # fmt: skip
