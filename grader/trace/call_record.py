"""How a call is kept: as a record of numbers, since an object takes far more memory and time."""

import numpy as np

from grader.trace.layout import RecordFlag

RECORD = np.dtype(
    [
        *(("sequence", "<i8"), ("function", "<u4"), ("peer", "<i4"), ("tag", "<i4")),
        *(("communicator", "<i8"), ("communicator_size", "<i4")),
        *(("num_elements", "<i8"), ("num_bytes", "<i8")),
        *(("entered_ns", "<i8"), ("left_ns", "<i8"), ("completed_ns", "<i8"), ("flags", "<u4")),
        *(("matched_source", "<i4"), ("matched_tag", "<i4"), ("received_num_bytes", "<i8")),
        *(("failed_polls", "<u4"), ("num_waits", "<u4"), ("phase", "<i4"), ("error", "<i4")),
        *(("file", "<u4"), ("line", "<i4"), ("place", "<u4"), ("made_by", "<u4")),
        *(("sampled_num_bytes", "<i8"), ("sample_first", "<i8")),
        *(("sample_middle", "<i8"), ("sample_last", "<i8")),
        ("first_wait", "<i8"),
    ]
)
"""A call as it is kept: the fields of Call in their order, with numbers for names, one for all that
is true or false, and where its waits begin. 164 bytes; fewer when packed."""

NAMES = ("function", "file", "made_by")
"""The fields that are numbers of names."""
BITS = {
    "is_send": RecordFlag.IS_SEND.value,
    "is_receive": RecordFlag.IS_RECEIVE.value,
    "creates_request": RecordFlag.CREATES_REQUEST.value,
    "request_freed": RecordFlag.REQUEST_FREED.value,
    "cancelled": RecordFlag.CANCELLED.value,
    "synchronous": RecordFlag.SYNCHRONOUS.value,
    "pickled": RecordFlag.PICKLED.value,
}
"""The fields of Call that are true or false, in their order, and what each is in `flags`."""
