"""Shows that an assignment grades as its authors mean it to: `grade verify`."""
