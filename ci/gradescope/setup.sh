#!/usr/bin/env bash
# Runs once, when Gradescope builds the autograder's image: docs/platforms.md lists the files beside it.
set -euo pipefail
cd /autograder/source

apt-get update
apt-get install -y --no-install-recommends libseccomp2 python3.11 python3.11-venv

python3.11 -m venv /opt/grade
/opt/grade/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
/opt/grade/bin/pip install --no-cache-dir --no-deps distributed_grader-*.whl

# Submissions run as their own users. Only root may read the engine and the course; otherwise the
# grader's selftest refuses every submission.
engine=$(/opt/grade/bin/python -I -c 'import grader; print(grader.__path__[0])')
cp -r course /opt/course
if [ -f course-secret ]; then cp course-secret /opt/course-secret; fi
chmod -R go= "$engine" /opt/course* /autograder/source
