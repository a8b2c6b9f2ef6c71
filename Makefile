# SPDX-License-Identifier: MIT
# A thin face over Meson and scripts/. `make` builds; the other targets do all of their own set-up first.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600
SOAK_SECONDS ?= 600
TARGET ?=

all: $(BUILD)/build.ninja ## build the tool and the libraries in build/
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@scripts/configure $(BUILD) --prefix=$(PREFIX)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s  %s\n", $$1, $$2 }' Makefile
	@echo 'Variables: BUILD=folder PREFIX=/usr/local DESTDIR= FUZZ_SECONDS=600 SOAK_SECONDS=600 TARGET=one-fuzz-target'

setup: ## install the Debian packages that a build needs
	@scripts/setup build

demo: ## set up, build, and show numbers and a profile of a program
	@scripts/setup build
	@echo 'building ...'
	@scripts/configure $(BUILD) --prefix=$(PREFIX)
	@out=$$(ninja -C $(BUILD) --quiet 2>&1) || { printf '%s\n' "$$out"; exit 1; }
	@scripts/demo $(BUILD)

demo-fleet: ## set up, build, and show a fleet: ClickHouse, Prometheus, two agents, a regression
	@scripts/setup test
	@echo 'building ...'
	@scripts/configure $(BUILD) --prefix=$(PREFIX)
	@out=$$(ninja -C $(BUILD) --quiet 2>&1) || { printf '%s\n' "$$out"; exit 1; }
	@scripts/demo-fleet $(BUILD)

fleet-bench: ## set up and print the figures of the database: bytes a row, queries, agents
	@scripts/setup test
	@scripts/configure build-bench
	@ninja -C build-bench --quiet
	@bench/fleet build-bench

test: ## set up, build in every way and run every check
	@scripts/setup test
	@scripts/test

deb: ## set up, and build Debian packages from the last commit
	@scripts/setup deb
	@scripts/deb

bench: ## set up and print the figures, ours and the peers', side by side
	@scripts/setup bench
	@scripts/configure build-bench
	@ninja -C build-bench --quiet
	@bench/run build-bench

fuzz: ## run each fuzz target (or TARGET=) for FUZZ_SECONDS
	@scripts/setup fuzz
	@scripts/fuzz $(FUZZ_SECONDS) $(TARGET)

soak: ## the long proofs, for SOAK_SECONDS
	@scripts/setup soak
	@scripts/soak $(SOAK_SECONDS)

test-readers: ## exports read by speedscope and the Firefox Profiler, from npm
	@scripts/setup build
	@command -v npm >/dev/null || scripts/setup readers
	@scripts/configure $(BUILD) --prefix=$(PREFIX)
	@ninja -C $(BUILD) --quiet
	@COATI_TOOL=$(abspath $(BUILD))/coati scripts/test-readers

test-vm: ## the suites in an arm64 guest: PMU, kprobes, an older kernel
	@scripts/setup vm || true # the script says what is missing, and skips
	@scripts/test-vm

# A directory of its own without tests, unless BUILD names another.
INSTALLED := $(if $(filter file,$(origin BUILD)),build-install,$(BUILD))

install: ## DESTDIR= PREFIX=
	@scripts/configure $(INSTALLED) --prefix=$(PREFIX) -Dtests=false
	@meson configure $(INSTALLED) -Dprefix=$(PREFIX)
	@ninja -C $(INSTALLED) --quiet
	@DESTDIR="$(DESTDIR)" meson install -C $(INSTALLED) --quiet
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

clean: ## remove every build directory
	rm -rf build build-*

.PHONY: all help setup deb demo demo-fleet fleet-bench test bench fuzz soak test-readers test-vm install clean
