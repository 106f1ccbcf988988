# Everything from a fresh clone: each target installs what it needs, once, and then does its job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.ready
DEV_READY := $(VENV)/.ready-dev
INPUTS := pyproject.toml constraints.txt
PIP_INSTALL := python -m pip install --quiet --disable-pip-version-check --constraint
INSTALL := $(BIN)/$(PIP_INSTALL) constraints.txt
BIN_INSTALL := bin/$(PIP_INSTALL) constraints.txt
ALL_EXTRAS := audit,device-map,docs,fast,inspect,miniworld,nlp,offline,onnx,pandas,ray,video,dev

.PHONY: demo test test-slow test-lowest test-newest check bench fuzz audit conformance conformance-servers docs wheel release clean browser train-help train-twins train-zoo train-grid train-parser train-similarity

demo: $(RUN_READY)
	$(BIN)/theodolite diagnose --quick

# The slow lane holds what tests/conftest.py lists and what is marked: whole sites, pages in a browser, training, faults, notebooks.
# CI runs both lanes. How long each test took stays in build/test.xml and build/test-slow.xml.
PYTEST := -m pytest -n 2 --dist worksteal --durations 20

test: $(DEV_READY)
	$(BIN)/python $(PYTEST) -m "not slow" --junitxml build/test.xml

test-slow: $(DEV_READY) browser
	$(BIN)/python $(PYTEST) -m slow --timeout 1800 --junitxml build/test-slow.xml

# The same tests with the lowest and with the newest versions that pyproject.toml allows. Warnings of other versions do not count.
test-lowest test-newest: test-%: build/%/.ready
	build/$*/bin/python $(PYTEST) -m "not slow" -W default --junitxml build/test-$*.xml

build/%/.ready: $(INPUTS) .ci/versions.py $(DEV_READY)
	test -x build/$*/bin/python || $(PYTHON) -m venv build/$*
	$(BIN)/python .ci/versions.py $* >build/$*/constraints.txt
	build/$*/bin/$(PIP_INSTALL) build/$*/constraints.txt --upgrade --upgrade-strategy eager --editable '.[$(ALL_EXTRAS)]'
	touch $@

# The pages are tested in a real browser; where none can be had, those tests are skipped and say so.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| { { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1; } \
		|| echo "there is no Chromium and none can be installed here: the tests in a browser are skipped"

check: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: $(DEV_READY)
	$(BIN)/python -m bench

# Readers of model text and of files, and the page, under hostile input; a short one is part of `make test`.
# ARGS are passed on: make fuzz ARGS="parsers --seed 1 --seconds 60".
fuzz: $(DEV_READY)
	$(BIN)/python -m fuzz $(ARGS)

# Known vulnerabilities of the pinned versions, by the advisories of PyPI. Where they cannot be reached, nothing is audited.
AUDIT := build/audit
ADVISORIES := https://pypi.org/pypi/pip/24.0/json
audit:
	@if $(PYTHON) -c 'import urllib.request; urllib.request.urlopen("$(ADVISORIES)", timeout=20)' 2>/dev/null; then \
		test -x $(AUDIT)/bin/pip-audit || { $(PYTHON) -m venv $(AUDIT) && $(AUDIT)/$(BIN_INSTALL:constraints.txt=/dev/null) pip-audit; } && \
		$(AUDIT)/bin/pip-audit --no-deps --disable-pip --requirement constraints.txt; \
	else echo "the advisories of PyPI cannot be reached here: nothing is audited"; fi

# What Theodolite exports, opened and scored by the real packages, each in its own environment on top of $(VENV).
# VLMEvalKit is not on PyPI: VLMEVALKIT may name a checkout. Without one, and where GitHub cannot be reached, it is left out.
CONFORMANCE := build/conformance/env
ifeq ($(origin VLMEVALKIT),undefined)
LEAVE_OUT_vlmevalkit := || echo "VLMEvalKit cannot be installed from GitHub and is left out; VLMEVALKIT=PATH names a checkout"
endif
VLMEVALKIT ?= git+https://github.com/open-compass/VLMEvalKit@e8e78f05\#egg=vlmeval
OWN_inspect-ai := --editable .
OWN_lmms-eval := lmms_eval==0.7.3
OWN_vlmevalkit := --editable '$(VLMEVALKIT)'

conformance: $(DEV_READY) browser $(patsubst %,$(CONFORMANCE)/%/.ready,inspect-ai lmms-eval vlmevalkit)
	$(BIN)/python -m conformance $(ARGS)

# Real model servers: that of transformers, and that of llama-cpp-python, which is compiled here (most of an hour on one core).
conformance-servers: $(DEV_READY) $(CONFORMANCE)/llama-cpp/.ready
	$(BIN)/python -m conformance.servers --llama $(CONFORMANCE)/llama-cpp/bin/python

$(CONFORMANCE)/%/.ready: conformance/%.txt $(DEV_READY)
	$(PYTHON) -m venv $(CONFORMANCE)/$*
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >$$($(CONFORMANCE)/$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/of_the_project.pth
	$(CONFORMANCE)/$*/bin/python -m pip install --quiet --disable-pip-version-check --requirement conformance/$*.txt
	$(if $(OWN_$*),$(CONFORMANCE)/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps $(OWN_$*) &&) touch $@ $(LEAVE_OUT_$*)

# What made the shipped weights. ARGS are passed on: make train-twins ARGS="--out RUN --seconds 480".
train-help: $(DEV_READY)
	$(BIN)/python -m train --help

train-twins train-zoo train-grid train-parser train-similarity: $(DEV_READY)
	$(BIN)/python -m train $(@:train-%=%) $(ARGS)

docs: $(DEV_READY)
	$(BIN)/python docs/site/build.py build/site
	@echo "the documentation: build/site/index.html"

# The sdist, and the wheel made of it: checked, then tried in an empty environment, away from this folder.
TOOLS := build/release
TRIED := build/empty
wheel:
	test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/$(BIN_INSTALL) build twine
	rm -rf dist $(TRIED)
	$(TOOLS)/bin/python -m build --outdir dist .
	$(TOOLS)/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(TRIED)
	$(TRIED)/$(BIN_INSTALL) dist/*.whl
	cd $(TRIED) && bin/theodolite diagnose --model pocket:grounded --instruments compass --quick --out report
	grep -q '"standing": *"looks"' $(TRIED)/report/diagnosis.json
	test -s $(TRIED)/report/index.html

# Everything a release needs: a clean tree whose version is that of the changelog, all checks, and the files in dist/.
release:
	@test -z "$$(git status --porcelain)" || { echo "commit first: a release is made of what is committed"; exit 2; }
	@grep -q "^## $$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/theodolite/__init__.py)\b" CHANGELOG.md \
		|| { echo "CHANGELOG.md has no section of this version"; exit 2; }
	$(MAKE) check test test-slow docs wheel
	@echo "tag it, push the tag, and upload: $(TOOLS)/bin/python -m twine upload dist/*"

clean:
	rm -rf $(VENV) demo report build dist

$(RUN_READY): $(INPUTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 …"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[nlp]'
	touch $@

$(DEV_READY): $(RUN_READY)
	$(INSTALL) --editable '.[$(ALL_EXTRAS)]'
	touch $@
