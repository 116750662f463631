# Three images: `grade` for the course, `grade-student` without solutions and hidden tests, and
# `grade-engine`, without any course, from which `grade build` makes the images of other courses.
# Build with `make image`.

ARG BASE=debian:bookworm-slim

FROM ${BASE} AS python
# tini reaps what a student's processes leave behind, even if docker runs without --init.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libseccomp2 python3 tini \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

FROM scratch AS downloads
# The wheelhouse is there when `make image` could fill it.
COPY requirements.lock wheelhouse* /

FROM python AS packages
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates gcc libc6-dev python3-venv
RUN --mount=type=bind,from=downloads,target=/downloads --mount=type=secret,id=ca \
    python3 -m venv /opt/venv \
    && if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi \
    && if ls /downloads/*.whl >/dev/null 2>&1; then \
        grep -v '^--' /downloads/requirements.lock >/tmp/requirements.lock; \
        set -- --no-index --find-links /downloads -r /tmp/requirements.lock; \
    else set -- -r /downloads/requirements.lock; fi \
    && /opt/venv/bin/pip install -q --no-cache-dir --no-compile --require-hashes "$@" \
    && /opt/venv/bin/pip uninstall -q -y pip \
    # Remove what is needed only to compile against the packages, or to test them.
    && cd /opt/venv/lib/python3.11/site-packages \
    && rm -rf torch/include torch/share \
    && find torch/bin -type f ! -name torch_shm_manager -delete \
    && find numpy sympy networkx matplotlib -type d -name tests -prune -exec rm -rf {} + \
    # A read-only file system cannot cache bytecode; without checks nothing asks for the sources.
    && python3 -m compileall -q -j 0 -x 'py31[2-9]' --invalidation-mode unchecked-hash .

FROM packages AS interposer
WORKDIR /build
COPY grader/__init__.py grader/
COPY grader/model/__init__.py grader/model/errors.py grader/model/
COPY grader/observe/__init__.py grader/observe/
COPY grader/observe/interposer grader/observe/interposer
RUN mkdir /opt/interposer \
    && /opt/venv/bin/python -m grader.observe.interposer.build /opt/interposer/interposer.so

# `docker build --target wheel --output dist .`: the engine as students install it, made by the C
# compiler of the images and for their C library.
FROM packages AS wheel-build
WORKDIR /build
COPY setup.py pyproject.toml README.md LICENSE requirements.lock ./
COPY grader grader
RUN mkdir /wheels \
    && /opt/venv/bin/python -c 'from setuptools import build_meta; build_meta.build_wheel("/wheels")'

FROM scratch AS wheel
COPY --from=wheel-build /wheels /

# Everything a student must not read: only root may enter.
FROM python AS engine
COPY grader /layout/opt/grader/grader
COPY requirements.lock /layout/opt/grader/
RUN mkdir -p /layout/usr/local/bin \
    && printf '%s\n' '#!/opt/venv/bin/python -I' 'import os, sys' \
        'if os.geteuid() != 0:' \
        '    print("grade: this image grades as root; run it without --user", file=sys.stderr)' \
        '    sys.exit(3)' \
        'sys.path.insert(0, "/opt/grader")' 'from grader.__main__ import main' 'main()' \
        >/layout/usr/local/bin/grade \
    && python3 -m compileall -q -s /layout --invalidation-mode unchecked-hash /layout/opt/grader \
    && chmod -R u=rwX,go= /layout/opt/grader \
    && chmod 0755 /layout/usr/local/bin/grade
# For `python -m pytest --with-mpi SUITE --submission DIR`: root's pytest finds the plugin.
RUN site=/layout/opt/venv/lib/python3.11/site-packages \
    && mkdir -p $site/grader.dist-info \
    && echo /opt/grader >$site/grader.pth \
    && printf '%s\n' 'Metadata-Version: 2.1' 'Name: grader' 'Version: 0' \
        >$site/grader.dist-info/METADATA \
    && printf '%s\n' '[pytest11]' 'grader = grader.addons.open_mode.pytest_plugin' \
        >$site/grader.dist-info/entry_points.txt

# The course that comes with the engine, reached like any other. Students get what `grade build`
# lets them have.
FROM packages AS editions
COPY grader /opt/grader/grader
COPY course.toml /course/
COPY tests/suites /course/tests/suites
COPY student_template /course/student_template
COPY reference /course/reference
RUN cd /opt/grader \
    && /opt/venv/bin/python -m grader --course /course build --files /editions \
    # A folder that is copied into keeps no mode of its own; one inside of what is copied does.
    && for edition in course student; do \
        mkdir -p /layouts/$edition/opt && mv /editions/$edition /layouts/$edition/opt/course; done \
    && chmod -R u=rwX,go= /layouts/*/opt/course

FROM python AS runtime
COPY --from=packages /opt/venv /opt/venv
COPY --from=interposer /opt/interposer /opt/interposer
ENV GRADER_SEALED=1 \
    GRADER_INTERPOSER=/opt/interposer/interposer.so \
    LANG=C.UTF-8 \
    TMPDIR=/tmp \
    PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    OMPI_MCA_pml=ob1 \
    OMPI_MCA_btl=self,sm \
    OMP_NUM_THREADS=1
# Not the submission's folder, which may be a zip, or closed to all but its owner.
WORKDIR /
ENTRYPOINT ["tini", "-s", "--", "grade"]
CMD ["check", "/submission"]
ARG ENGINE_DIGEST=unknown
LABEL org.opencontainers.image.title="grader" \
    org.opencontainers.image.description="Marks distributed machine-learning assignments" \
    org.opencontainers.image.licenses="MIT" \
    grader.engine-digest="${ENGINE_DIGEST}"

FROM runtime AS grade-engine
COPY --from=engine /layout /
LABEL grader.edition="engine"

FROM grade-engine AS grade-student
COPY --from=editions /layouts/student /
# Students get the same inputs in every run, so that they see the same failure again.
ENV GRADER_COURSE=/opt/course GRADER_PUBLIC_INPUTS=1 GRADER_IMAGE=grade-student
LABEL grader.edition="student"

FROM grade-engine AS grade
COPY --from=editions /layouts/course /
ENV GRADER_COURSE=/opt/course GRADER_IMAGE=grade
ARG COURSE
LABEL grader.edition="course" grader.course="${COURSE}"
