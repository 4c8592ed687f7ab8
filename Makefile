# Common commands, which call CMake; PRESET selects another preset of CMakePresets.json.
PRESET ?= release
BUILD := $(if $(filter release,$(PRESET)),build,build-$(PRESET))

.DEFAULT_GOAL := help
.PHONY: help install-deps configure build test test-all test-isas test-image test-clients test-policy-peers package-build deb test-deb wheel test-wheel check-sbom check-static demo demo-serve demo-governance demo-lazy demo-dialogue robust-serve bench bench-serve bench-lazy asan tsan arm64 soak fuzz fuzz-configurations mutants coverage format lint docs clean test-audit test-replay test-violations test-signatures test-leniency

help:  ## list the targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

install-deps:  ## install missing Debian packages
	@scripts/install-deps.sh

configure: install-deps
	@cmake --preset $(PRESET)

build: configure  ## build everything except the benchmarks; the command is build/frazil
	@cmake --build $(BUILD)

test:  ## build and run every test
	@scripts/install-deps.sh --test
	@$(MAKE) --no-print-directory build
	@scripts/run_tests.sh $(BUILD)

test-all: build  ## run the tests with each pass off in turn for every graph, and large models in all configurations
	@FRAZIL_TEST_ALL=1 scripts/run_tests.sh $(BUILD)

test-isas: build  ## run the suite on each instruction set, with one thread and with three that share all steps
	@scripts/test_isas.sh $(BUILD)

test-image: configure  ## test the container's command and the service unit in the container's file system
	@cmake --build $(BUILD) --target frazil_tool
	@scripts/test_image.sh $(BUILD)

package-build:
	@scripts/install-deps.sh --package
	@$(MAKE) --no-print-directory configure PRESET=package
	@cmake --build build-package

test-clients: configure  ## run programs for ONNX Runtime from npm on its library and on Frazil's, and compare results and times
	@cmake --build $(BUILD) --target frazil_onnxruntime frazil_ort_shim frazil_python
	@$$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) tests/clients/run.py $(BUILD)

.PHONY: test-paths
test-paths: configure  ## compare 1,000 random pipelines with 1,000 requests each with their reports over all paths
	@cmake --build $(BUILD) --target frazil_test_server
	@FRAZIL_TEST_PATHS=1000x1000 $(BUILD)/tests/frazil_test_server --gtest_filter='RandomRoutes.*'
test-policy-peers: configure  ## compare the policy language with CEL's and Cedar's packages from npm, on random expressions and rule sets
	@cmake --build $(BUILD) --target policy_peers
	@python3 tests/govern/policy/peers.py $(BUILD) || [ $$? -eq 77 ]
test-signatures: configure  ## exchange signatures of models with Sigstore's libraries from npm; validate bills of materials
	@cmake --build $(BUILD) --target frazil_tool
	@tests/signatures/run.py $(BUILD); code=$$?; [ $$code -eq 77 ] || exit $$code
test-leniency: configure  ## load and run models that break ONNX's rules, or only just keep them, with ONNX Runtime and with Frazil
	@cmake --build $(BUILD) --target frazil_onnxruntime frazil_leniency
	@peer=$$(scripts/fetch_peer.sh) && $$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) tests/clients/leniency/run.py $(BUILD) "$$peer"

deb: package-build  ## make the Debian packages, in DEB_DIR (build-package/deb)
	@scripts/make_deb.sh build-package $(or $(DEB_DIR),build-package/deb)

test-deb: deb  ## install, start, upgrade and remove the Debian packages in a clean Debian 12; needs root
	@scripts/test_deb.sh build-package $(or $(DEB_DIR),build-package/deb)

wheel: package-build  ## make a self-contained wheel and an sdist, in WHEEL_DIR (build-package/wheel)
	@scripts/make_wheel.sh build-package $(or $(WHEEL_DIR),build-package/wheel)

test-wheel: wheel  ## use the wheel in a virtual environment and in a Debian 12 without development packages; needs root
	@scripts/test_wheel.sh build-package $(or $(WHEEL_DIR),build-package/wheel)

check-sbom: deb wheel  ## validate the bills of materials by CycloneDX's schema, which npm downloads
	@scripts/check_sbom.sh build-package $(or $(DEB_DIR),build-package/deb) $(or $(WHEEL_DIR),build-package/wheel)

check-static:  ## build without the shared library, install, and link programs against the archive
	@$(MAKE) --no-print-directory configure PRESET=static
	@cmake --build build-static
	@scripts/check_install.sh build-static

demo: configure  ## build and run the digits example
	@cmake --build $(BUILD) --target digits_demo
	@$(BUILD)/digits_demo examples/digits

demo-serve:  ## serve models under load behind HAProxy while models change and replicas die; prints a report
	@scripts/install-deps.sh --demo
	@$(MAKE) --no-print-directory configure
	@cmake --build $(BUILD) --target frazil_tool frazil_python
	@PYTHONPATH=$(BUILD)/python $$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) \
	  examples/serving/demo.py --frazil $(BUILD)/frazil

robust-serve: configure  ## test the server with 10,000 idle clients, with slow and disconnecting ones, and 10,000 changes; see bench/serve
	@cmake --build $(BUILD) --target frazil_tool frazil_python serve_models
	@bench/serve/robust.py $(BUILD)
	@PYTHONPATH=$(BUILD)/python $$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) \
	  bench/serve/changes.py $(BUILD)

