# The front door. CMake does the building; each target sets up what it needs first.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
BUILD = build/release
QUIETLY = -- --no-print-directory -s

# MPI is built in (MPI=1), left out (MPI=0), or stays as it was in this build. Which one: the system's, or the one of a compiler such
# as MPICC=mpicc.mpich, whose mpiexec has the same ending. What CMake knows of another one is forgotten first.
MPI ?=
MPICC ?=
MPI_WANTED = $(filter-out 0,$(MPI))
MPI_PACKAGES = $(if $(findstring mpich,$(MPICC)),mpich,mpi)
MPIEXEC = $(shell command -v '$(if $(findstring /,$(MPICC)),$(dir $(MPICC)))$(patsubst mpicc%,mpiexec%,$(notdir $(MPICC)))')
MPI_CHOICE = -DHWS_MPI=ON -U 'MPI_*' -U 'MPIEXEC*' \
  $(if $(MPICC),'-DMPI_C_COMPILER=$(MPICC)' $(if $(MPIEXEC),'-DMPIEXEC_EXECUTABLE=$(MPIEXEC)'))
MPI_OPTIONS = $(if $(MPI),$(if $(MPI_WANTED),$(MPI_CHOICE),-DHWS_MPI=OFF))
MPI_BUILD = build/$(MPI_PACKAGES)

all: build

help:
	@echo "make              set up and build"
	@echo "make MPI=1        the same with MPI, so that several processes or machines train together (docs/cluster.md);"
	@echo "                  MPICC=mpicc.mpich chooses another MPI than the system's; later builds keep it until MPI=0"
	@echo "make demo         train on MNIST with few 3s, ERM and DRO, and show the difference"
	@echo "make test         the tests of the program and the libraries; make tests only builds them"
	@echo "make test-long    the same at full size (hours)"
	@echo "make test-ranks   training on several processes by MPI"
	@echo "make test-python  the Python package's tests"
	@echo "make test-nnunet  hws inside nnU-Net and MONAI; NNUNET=FOLDER has the clones (see python/tests/nnunet_clones.py)"
	@echo "make test-peer    compare with nibabel, numpy, scipy and PyTorch"
	@echo "make test-arm     the tests of the engine and of the sampler for 64-bit ARM, in qemu-user"
	@echo "make test-browser the pages of hws report and hws watch in headless Chromium"
	@echo "make check        static analysis, tests under sanitizers, with clang and without SIMD"
	@echo "make analyse      the static analysis alone: gcc -fanalyzer, clang-tidy, cppcheck"
	@echo "make coverage     which lines and branches of src/ the tests reach, by part"
	@echo "make test-faults  fail and kill hws at every system call, and cut the power at every moment (half an hour)"
	@echo "make fuzz         fuzz every reader for FUZZ_SECONDS each (default 60); FUZZ_TARGETS=\"plan csv\" only these"
	@echo "make fuzz-long    the same until each has had FUZZ_SECONDS in all (default 3600); what was stopped goes on"
	@echo "make bench        what the sampler costs, beside the paper's procedure in numpy; training steps and predictions"
	@echo "                  beside PyTorch if it is there, each convolution beside oneDNN, two ranks beside one if MPI is"
	@echo "                  built in: a quarter of an hour; LONG=1 adds the paper's network and 1e8 examples"
	@echo "make install      install what make has built to PREFIX (default /usr/local)"
	@echo "make deb          Debian packages, into build/deb; make test-deb tries them in a bare Debian 12 (as root)"
	@echo "make dist         a source tarball, into build/dist; make test-dist builds it"
	@echo "make docs         the documents as a small web site, into build/site"
	@echo "make format       lay the sources out with clang-format 14"
	@echo "make clean        remove what was built"
	@echo "JOBS=N: so many jobs at a time (default: as many as there are processors)"

setup:
	@scripts/setup build $(if $(MPI_WANTED),$(MPI_PACKAGES))

