#!/bin/sh
# Grades /grade/student. Without a mark results.json says that the submission is not gradable: that
# costs neither points nor an attempt.
mkdir -p /grade/results
cp -r /grade/student /submission
# It is a folder of the machine's, in which submitted code, a user of its own, has nothing to read.
chmod 0700 /grade
grade check /submission --plain --assignment mpi_sgd --part ring_allreduce \
  --export prairielearn=/grade/results/results.json
status=$?
if [ "$status" -eq 1 ] || [ -f /grade/results/results.json ]; then exit 0; fi
exit "$status"
