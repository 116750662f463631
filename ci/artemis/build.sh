#!/usr/bin/env bash
# The build script of a programming exercise in Artemis; its Docker image is the course's `grade`.
# The path of its test results is test-results. Without a mark there are none, and the build fails.
set -uo pipefail

rm -rf test-results
mkdir -m 0700 test-results
grade check assignment --plain --assignment mpi_sgd --export artemis=test-results/grade.xml
status=$?
if [ "$status" -le 1 ]; then exit 0; fi
exit "$status"
