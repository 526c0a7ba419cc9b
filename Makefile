# make build | demo | test | check | clean | help. Each installs first what it lacks (tools/install) and is quick the second time.
BUILD := build
VENV := .venv
COMPILED := $(VENV)/bin/python -m compileall -q python/blastoff # else each run compiles it where PYTHONDONTWRITEBYTECODE is set
.DELETE_ON_ERROR:
.NOTPARALLEL:

build: $(BUILD)/.installed-build $(VENV)/.command  ## build/libblastoff.so, and .venv/bin/blastoff that uses it
	@tools/build library
	@$(COMPILED)
	@echo "built $(BUILD)/libblastoff.so and $(VENV)/bin/blastoff"

demo: build $(BUILD)/.installed-demo $(VENV)/.demo  ## real programs with and without Blastoff, on the GPU where there is one
	@examples/demo

# Python packages are fetched while the library and the tests are compiled.
test: $(BUILD)/.installed-build $(BUILD)/.installed-test $(VENV)/.command  ## unit, contract, scenario, program and Python tests, checks, a part of the long sets
	@$(MAKE) -s $(VENV)/.tests $(VENV)/.libraries & tools/build tests; built=$$?; wait $$! && exit $$built
	@$(COMPILED)
	@$(VENV)/bin/python tools/test $(TESTS)

check: build $(BUILD)/.installed-test $(VENV)/.tests  ## formatting, static analysis, includes and imports
	@tools/build tests
	@$(VENV)/bin/python tools/test check

clean:  ## removes what was built; .venv stays
	@rm -rf $(BUILD)

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 14

$(BUILD)/.installed-%: tools/install
	@tools/install $* && mkdir -p $(BUILD) && touch $@

$(VENV)/.command: pyproject.toml tools/venv | $(BUILD)/.installed-build
	@tools/venv command && touch $@

$(VENV)/.%: tools/requirements-%.txt tools/venv | $(VENV)/.command
	@tools/venv requirements tools/requirements-$*.txt && touch $@

.PHONY: build demo test check clean help
