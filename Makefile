# Everything a newcomer types. Real work happens in CMake; PRESET picks another of CMakePresets.json.
PRESET ?= release
BUILD := $(if $(filter release,$(PRESET)),build,build-$(PRESET))

.DEFAULT_GOAL := help
.PHONY: help install-deps configure build test demo bench asan tsan fuzz format lint clean

help:  ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

install-deps:  ## install the Debian packages that are missing
	@scripts/install-deps.sh

configure: install-deps
	@cmake --preset $(PRESET)

build: configure  ## build everything; the command is build/frazil
	@cmake --build $(BUILD)

test: build  ## build and run every test
	@ctest --test-dir $(BUILD) --output-on-failure

demo: configure  ## build and run the digits example
	@cmake --build $(BUILD) --target digits_demo
	@$(BUILD)/digits_demo examples/digits

bench: build  ## measure against ONNX Runtime; see bench/run.sh
	@bench/run.sh $(BUILD)

asan:  ## the tests under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory test PRESET=asan

tsan:  ## the tests under the thread sanitizer
	@$(MAKE) --no-print-directory test PRESET=tsan

fuzz:  ## build the fuzzers
	@test -d fuzz || { echo "make fuzz: this tree has no fuzz/ folder, so there is nothing to build" >&2; exit 2; }
	@$(MAKE) --no-print-directory build PRESET=fuzz

format:  ## format the sources in place
	@scripts/format.sh

lint:  ## formatting, layers, sizes and clang-tidy
	@scripts/lint.sh

clean:  ## remove every build folder
	@rm -rf build build-*
