"""Checks that an assignment grades as its authors intend: `grade verify`."""
