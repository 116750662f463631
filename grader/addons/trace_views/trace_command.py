"""The command that shows the calls of a submission, of which no mark comes: trace."""

import argparse
import os
import sys
from pathlib import Path

from grader.addons.trace_views import tracing
from grader.addons.trace_views.perfetto import perfetto_json
from grader.addons.trace_views.trace_json import trace_json
from grader.addons.trace_views.trace_page import trace_page
from grader.commands.context import courses_of, data_folder, is_sealed, live_view, look
from grader.commands.recorder import last_recording, require_observer
from grader.commands.recordings import secret_of
from grader.commands.reporting import named_seed
from grader.course.data import Data
from grader.course.secret import secret_beside_ranks
from grader.course.versions import observer_digest
from grader.model.errors import GraderError
from grader.recording.recording import read
from grader.recording.replay import Find, replaying
from grader.report.files import require_writable, unwritten
from grader.report.page import Page


def show_trace(options: argparse.Namespace) -> int:
    """Show what the ranks of a part have called; return 0 once it is shown, whatever it is."""
    require_writable([options.json, options.perfetto])
    recording = None if options.recording is None else read(options.recording)
    if recording is None:
        observe, secret = None, secret_beside_ranks(is_sealed=False, seed=named_seed(options))
    else:
        require_observer(options.recording, recording.header, observer_digest())
        observe = replaying(recording.launches.get, recording.launches.values)
        secret = secret_of(recording.header, named_seed(options))
    with live_view(options) as live:
        traced = tracing.trace(
            options,
            courses_of(options),
            is_sealed=is_sealed(os.environ),
            data=Data(data_folder(options)),
            recorded=_recorded(options),
            observe=observe,
            secret=secret.data,
            progress=live.progress,
        )
    data = trace_json(traced) if options.json else ""
    problem = unwritten(Path(options.json), data) if options.json not in (None, "-") else ""
    if options.perfetto is not None:
        problem = unwritten(options.perfetto, perfetto_json(traced.evidence)) or problem
    colour, width = look(sys.stdout.isatty(), options)
    page = Page(colour, options.plain, width, verbose=False)
    print(data if options.json == "-" else trace_page(traced, page, options.limit))
    if problem:
        raise GraderError(problem)
    return 0


def _recorded(options: argparse.Namespace) -> Find | None:
    """Return what finds the launches that the last check of the folder has kept."""
    recording = last_recording(options.submission)
    return None if recording is None else recording.launches.get