demo-governance:  ## govern a server in ten steps, from signed models to the proof of one request; prints the log's folder
	@scripts/install-deps.sh --demo
	@$(MAKE) --no-print-directory configure
	@cmake --build $(BUILD) --target frazil_tool frazil_python
	@PYTHONPATH=$(BUILD)/python $$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) \
	  examples/governance/demo.py --frazil $(BUILD)/frazil --folder $(BUILD)/governance

demo-lazy: configure  ## compare the define-by-run examples with fixed graphs, and print a table
	@cmake --build $(BUILD) --target lazy_examples
	@examples/lazy/run.sh $(BUILD)

demo-dialogue:  ## run a conversation on two replicas, fork it, and start many with one prompt; prints the memory saved
	@scripts/install-deps.sh --demo
	@$(MAKE) --no-print-directory configure
	@cmake --build $(BUILD) --target frazil_tool frazil_python
	@PYTHONPATH=$(BUILD)/python $$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) \
	  examples/dialogue/demo.py --frazil $(BUILD)/frazil

bench:  ## compare with ONNX Runtime and oneDNN; THREADS=2 sets two threads for both; see bench/run.sh
	@scripts/install-deps.sh --bench
	@$(MAKE) --no-print-directory configure
	@cmake --build $(BUILD) --target benchmarks
	@THREADS=$(THREADS) bench/run.sh $(BUILD)

bench-serve:  ## compare the server with ONNX Runtime behind the same transport; see bench/serve/run.py
	@scripts/install-deps.sh --bench
	@$(MAKE) --no-print-directory configure
	@cmake --build $(BUILD) --target frazil_tool serve_load serve_ort serve_floor serve_models
	@FRAZIL_PEER=$$(scripts/fetch_peer.sh) bench/serve/run.py $(BUILD)

bench-lazy:  ## compare define-by-run batching with handwritten programs and LibTorch; see bench/lazy/lazy_bench.cc
	@scripts/install-deps.sh --bench
	@$(MAKE) --no-print-directory configure
	@cmake --build $(BUILD) --target lazy_bench model_bench
	@taskset -c $(or $(FRAZIL_CPU),$$(($$(nproc) - 1))) $(BUILD)/bench/lazy/lazy_bench --json $(BUILD)/bench/lazy.json
	@taskset -c $(or $(FRAZIL_CPU),$$(($$(nproc) - 1))) $(BUILD)/bench/lazy/model_bench

asan:  ## run the tests under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory test PRESET=asan

tsan:  ## run the tests under the thread sanitizer
	@$(MAKE) --no-print-directory test PRESET=tsan

arm64:  ## cross-compile for 64-bit ARM, and run the tests under emulation
	@scripts/install-deps.sh --arm64
	@scripts/arm64_sysroot.sh build-arm64/sysroot
	@cmake --preset arm64
	@cmake --build build-arm64
	@scripts/run_tests.sh build-arm64

soak: configure  ## run sessions, loads and cancellations for SOAK_SECONDS (3600) and check memory; PRESET=tsan works too
	@cmake --build $(BUILD) --target soak
	@$(BUILD)/tests/soak

test-audit: configure  ## kill a writer of an audit log 1,000 times, damage logs 1,100 times, and measure 1,000,000 requests
	@cmake --build $(BUILD) --target audit_long
	@$(BUILD)/tests/audit_long crash 1000
	@$(BUILD)/tests/audit_long tamper 1000
	@$(BUILD)/tests/audit_long speed 1000000

test-replay: configure  ## replay 10,000 random requests from an audit log, and compare every bit
	@cmake --build $(BUILD) --target replay_long
	@FRAZIL_REPLAYS=10000 $(BUILD)/tests/replay_long --gtest_filter='Replays.OfRandom*:ReplayCost.*'

test-violations: configure  ## try what policies forbid at each door of a server, and faults in deciding
	@cmake --build $(BUILD) --target frazil_test_server
	@$(BUILD)/tests/frazil_test_server --gtest_filter='*Violations.*:Faults.*'

fuzz:  ## run the fuzzers; TARGET=text_fuzz FUZZ_SECONDS=600 runs one of them for longer
	@scripts/install-deps.sh --dev
	@$(MAKE) --no-print-directory build PRESET=fuzz
	@fuzz/run.sh build-fuzz

mutants:  ## change sources in MUTANTS places (400), one at a time, and list the changes that no test detects
	@scripts/install-deps.sh --test
	@scripts/mutate.py --count $(or $(MUTANTS),400)

fuzz-configurations: configure  ## run random programs on all tiers with threads, limits and edits, for FUZZ_SECONDS (60)
	@cmake --build $(BUILD) --target fuzz_configurations
	@$(BUILD)/tests/fuzz_configurations

format:  ## format the sources in place
	@scripts/format.sh

lint:  ## check formatting, layers, sizes and clang-tidy
	@scripts/lint.sh

docs: configure  ## check all links, and build the documentation as a site in build/site
	@scripts/install-deps.sh --docs
	@scripts/check_links.py
	@cmake --build $(BUILD) --target frazil_python
	@PYTHONPATH=$(BUILD)/python $$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) \
	  scripts/python_reference.py build/site.generated/reference
	@mkdocs build --quiet --strict
	@echo build/site/index.html

clean:  ## remove every build folder
	@rm -rf build build-*