setup-test:
	@scripts/setup build test $(if $(MPI_WANTED),$(MPI_PACKAGES))

setup-ranks:
	@scripts/setup build test $(MPI_PACKAGES)

# Tests need more than the program does: they are built where they are run.
build: setup
	@cmake --preset release $(MPI_OPTIONS) $$([ -e $(BUILD)/CMakeCache.txt ] || echo -DHWS_BUILD_TESTS=OFF) >/dev/null
	@cmake --build $(BUILD) -j$(JOBS) $(QUIETLY)

tests: setup-test
	@cmake --preset release $(MPI_OPTIONS) -DHWS_BUILD_TESTS=ON -DHWS_TEST_TIMEOUT= >/dev/null
	@cmake --build $(BUILD) -j$(JOBS) $(QUIETLY)

demo: build
	@scripts/demo $(BUILD)/cli/hws

test: tests
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j$(JOBS)

test-long: tests
	@cmake --preset release -DHWS_TEST_TIMEOUT=86400 >/dev/null
	@HWS_TEST_LONG=1 ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j$(JOBS) --timeout 86400

# Several processes by MPI, in a build of its own.
test-ranks: setup-ranks
	@cmake --preset release -B $(MPI_BUILD) $(MPI_CHOICE) >/dev/null
	@cmake --build $(MPI_BUILD) -j$(JOBS) --target hws_program test_ranks_ranks test_ranks_shared_work test_ranks_messages $(QUIETLY)
	@ctest --test-dir $(MPI_BUILD) -R '^ranks/' --output-on-failure --no-tests=error

# The whole of what make test has a few of.
test-faults: tests
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --verbose -C faults -R '^faults/all' -j1

test-python:
	@JOBS=$(JOBS) scripts/test-python

test-nnunet:
	@[ -d "$(NNUNET)" ] || { echo "make test-nnunet NNUNET=FOLDER: a folder with clones, see python/tests/nnunet_clones.py" >&2; exit 2; }
	@$(MAKE) --no-print-directory build
	@scripts/setup nnunet
	@NNUNET="$$(realpath "$(NNUNET)")" JOBS=$(JOBS) scripts/test-python -rsP -o faulthandler_timeout=0 tests/test_nnunet.py tests/test_frameworks.py tests/test_examples.py

test-peer: tests
	@scripts/setup peer
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -C peer -L peer -j$(JOBS)

# Tests of what has kernels; the draws on record must be ARM's, too.
ARM_TESTS = sampler/weight_tree nn/kernels nn/parts nn/loss nn/ops nn/convolution
test-arm:
	@scripts/setup build arm
	@scripts/arm-libraries
	@cmake --preset arm >/dev/null
	@cmake --build build/arm -j$(JOBS) --target $(addprefix test_,$(subst /,_,$(ARM_TESTS))) $(QUIETLY)
	@ctest --test-dir build/arm --output-on-failure --no-tests=error -j$(JOBS) -R '^($(subst $() ,|,$(ARM_TESTS)))$$'

test-browser: tests
	@scripts/setup browser
	@cmake --build $(BUILD) -j$(JOBS) --target example_runs $(QUIETLY)
	@sh tests/report/browser.sh $(BUILD)/cli/hws $(BUILD)/tests/report/example_runs
	@sh tests/watch/browser.sh $(BUILD)/cli/hws

# The plain kernels are tested in the preset that has no others, also under AddressSanitizer; ThreadSanitizer sees what has
# threads. Nothing is tested twice in the same way: this must stay within an hour.
check: setup-test
	@scripts/setup clang mpi analyse
	@echo "== analyse" && $(ANALYSE)
	@$(call build_and_test,asan,-E _generic,-DHWS_MPI=ON)
	@$(call build_and_test,generic,-R '^(nn|sampler)/' -E _generic)
	@$(call build_and_test,clang)
	@TSAN_OPTIONS=ignore_noninstrumented_modules=1; export TSAN_OPTIONS; \
	  $(call build_and_test,tsan,-R '^(nn|train|core|augment|ranks)/' -E _generic,-DHWS_MPI=ON)

