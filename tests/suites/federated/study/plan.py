"""What the study of federated measures."""

from grader.study import Extent, Point

WAYS = {
    "centralized": ("cent_sgd.py", 1),
    "serverless": ("dist_sgd_serverless.py", 4),
    "parameter server": ("dist_sgd_param_server.py", 5),
    "FedAvg, iid": ("fed_avg.py", 5),
    "FedAvg, non-iid": ("fed_avg.py", 5),
}
FEDERATED = {"iid": "FedAvg, iid", "non-iid": "FedAvg, non-iid"}
LONG_TIMES = 4
LONG = {split: f"{way}, {LONG_TIMES} local epochs" for split, way in FEDERATED.items()}
"""The bundled digits are few, so an epoch on a client's part has few steps."""
ALL = {**WAYS, **{way: WAYS["FedAvg, iid"] for way in LONG.values()}}


def points(extent):
    """Return what is measured: each of the five ways, with other seeds each time."""
    return [
        Point(
            name=way,
            series=way,
            program="script.py",
            settings={
                "file": file,
                "split": "non-iid" if "non-iid" in way else "iid",
                "times": LONG_TIMES if way in LONG.values() else 1,
            },
            needs=(file,),
            ranks=ranks,
            limit_s=40 if extent is Extent.QUICK else 120,
            expected_s=3 + 1.5 * ranks,
            num_repeats={Extent.QUICK: 3, Extent.DEFAULT: 8, Extent.FULL: 10}[extent],
        )
        for way, (file, ranks) in ALL.items()
    ]
