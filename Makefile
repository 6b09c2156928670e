# okd-baremetal: each target sets itself up and is safe to repeat. `make` shows them.
SHELL := bash
# Of what a target makes, others write nothing, whichever umask make was started with.
.SHELLFLAGS := -euo pipefail -c 'umask go-w; eval "$$1"' make
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules

CACHE := $(shell source tools/lib.sh && echo "$$CACHE")
PYTHON ?= python3
PY := .venv/bin/python
# The environment comes first: it contains Python, the linters, and a link to the Pulumi CLI, whose language host and
# plugins are beside the link's target.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Each test's worker, program and plugin would compile all code again.
unexport PYTHONDONTWRITEBYTECODE
# `cd` would print or leave the checkout, and pip install elsewhere, or nothing that lies there already.
unexport CDPATH PIP_USER PYTHONPATH
# No target contacts Pulumi's servers.
export PULUMI_SKIP_UPDATE_CHECK := true
export PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION := true

# The stamp's name contains a hash of the lock files, so a changed lock file has no stamp.
LOCKED := requirements-build.txt requirements-dev.txt
VENV := .venv/.locked-$(shell cat $(LOCKED) | sha256sum | cut -c 1-16)
PULUMI := .venv/bin/pulumi
JOBS := $(shell nproc)
STACK ?= rehearsal
# The tiers of `make test-fast`, and the commit whose changes since then it tests.
FAST := tests/unit tests/program tests/plugin tests/fuzz
BASE ?= main
# Seconds that `make fuzz` searches, and what it searches: all, or some of testing/fuzz/engine.py's SURFACES.
FUZZ_S ?= 3600
SURFACES ?=
# Histories that `make simulate` lives, and the number of the first.
SEEDS ?= 1000
FIRST ?= 0
# The API of a rehearsed cluster: `stand-in`, or `kubernetes`, a real one, which takes six minutes to build once; platform
# baremetal, a control plane of one and a pair that fences each other always have that.
PAYLOAD ?= stand-in
# Servers of the control plane that die in a rehearsal with PAYLOAD=kubernetes, one after the other, before a worker leaves
# and joins, and the cluster sleeps. 0: no drills; the night can have 20.
DRILLS ?= 1
# The folder that has stacks/, and gets report/.
SITE ?= $(CURDIR)
REHEARSED := rehearsal compact dual-stack ipv6 balancer managed unmanaged platform single arbiter fenced
PIP_COMPILE := CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/pip-compile --quiet --generate-hashes --strip-extras \
	--allow-unsafe --no-emit-index-url --no-emit-trusted-host --no-emit-find-links

.PHONY: help setup check fmt test test-fast mutants survivors rehearsal rehearsals faults newcomer kubernetes provisioner redfish-conformance fleet fleet-rehearsal fuzz simulate image sbom bench accept clean lock _program _tools _lab _fleet _coreos-installer _nmstatectl _test-binaries _lab-binaries

help: ## Show the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

ifdef OKD_BAREMETAL_IMAGE
setup:
	@tools/setup-in-image
else
setup: ## Install what is missing: packages (as root), .venv, the Pulumi CLI, nmstatectl
	@tools/packages
	@$(MAKE) --silent -j$(JOBS) _program $(PULUMI) _nmstatectl
endif

# Pulumi starts program and providers in the folder of the stacks, which may be a site's repository.
_program: $(VENV)
	@ln -sfn ../../tools/okd-baremetal .venv/bin/okd-baremetal
	@packages=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))') && \
		echo '$(CURDIR)' >"$$packages/okd-baremetal.pth" && cp tools/start.pth "$$packages"

check: setup ## Format, lint, types, the rules between the rooms, shell scripts
	ruff format --check .
	ruff check .
	mypy .
	lint-imports --no-logo
	tools/shellcheck

fmt: setup ## Format the code and sort its imports
	ruff check --fix-only --quiet .
	ruff format .

# Tests of the wire and the engine wait more than they work: more workers than cores. Each worker collects all that it is
# given, so those that run by themselves are given by their files.
test: _tools check ## check, then all tiers of tests: unit, program, plugin, process, wire, end to end
	$(PY) -m pytest -q -n 6 -m "not alone and not kubernetes and not fleet and not provisioner and not conformance" tests
	$(PY) -m pytest -q -n 5 -m alone $$(grep -rl --include='*.py' 'mark\.alone' tests)

test-fast: _tools setup ## The tests of unit, program, plugin and fuzz that changes since BASE reach; BASE= runs all
	@tests="$(FAST)"; [[ -z "$(BASE)" ]] || tests=$$($(PY) -m testing.reached "$(BASE)" $(FAST)); \
	if [[ $$tests ]]; then $(PY) -m pytest -q -n 4 $$tests; else echo "no change since $(BASE) reaches a test of $(FAST)"; fi

mutants: _tools setup ## Plant each fault of tests/mutants.yaml in a copy, and see its test fail
	tools/mutants

SINCE := 1 day ago
survivors: _tools setup ## Plant faults that nobody chose in the files that commits since SINCE changed; print the unnoticed ones
	@$(PY) -m testing.survivors "$(SINCE)"

rehearsal: _lab ## Install the twin of STACK on virtual machines, take it to production, destroy it; as root; KEEP=1 keeps it
	cd "$(SITE)" && "$(CURDIR)/$(PY)" -m lab.rehearsal --stack $(STACK) --payload $(PAYLOAD) --drills $(DRILLS)

rehearsals: _lab ## Rehearse all stacks that are kept for it, one after the other
	for stack in $(REHEARSED); do $(PY) -m lab.rehearsal --stack "$$stack"; done

faults: _lab ## Take the twin of STACK to production through faults, on virtual machines, as root
	$(PY) -m lab.rehearsal faults --stack $(STACK) --payload $(PAYLOAD)

newcomer: _lab ## From a new folder, by README's commands, then from BMCs' addresses, to passed rehearsals on VMs, as root
	$(PY) -m lab.newcomer

kubernetes: _lab ## Hand the VIP of a real Kubernetes over, in network namespaces, as root; six minutes to build it once
	@tools/progress "Kubernetes" $(PY) -m lab.binaries kubernetes
	$(PY) -m pytest -q -m kubernetes tests/wire

provisioner: setup ## Run the commands of prepare-a-provisioner.md on a bare Debian 12, in namespaces, as root
	@tools/packages $(wildcard lab/packages.txt)
	@tools/progress "a bare Debian 12" $(PY) -m lab.debian
	$(PY) -m pytest -q -m provisioner tests/provisioner

# Its tests wait more than they work.
redfish-conformance: setup ## Run DMTF's validators on each fake BMC, and compare the profile for vendors; for the night
	@tools/redfish-validators >/dev/null
	@tools/redfish-schemas >/dev/null
	$(PY) -m pytest -q -rP -n 8 -m conformance tests/conformance

# What the tests need, all at once: one build after the other leaves a core idle.
_tools:
	@tools/packages tests/packages.txt
	@$(MAKE) --silent -j$(JOBS) $(VENV) $(PULUMI) _nmstatectl _coreos-installer _test-binaries

_lab:
	@tools/packages $(wildcard lab/packages.txt)
	@$(MAKE) --silent -j$(JOBS) _program $(PULUMI) _coreos-installer _nmstatectl _lab-binaries

fleet: _fleet ## Test many sites on a real Temporal, PostgreSQL and Pulumi, as root
	$(PY) -m pytest -q -m fleet tests/fleet

fleet-rehearsal: _fleet ## Take four clusters of two sites to production, with a worker killed on the way; as root
	$(PY) -m lab.fleet

_fleet: setup
	@tools/packages testing/sites/packages.txt
	@tools/coreos-installer >/dev/null
	@tools/temporal >/dev/null

fuzz: _tools setup ## Search FUZZ_S seconds, 3600 by default, for a mutated input that the program does not bear; stop at the first
	$(PY) -m testing.fuzz --seconds $(FUZZ_S) $(SURFACES)

simulate: setup ## Live SEEDS histories of a whole cluster in simulated time, 1000 by default; tell how each promise was broken
	$(PY) -m tests.simulation $(SEEDS) $(FIRST)

image: setup _coreos-installer ## Build the image of this release, dist/okd-baremetal-<version>.tar, as root on Debian
	@tools/packages tools/image-build.txt
	@tools/image $(TAG)

sbom: ## List what that image has, dist/okd-baremetal-<version>.cdx.json
	@tools/sbom

bench: setup ## Measure previews; the figures belong in bench/README.md
	$(PY) -m bench

accept: setup ## Rewrite the golden files, support.md and the profile of BMCs from the code; review that diff as behaviour
	$(PY) -m pytest tests/unit/assets tests/unit/providers/machines tests/program/test_reviews.py tests/e2e/test_review.py tests/e2e/test_readme.py --accept-golden -q -m golden
	$(PY) -m testing.support
	$(PY) -m testing.bmc_profile

lock: setup ## Compile the requirements*.txt from their .in files
	@for name in requirements-build requirements requirements-check requirements-conformance requirements-dev; do \
		echo "$$name.txt" && $(PIP_COMPILE) --output-file $$name.txt $$name.in; done

clean: ## Remove .venv and caches from the checkout
	@rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache dist report
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "Kept: built tools and images in $(CACHE)"

# Source distributions are built with the locked setuptools: an isolated build would fetch an unpinned one.
$(VENV):
	@$(PYTHON) -m venv .venv
	@tools/progress "Python packages" $(PY) -m pip install --progress-bar off --require-hashes -r requirements-build.txt
	@tools/progress "Python packages" $(PY) -m pip install --progress-bar off --require-hashes --no-build-isolation -r requirements-dev.txt
	@rm -f .venv/.locked-* && touch $@

# A link without a target counts as missing, so a deleted cache is built again.
$(PULUMI):
	@mkdir -p .venv/bin && dir=$$(tools/pulumi) && ln -sfn "$$dir/pulumi" $@

_coreos-installer:
	@tools/coreos-installer >/dev/null

# Only hosts with a networkConfig need it, one of them in the rehearsal. Without cargo, everything else still works.
_nmstatectl:
	@tools/nmstatectl >/dev/null || echo "nmstatectl is missing: no networkConfig can be read, and the tests and the rehearsal end where they need it" >&2

# The tests check rendered files with these programs, and save etcd into a bucket of the last. As root, they run without a
# network, and cannot build them.
_test-binaries:
	@tools/progress "the tests' programs" $(PYTHON) -m lab.binaries actionlint coredns etcd-server etcdutl ignition-validate versitygw

# This does not need .venv, so it does not depend on it.
_lab-binaries:
	@tools/progress "the lab's programs" $(PYTHON) -m lab.binaries coredns etcd ignition ignition-validate