ANALYSE = cmake --preset analyse >/dev/null && scripts/analyse build/analyse $(JOBS)
analyse: setup
	@scripts/setup clang mpi analyse
	@$(ANALYSE)

# What the tests reach of src/. Tests that fail do not stop it: what they reached counts, and ctest names them.
COVERAGE_TESTS ?= -E ^install/
coverage: setup-test
	@scripts/setup coverage
	@cmake --preset coverage >/dev/null
	@cmake --build build/coverage -j$(JOBS) $(QUIETLY)
	@rm -rf build/coverage/profiles
	-@LLVM_PROFILE_FILE="$(CURDIR)/build/coverage/profiles/%4m.profraw" \
	  ctest --test-dir build/coverage --output-on-failure --no-tests=error -j$(JOBS) $(COVERAGE_TESTS)
	@scripts/coverage build/coverage 95 85

build_and_test = echo "== $(1)" && cmake --preset $(1) $(3) >/dev/null && \
  cmake --build build/$(1) -j$(JOBS) $(QUIETLY) && \
  ctest --test-dir build/$(1) $(2) --output-on-failure --no-tests=error -j$(JOBS)

# What CMake lists in tests/fuzz, from seeds; fuzz-long goes on where it was stopped, until each target has had its time.
FUZZ_TARGETS ?=
fuzz: FUZZ_SECONDS ?= 60
fuzz-long: FUZZ_SECONDS ?= 3600
fuzz-long: FUZZ_TOTAL = --total
fuzz fuzz-long: setup-test
	@scripts/setup fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz -j$(JOBS) --target fuzzers $(QUIETLY)
	@python3 tests/fuzz/run.py build/fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_TOTAL) --jobs $(JOBS) $(FUZZ_TARGETS)

# What docs/engine.md, speed.md and cluster.md say of speed, on this machine. Each script serves alone as well, see its --help.
bench: build
	@scripts/setup bench
	@echo "About a quarter of an hour on two quiet cores$(if $(LONG),; LONG=1 takes five minutes more)."
	@bench/overhead.sh $(BUILD)/cli/hws && echo
	@bench/train.sh $(BUILD)/cli/hws && echo
	@bench/predict.sh $(BUILD)/cli/hws && echo
	@bench/layers.sh $(BUILD)/cli/hws && echo
	@bench/ranks.sh $(BUILD)/cli/hws 4 1

# Builds nothing: it may be root's turn, whose files nobody else could change.
install:
	@[ -x $(BUILD)/cli/hws ] || { echo "make install: nothing is built yet: run make first, as yourself" >&2; exit 1; }
	@rm -f $(BUILD)/install_manifest.txt
	@DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(patsubst ~/%,$(HOME)/%,$(PREFIX))'

dist:
	@scripts/dist

test-dist: dist
	@scripts/setup build test
	@JOBS=$(JOBS) sh tests/install/test_dist.sh "$$(scripts/dist)"

deb:
	@scripts/setup build deb
	@JOBS=$(JOBS) scripts/deb

test-deb: deb
	@sh tests/install/test_deb.sh build/deb tests/install

docs:
	@scripts/setup docs
	@scripts/site

format:
	@scripts/setup format
	@find include src cli examples tests bench -name '*.[ch]' | xargs clang-format -i

clean:
	@rm -rf build

.PHONY: all help setup setup-test setup-ranks build tests demo test test-faults test-long test-ranks test-python test-nnunet test-arm test-browser test-peer check analyse coverage fuzz fuzz-long bench install dist test-dist deb test-deb docs format clean
# CMake and ctest do several jobs at a time, in one folder; two of them there would not.
.NOTPARALLEL:
