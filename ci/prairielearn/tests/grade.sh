#!/bin/sh
# Grades /grade/student. Without a mark results.json says that the submission is not gradable: that
# costs neither points nor an attempt. Without a copy to grade there is no results.json.
mkdir -p /grade/results
rm -f /grade/results/results.json
# It is a folder of the machine, in which submitted code, under its own user, must read nothing.
chmod 0700 /grade

# Grades a copy in a closed folder. Links stay links; a copied file can be read in any case. The
# grader reads as the folder's owner, daemon; submitted code never runs as daemon.
# An earlier copy goes; where /submission is a mount, nothing in it is removed.
copy_submission() {
  rm -rf --preserve-root=all /submission && mkdir -m 0700 /submission &&
    cp -R /grade/student/. /submission && chmod -R u+rwX /submission &&
    chown -R -h daemon: /submission
}
if ! copy_submission; then
  echo "the submission could not be copied, so it is not graded" >&2
  exit 3
fi

grade check /submission --plain --assignment mpi_sgd --part ring_allreduce \
  --export prairielearn=/grade/results/results.json
status=$?
if [ "$status" -eq 1 ] || [ -f /grade/results/results.json ]; then exit 0; fi
exit "$status"
