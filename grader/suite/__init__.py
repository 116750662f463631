"""The pytest plugin that lets a suite grade a part: in the judge, or open inside mpirun."""
