# Thin front of Meson: every target first installs what is missing, then configures and builds.
# DEPS=skip leaves package installation to you. Build folders: build/<mode>.
RELEASE := build/release
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
SOAK_ARGS ?=
BENCH_ARGS ?=
AUDIT_ARGS ?=
COMPAT_ARGS ?=

DEPS ?= install
ifeq ($(DEPS),skip)
INSTALL_DEPS := @:
else
INSTALL_DEPS := @tools/install-deps.sh
endif

HEADING = @printf '\n== %s\n'

# $(call setup,mode,meson options): configures build/<mode> once
setup = @test -f build/$(1)/build.ninja || $(3) meson setup build/$(1) --prefix=$(PREFIX) $(2)
SETUP_RELEASE = $(call setup,release)
SETUP_DEBUG = $(call setup,debug,-Dgui=disabled -Doptimization=1 -Ddebug_logs=true -Dchecks=full -Dwerror=true)
SETUP_ASAN = $(call setup,asan,-Dgui=disabled -Db_sanitize=address$(COMMA)undefined -Db_lundef=false \
	-Doptimization=1 -Dchecks=full -Dwerror=true,CC=clang)
SETUP_TSAN = $(call setup,tsan,-Dgui=disabled -Db_sanitize=thread -Doptimization=1 -Dchecks=full -Dwerror=true)
SETUP_AUDIT = $(call setup,audit,-Dgui=disabled -Daudit=true)
SETUP_FUZZ = $(call setup,fuzz,-Dgui=disabled -Dfuzz=true -Db_sanitize=address$(COMMA)undefined -Db_lundef=false \
	-Doptimization=1 -Dchecks=full,CC=clang)
COMMA := ,

.PHONY: all everything demo test lint bench compat audit audit-build soak test-rust install uninstall clean debug \
	asan tsan fuzz help hooks deps deps-test dist deb dist-build test-roots

all: deps ## build the recorder, the commands and the demo (default)
	$(SETUP_RELEASE)
	@ninja -C $(RELEASE) product
	@mkdir -p target/release
	@ln -sfn ../../$(RELEASE)/libmemory_profiler.so ../../$(RELEASE)/memory-profiler-cli target/release/

everything: all
	@ninja -C $(RELEASE)

deps:
	$(INSTALL_DEPS) build

deps-test:
	$(INSTALL_DEPS) build test

demo: all ## record a small bundled program, report on it and serve it until Ctrl-C
	@tools/demo.sh $(RELEASE)

test: deps-test ## everything: lint, all tests, ASan+UBSan and TSan runs (about 20 minutes)
	$(HEADING) 'lint: sources and documents'
	@tools/lint.sh
	$(HEADING) 'release build, warnings are errors'
	$(SETUP_RELEASE)
	@meson configure $(RELEASE) -Dwerror=true
	@$(MAKE) --no-print-directory DEPS=skip everything
	$(HEADING) 'lint: symbols of the recorder, unused functions'
	@tools/check_symbols.py $(RELEASE)/libmemory_profiler.so
	@tools/check_glibc.py 2.17 $(RELEASE)/libmemory_profiler.so
	@tools/check_glibc.py --replaced src/release/old_glibc.c 2.28 $(RELEASE)/memory-profiler-cli \
		$(RELEASE)/memory-profiler-gather
	@tools/check_unused.py $(RELEASE)
	$(SETUP_ASAN)
	$(SETUP_TSAN)
	@tools/run_tests.py all

lint: deps-test ## layers, limits, format, documents, commit messages, symbols, unused functions
	@tools/lint.sh
	@$(MAKE) --no-print-directory DEPS=skip everything
	@tools/check_symbols.py $(RELEASE)/libmemory_profiler.so
	@tools/check_glibc.py 2.17 $(RELEASE)/libmemory_profiler.so
	@tools/check_glibc.py --replaced src/release/old_glibc.c 2.28 $(RELEASE)/memory-profiler-cli \
		$(RELEASE)/memory-profiler-gather
	@tools/check_unused.py $(RELEASE)

hooks: ## let git check the message of each commit (.git/hooks/commit-msg)
	@tools/install-hooks.sh

bench: deps-test everything ## what recording costs, against heaptrack and libunwind (bench/README.md)
	@tools/bench.sh $(RELEASE) $(BENCH_ARGS)

audit: deps-test audit-build ## compare 10 million stacks of each of five programs with full walks
	@bench/audit.py build/audit $(AUDIT_ARGS)

audit-build:
	$(SETUP_AUDIT)
	@ninja -C build/audit libmemory_profiler.so memory-profiler-cli bench/exceptions

soak: deps-test everything ## the long tests
	@tools/run_tests.py soak $(SOAK_ARGS)

compat: ## real programs bare and recorded: docs/COMPATIBILITY.md (COMPAT_ARGS="--only redis")
	$(INSTALL_DEPS) build test compat
	@$(MAKE) --no-print-directory DEPS=skip everything
	@tests/compat/compat.py $(COMPAT_ARGS)

test-rust: deps-test everything ## allocators and wasmtime from the crate registry (needs cargo)
	@python3 tests/rust/test_crates.py
	@python3 tests/rust/test_patching.py
	@python3 tests/rust/test_wasm.py

test-roots: dist ## the archive of `make dist` in roots of Debian bullseye to sid (root, debootstrap, network)
	@tests/roots/test_roots.py build/memory-profiler-$(shell uname -m)-unknown-linux-gnu.tgz build/roots

install: all ## install under PREFIX (/usr/local), below DESTDIR if set
	@meson configure $(RELEASE) --prefix=$(PREFIX)
	@ninja -C $(RELEASE) product
	@DESTDIR=$(DESTDIR) meson install --no-rebuild -C $(RELEASE)

uninstall: ## remove what the last `make install` of this build installed
	@ninja -C $(RELEASE) uninstall

dist: dist-build ## build/memory-profiler-x86_64-unknown-linux-gnu.tgz, for old systems as well
	@tools/make_dist.sh build/dist tgz build/memory-profiler-$(shell uname -m)-unknown-linux-gnu.tgz

deb: dist-build ## build/memory-profiler.deb: programs, manual pages, completions, documents
	@tools/make_dist.sh build/dist deb build/memory-profiler.deb

dist-build: deps
	@test -f build/dist/build.ninja || meson setup build/dist --prefix=/usr -Drelease=true -Dwerror=true
	@ninja -C build/dist libmemory_profiler.so memory-profiler-cli memory-profiler-gather memory-profiler.7

debug: deps ## build/debug: assertions, full invariant checks, debug logs
	$(SETUP_DEBUG)
	@ninja -C build/debug

asan: deps-test ## build/asan: our own process and the unit tests with ASan and UBSan
	$(SETUP_ASAN)
	@ninja -C build/asan

tsan: deps-test ## build/tsan: the same with TSan
	$(SETUP_TSAN)
	@ninja -C build/tsan

fuzz: deps-test ## build the libFuzzer targets and run each for FUZZ_SECONDS (60)
	$(SETUP_FUZZ)
	@ninja -C build/fuzz
	@tools/fuzz.sh build/fuzz $(FUZZ_SECONDS)

clean: ## remove everything that was built
	rm -rf build target

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18
