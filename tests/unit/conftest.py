"""No generated test is timed: on a busy machine the first call may take long."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
