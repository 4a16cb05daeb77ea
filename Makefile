# SPDX-License-Identifier: MIT
# Builds commlab into build/: libcommlab.a, the program commlab (linked to ./commlab), the labs; the tests on request.
#
# - A new file needs no line here: wildcards find core/, backends/, sim/, cmd/, labs/ and tests/.
# - Backends whose libraries a machine may lack are plugins: backends/NAME/ becomes build/backends/NAME.so. Beside them
#   lie libraries for other programs, lib*.so.
# - probe.sh asks once what the machine has; build/probes.mk keeps it until flags or installed packages change.
# - Objects depend on the flags they were made with, the library on the list of its objects: what changed is remade.
# - SAN=... builds into a directory of its own, so that objects of two kinds never mix.

.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Parallel by itself, unless told otherwise or run by another make, whose jobs are shared.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

comma := ,
B := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))

# ---- flags ----------------------------------------------------------------------------------------------------
# CC, CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS are the user's; what the code needs is added to them. No -march: the result
# runs on any machine of its kind, and files that gain from newer instructions choose among versions at run time.

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
CFLAGS ?= $(if $(SAN),-O1,-O3) -g
CXXFLAGS ?= $(CFLAGS)
MPICC ?= mpicc
# libFuzzer is clang's, which at -O1 warns of each loop that it does not vectorize; gcc's thread sanitizer does not see
# fences, and warns of each.
fuzzer   := $(findstring fuzzer,$(SAN))
sanitize := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer \
            $(if $(fuzzer),-Wno-pass-failed) $(if $(findstring thread,$(SAN)),-Wno-tsan))
any := -D_GNU_SOURCE -Wall -Wextra $(if $(filter-out 0,$(WERROR)),-Werror) -I. $(CPPFLAGS) -pthread $(sanitize)
compile := $(CC) -std=c11 $(any) $(CFLAGS)
# Plugins call what is in the program: -rdynamic.
link := $(CC) $(CFLAGS) -pthread $(sanitize) -rdynamic -Wl,--as-needed $(LDFLAGS)
libraries := $(LDLIBS) -lm -ldl

# ---- files ----------------------------------------------------------------------------------------------------

library_c  = $(wildcard core/*/*.c core/*/*/*.c $(patsubst %,backends/%/*.c,cpu shm model $(probed_backends)) sim/*/*.c)
model_c   := $(wildcard labs/*/model.c)
check_c   := $(wildcard labs/*/check.c labs/primer/*/check.c)
# A homework's harness.c and try.c are compiled together with what a student wrote, and its starter is the student's.
homework_c := $(filter-out %/harness.c %/try.c,$(wildcard labs/homework/*/*.c))
cmd_c     := $(wildcard cmd/*.c cmd/*/*.c cmd/*/*/*.c) $(model_c) $(check_c) $(filter-out $(if $(wildcard cmd/grade/grad*.c),,%/grade.c),$(homework_c))
lab_c     := $(filter-out %/model.c %/check.c,$(wildcard labs/*/*.c labs/primer/*/*.c))
# Those in CLAB_TEST_EXCEPT are not run (tests/run.sh), and not built.
test_all_c := $(wildcard tests/*/test_*.c)
test_c    := $(filter-out $(foreach test,$(CLAB_TEST_EXCEPT),%/test_$(test).c),$(wildcard tests/*/test_*$(T)*.c))
fuzz_c    := $(wildcard tests/fuzz/*.c)
faults_c  := $(wildcard tests/faults/*.c)
conform_c := $(wildcard tests/conformance/*.c)
objects    = $(patsubst %.c,$(B)/obj/%.o,$1)

library := $(B)/libcommlab.a
labs    := $(patsubst %.c,$(B)/%,$(lab_c))
# A test is built to build/tests/test_NAME, whatever its folder.
in_tests = $(addprefix $(B)/tests/,$(notdir $(basename $1)))
tests   := $(call in_tests,$(test_c))
targets := $(patsubst %.c,$(B)/%,$(filter-out %/log.c %/drive.c,$(fuzz_c)))
faults  := $(B)/tests/faults/faults
fake_nvml := $(B)/fakes/libnvidia-ml.so.1

# With V=1 commands are shown as they are, else one line an object.
Q := $(if $(filter-out 0,$(V)),,@)
say = $(if $(Q),@printf '  %-4s %s\n' $1 $@)

# ---- targets --------------------------------------------------------------------------------------------------

.PHONY: all install uninstall tests test test-full floors fuzz targets faults wires plot report slides bench-cpu bench-gpu bench-full bench-peers bench-sockets fit accuracy gpu-check gpu-tools clean help show
.DELETE_ON_ERROR:
.SECONDARY:

all: show $(library) $(B)/commlab $(labs) $(if $(filter build,$(B)),commlab) ## build all except the tests; the default

# $(call run_by,SCRIPT,WHAT): WHAT the script runs, if it is among the tests that are run.
scripts := $(filter-out $(patsubst %,test_%.sh,$(CLAB_TEST_EXCEPT)),$(notdir $(wildcard tests/*/test_*$(T)*.sh)))
run_by = $(if $(filter $1,$(scripts)),$2)
tests: all $(tests) ## build the tests

test: tests ## build and run the tests, quick settings, in three minutes on two cores; T=NAME runs the tests whose name contains NAME
	$(Q)tests/run.sh $(B) $(T)

test-full: tests ## the same with all settings, as continuous integration has it: some six minutes
	$(Q)CLAB_TEST_FULL=1 tests/run.sh $(B) $(T)

floors: all ## check that no folder includes one above it (tests/floors.txt)
	$(Q)tests/floors.sh $(B)

# By libFuzzer, or else by tests/fuzz/drive.c.
FUZZ_SECONDS ?= 60
fuzz: ## give random input to every reader of input, for FUZZ_SECONDS (60) in total; FUZZ_SEED=N repeats a run
	$(Q)$(MAKE) B=build/fuzz $(or $(probed_fuzz),SAN=address$(comma)undefined) targets
	$(Q)tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS) $(FUZZ_SEED)

targets: $(targets)

FAULTS ?= 500
faults: all $(faults) ## kill, stop and confuse ranks at random: FAULTS jobs per backend (500); FAULT_SEED=N repeats
	$(Q)for backend in shm $(if $(findstring HAVE_LIBFABRIC,$(compile)),ofi); do \
		$(faults) --backend $$backend --count $(FAULTS) $(if $(FAULT_SEED),--seed $(FAULT_SEED)) || exit 1; done

wires: all ## as root: compare predictions with slow links of 100 Mbit/s and 1 Gbit/s; WIRES, HOSTS
	$(Q)tests/wires.sh $(B)

fit: all ## measure this machine again, so that predictions fit it (one minute at most)
	$(Q)$(B)/commlab fit

# The profile, from which everything is predicted: `make` measures the machine once.
profile_file := $(or $(CLAB_PROFILE),$(B)/machine.net)
$(profile_file): | all
	$(Q)$(B)/commlab fit

# If the profile cannot be read, measure again.
.PHONY: profile
profile: $(profile_file)
	$(Q)$(B)/commlab sim barrier --ranks 2 --net machine >/dev/null || $(B)/commlab fit

# Within two minutes on two cores: pairs of runs give the interval, so that each run is short. Six pairs are the fewest
# that have one. Labs whose wire is emulated run a second time without it, and without other numbers of ranks.
plot_step = $(if $(LAB),,$(Q)printf '\n==== plot, step $1 of 4: $2\n')
plot: profile ## measure, predict and draw all labs in two minutes: build/report/index.html; LAB=07: only lab 07
	$(Q)mkdir -p results
ifndef LAB
	$(call plot_step,1,all collectives by all algorithms; then four backends)
	$(Q)$(B)/commlab bench all -n 2 --algo all --in-place 0 -e 8M --seconds 0.03s \
		--csv results/bench-shm-2.csv > results/bench-shm-2.txt && tail -n 1 results/bench-shm-2.txt
	$(Q)$(B)/commlab bench allreduce -n 2 --backend shm,ofi,gloo,mpi --in-place 0 -f 8 -e 16M \
		--seconds 0.05s --csv results/bench-backends-2.csv > results/bench-backends-2.txt && \
		tail -n 9 results/bench-backends-2.txt
endif
	$(call plot_step,2,all labs)
	$(Q)$(B)/commlab lab $(or $(LAB),all --pairs 6) --no-plot
	$(call plot_step,3,labs with an emulated network: the same without it)
	$(Q)for conf in $$(grep -l '^emulate' labs/$(LAB)*-*/lab.conf); do id=$${conf#labs/}; \
		$(B)/commlab lab $${id%%-*} --emulate none --pairs 6 --no-sweep --no-plot || exit 1; done
	$(call plot_step,4,the figures and the page)
	$(Q)$(B)/commlab report

# The matrix of bench, and the report of it. Exit status 3: this machine lacks all of it, and the command has said so.
BENCH_BACKENDS ?= gloo,shm,mpi
BENCH_BUDGET ?= 5min
run_matrix = $(Q)$(B)/commlab bench --matrix --budget $(BENCH_BUDGET) $1 $(BENCH_FLAGS) || [ $$? -eq 3 ]
bench-cpu bench-full: profile
bench-cpu: all ## measure ranks x sizes in five minutes, and report: BENCH_BACKENDS=gloo,shm,mpi BENCH_BUDGET=5min BENCH_FLAGS
	$(call run_matrix,--device cpu --backend $(BENCH_BACKENDS))
	$(Q)$(B)/commlab report
bench-gpu: all ## the same by NCCL on this machine's GPUs
	$(call run_matrix,--device cuda)
	$(Q)$(B)/commlab report
bench-full: all ## both, in one report
	$(call run_matrix,--device cpu --backend $(BENCH_BACKENDS))
	$(call run_matrix,--device cuda)
	$(Q)$(B)/commlab report

bench-peers: all ## compare with Open MPI and MPICH on this machine: PEERS_RANKS="2 4" PEERS_BACKEND=ofi (tests/peers/bench.sh)
	$(Q)tests/peers/bench.sh $(B) || [ $$? -eq 3 ]

bench-sockets: all ## compare 6 ranks over ofi with a plain program of sockets, on this machine: SOCKETS_RANKS=4 (tests/peers/sockets.sh)
	$(Q)tests/peers/sockets.sh $(B) || [ $$? -eq 3 ]

report: all ## draw all of results/, say what it means, and put it on one page: build/report/index.html
	$(Q)$(B)/commlab report

slides: all ## make the decks of slides/ as pages and PDF: build/slides/; DECK=07: only those whose name begins so
	$(Q)slides/build.sh $(B) $(DECK)

# One backend after another. Exit status 3: this machine lacks the backend, and the command has said so.
ACCURACY_BACKENDS ?= shm
ACCURACY_RANKS ?= 2
accuracy: all ## measure how good predictions are here, in five minutes; ACCURACY_BACKENDS=shm,ofi ACCURACY_RANKS=2
	$(Q)for backend in $(subst $(comma), ,$(ACCURACY_BACKENDS)); do \
		$(B)/commlab accuracy --backend $$backend -n $(ACCURACY_RANKS) || [ $$? -eq 3 ] || exit 1; done

# `make lab07` and so on: one target per folder of labs/.
lab_targets := $(foreach folder,$(wildcard labs/[0-9][0-9]-*),lab$(firstword $(subst -, ,$(notdir $(folder)))))
.PHONY: $(lab_targets)
# On a machine that is too busy to be measured, a lab runs all the same.
$(lab_targets): lab%: all
	$(Q){ test -e $(profile_file) && $(B)/commlab sim barrier --ranks 2 --net machine >/dev/null; } || $(B)/commlab fit || \
		echo 'make: there is no profile of this machine, so lab $* has no predictions for it; the rest of it runs'
	$(Q)$(B)/commlab lab $*
other_labs := $(filter-out $(lab_targets),$(filter lab%,$(MAKECMDGOALS)))
$(if $(other_labs),$(error there is no $(other_labs); there are: $(lab_targets)))

OUT ?= $(B)/gpu-check
gpu-check: ## with a GPU: run the checks that need one, in eight minutes; results go to OUT (build/gpu-check)
	+$(Q)exec env MAKE='$(MAKE)' bash tests/gpu_check.sh $(B) $(OUT)

PREFIX ?= /usr/local
install: all ## install below PREFIX (/usr/local) and DESTDIR: program, library, labs, manual pages, bash completion
	$(if $(filter build,$(B)),,$(error make install installs build/: without SAN))
	$(Q)printf '%s\n' '$(strip $(libraries))' >$(B)/libraries
	$(Q)./install.sh $(B) '$(PREFIX)' '$(DESTDIR)'

uninstall: ## remove what make install has put there
	$(Q)./install.sh --uninstall '$(PREFIX)' '$(DESTDIR)'

clean: ## remove build/ and the link ./commlab
	$(Q)rm -rf build commlab

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile pack/pack.mk tests/fakes/fakes.mk
	@echo '  make labNN    run lab NN: a table of measurements and predictions, and a figure'
	@echo
	@echo '  NO_X=1        build without X; WITH_X=1 fails if X is missing; X is one of'
	@echo '               ' $$(./probe.sh --list)
	@echo '  SAN=LIST      build with sanitizers into build/san-LIST; LIST is address,undefined or thread'
	@echo '  WERROR=1      treat compiler warnings as errors'
	@echo '  V=1           print each command'
	@echo '  MPICC=NAME    the compiler of the MPI for the mpi backend (mpicc), such as mpicc.mpich'
	@echo '  NVCC=PATH     the CUDA compiler for the nccl backend; CUDA_HOME and NCCL_HOME: folders of its libraries'
	@echo '  CC CPPFLAGS CFLAGS CXX CXXFLAGS LDFLAGS LDLIBS    as usual'

# Goals that build need the machine's answers; `make help` and `make clean` do not.
ifneq ($(filter-out clean help uninstall,$(or $(MAKECMDGOALS),all)),)

# ---- what the machine has -------------------------------------------------------------------------------------

# $(call keep,FILE,TEXT): rewrite FILE only if it does not hold TEXT, so that what depends on it is remade only then.
keep = $(if $(subst x$2,,x$(file <$1))$(subst x$(file <$1),,x$2),$(file >$1,$2))

$(shell mkdir -p $(B))
switches := $(sort $(filter NO_% WITH_%,$(.VARIABLES)))
probed_with := $(CXX) $(CXXFLAGS) $(MPICC) $(NVCC) $(CUDA_HOME) $(NCCL_HOME) \
    $(foreach switch,$(switches),$(switch)=$($(switch)))
$(call keep,$(B)/probes.key,$(compile) $(link) $(libraries) $(probed_with))

# A package that comes or goes changes one of these directories' time.
installed := $(wildcard /usr/include /usr/bin /usr/local/include /usr/local/bin /usr/local)

# The probes' lines are shown by whoever runs them, else, by `make`, from the last time.
include $(B)/probes.mk
$(B)/probes.mk: probe.sh $(B)/probes.key $(installed)
	@CC='$(CC)' FLAGS='$(CPPFLAGS) $(CFLAGS) $(sanitize)' LDFLAGS='$(LDFLAGS)' LDLIBS='$(LDLIBS)' \
	    CXX='$(CXX)' CXXFLAGS='$(CPPFLAGS) $(CXXFLAGS) $(sanitize)' MPICC='$(MPICC)' NVCC='$(NVCC)' \
	    CUDA_HOME='$(CUDA_HOME)' NCCL_HOME='$(NCCL_HOME)' \
	    $(foreach switch,$(switches),$(switch)='$($(switch))') ./probe.sh $@ $(B)/probes.txt

show: $(B)/probes.mk
	@$(if $(MAKE_RESTARTS)$(filter-out all,$(MAKECMDGOALS)),:,cat $(B)/probes.txt)

compile += $(probed_cppflags)
libraries := $(probed_ldlibs) $(libraries)
of_plugins := $(CXX) $(CXXFLAGS) $(probed_mpicc) $(kernels) $(probed_cuda_libraries)
$(call keep,$(B)/flags,$(compile) / $(link) / $(libraries) / $(of_plugins))
$(call keep,$(B)/objects,$(sort $(library_c) / $(cmd_c)))

# ---- what this build is: for the manifest of every result -----------------------------------------------------

commit := $(if $(wildcard .git),$(shell git --no-optional-locks describe --always --dirty --abbrev=12 2>/dev/null))
version := $(shell sed -n 's/^version: *//p' CITATION.cff | tr -d '"')
compiler := $(shell $(CC) --version | head -n 1)
define version_h
#define CLAB_BUILD_VERSION "$(or $(version),unknown)"
#define CLAB_BUILD_COMMIT "$(or $(commit),unknown)"
#define CLAB_BUILD_COMPILER "$(compiler)"
#define CLAB_BUILD_FLAGS "$(subst ",\",$(strip $(CPPFLAGS) $(CFLAGS) $(sanitize)))"
endef
$(call keep,$(B)/version.h,$(version_h))

version_o := $(B)/obj/core/base/machine/machine.o
$(version_o): $(B)/version.h
$(version_o): compile += -include $(B)/version.h

# ---- the labs' models: each has a name of its own, and cmd/lab/model.c the list of them ---------------------------

folder_of = $(notdir $(patsubst %/,%,$(dir $1)))
model_of = lab_model_$(subst -,_,$(call folder_of,$1))
$(foreach c,$(model_c),$(eval $(call objects,$c): compile += -DLAB_MODEL=$(call model_of,$c)))

models_h := \#define LAB_MODELS(X)$(foreach c,$(model_c), X("$(call folder_of,$c)", $(call model_of,$c)))
$(call keep,$(B)/models.h,$(models_h))
models_o := $(B)/obj/cmd/lab/model.o
$(models_o): $(B)/models.h
$(models_o): compile += -include $(B)/models.h

# ---- the units' checks, likewise; cmd/course/check.c has the list of them ------------------------------------------

check_of = lab_check_$(subst -,_,$(call folder_of,$1))
$(foreach c,$(check_c),$(eval $(call objects,$c): compile += -DLAB_CHECK=$(call check_of,$c)))

checks_h := \#define LAB_CHECKS(X)$(foreach c,$(check_c), X("$(patsubst %/,%,$(dir $c))", $(call check_of,$c)))
$(call keep,$(B)/checks.h,$(checks_h))
checks_o := $(B)/obj/cmd/course/check.o
$(checks_o): $(B)/checks.h
$(checks_o): compile += -include $(B)/checks.h

# ---- the homeworks, likewise; cmd/grade/homeworks.c has the list of them --------------------------------------------

graded_c := $(filter %/grade.c,$(homework_c))
linked_c := $(filter $(graded_c),$(cmd_c))
$(foreach c,$(graded_c),$(eval $(call objects,$c): compile += -DHOMEWORK=homework_$(call folder_of,$c)))

homeworks_h := \#define HOMEWORKS(X)$(foreach c,$(linked_c), X("$(call folder_of,$c)", homework_$(call folder_of,$c)))
$(call keep,$(B)/homeworks.h,$(homeworks_h))
homeworks_o := $(B)/obj/cmd/grade/homeworks.o
$(homeworks_o): $(B)/homeworks.h
$(homeworks_o): compile += -include $(B)/homeworks.h

# ---- labcc: how `commlab check` compiles a student's program -------------------------------------------------------
# build/labcc -o mine mine.c. Compiled fast, with symbols for a debugger.

to_root := $(patsubst %/,%,$(subst $(eval ) ,,$(foreach part,$(subst /, ,$(B)),../)))
define labcc
#!/bin/sh
build=$$(cd "$$(dirname "$$0")" && pwd) && root=$$build/$(to_root)
exec $(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra $(CPPFLAGS) -pthread $(sanitize) $(filter-out -O%,$(CFLAGS)) -O1 \
    -I"$$root" -I"$$root/core" -I"$$root/labs" -rdynamic -Wl,--as-needed $(LDFLAGS) "$$@" "$$build/libcommlab.a" $(libraries)
endef
$(call keep,$(B)/labcc.text,$(labcc))
$(B)/labcc: $(B)/labcc.text
	$(Q)install -m 755 $< $@
all: $(B)/labcc

# ---- the page of `show --format html`: its parts become strings ---------------------------------------------------

stepper_h := $(B)/stepper.h
stepper_o := $(B)/obj/core/schedule/draw/html.o
$(stepper_h): $(wildcard core/schedule/draw/stepper.*)
	@mkdir -p $(@D)
	$(Q)for kind in html css js; do echo "static const char stepper_$$kind[] ="; \
		sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' core/schedule/draw/stepper.$$kind || exit 1; echo ';'; done >$@
$(stepper_o): $(stepper_h)
$(stepper_o): compile += -include $(stepper_h)

# ---- the errors that `explain` knows become a string ---------------------------------------------------------------

errors_h := $(B)/known_errors.h
errors_o := $(B)/obj/cmd/explain/known.o
$(errors_h): cmd/explain/errors.conf
	@mkdir -p $(@D)
	$(Q)(echo 'static const char known_errors[] ='; sed 's/^#.*//; s/[\\"]/\\&/g; s/.*/"&\\n"/' $<; echo ';') >$@
$(errors_o): $(errors_h)
$(errors_o): compile += -include $(errors_h)

# ---- rules ----------------------------------------------------------------------------------------------------

$(B)/obj/%.o: %.c $(B)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(compile) -MMD -MP -c -o $@ $<

# A lab includes the public headers, and labs/lab.h, as a program outside the kit would; tests include labs.
$(call objects,$(lab_c) $(model_c) $(check_c) $(test_all_c) $(fuzz_c)): compile += -Icore -Ilabs
$(call objects,$(test_all_c)): | needs-cmocka
# cmocka hands each case a state, and callbacks get more than a test looks at.
$(call objects,$(test_all_c)): compile += -Wno-unused-parameter

# The compiler takes longer over most tests at -O3 than they run. Those that compute keep it, and builds with sanitizers,
# which are slow enough.
computing_c := $(conform_c) $(foreach test,conformance half lab_noise reduce,$(wildcard tests/*/test_$(test).c))
quick_c := $(if $(SAN),,$(filter-out $(computing_c),$(test_all_c) $(fuzz_c) $(faults_c)))
quick_o := $(call objects,$(quick_c)) $(patsubst tests/%.c,$(B)/obj/tests/gpu/%.o,$(wildcard tests/backends/test_device*.c))
quick := -O0
$(call keep,$(B)/quick,$(quick) $(quick_o))
$(quick_o): $(B)/quick
$(quick_o): compile += $(quick)

$(library): $(call objects,$(library_c)) $(B)/objects
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# The subcommands but not main, for the tests.
$(B)/libcmd.a: $(call objects,$(sort $(filter-out cmd/main.c,$(cmd_c)) $(homework_c))) $(B)/objects
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

$(B)/commlab: $(call objects,$(cmd_c)) $(library) $(B)/objects
	$(call say,LINK)
	$(Q)$(link) -o $@ $(filter %.o %.a,$^) $(libraries)

$(labs): $(B)/%: $(B)/obj/%.o $(library)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(link) -o $@ $^ $(libraries)

# Of all, since scripts run some of them, too.
$(foreach test,$(test_all_c),$(eval $(call in_tests,$(test)): $(call objects,$(test))))
$(call in_tests,$(test_all_c)): $(B)/libcmd.a $(library) | needs-cmocka
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(link) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(probed_test_ldlibs) $(libraries)

$(B)/tests/test_conformance: $(call objects,$(conform_c))

# Each allocation goes by the test, which lets it fail.
$(B)/tests/test_scarce: link += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc aligned_alloc free)

# A target has a log of its own, and its input from libFuzzer if that is among the sanitizers, else from drive.c.
drivers := $(addprefix $(B)/obj/tests/fuzz/,log.o $(if $(fuzzer),,drive.o))
$(targets): $(B)/%: $(B)/obj/%.o $(drivers) $(B)/libcmd.a $(library)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(link) $(addprefix -fsanitize=,$(fuzzer)) -o $@ $^ $(libraries)

$(faults): $(call objects,$(faults_c)) $(library)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(link) -o $@ $^ $(libraries)

# The driver's library of a machine that is not there.
$(fake_nvml): tests/fakes/nvml.c $(B)/flags
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(compile) -fPIC -shared $(LDFLAGS) -o $@ $<

# What gpu-check runs beside the kit: tests, also where there is no cmocka, a bare loop of NCCL calls, and ranks to kill.
gpu_stand_ins := $(addprefix $(B)/tests/gpu/,test_conformance test_device test_device_data)
gpu_tests := $(if $(probed_test_ldlibs),$(subst /gpu/,/,$(gpu_stand_ins)),$(gpu_stand_ins))
gpu_calls := $(B)/tests/gpu/calls
gpu_loop := $(if $(filter nccl,$(probed_plugins)),$(B)/tests/gpu/nccl_loop)
gpu_stream := $(if $(filter nccl,$(probed_plugins)),$(B)/tests/gpu/stream)
gpu-tools: $(gpu_tests) $(gpu_calls) $(gpu_loop) $(gpu_stream)

$(B)/obj/tests/gpu/%.o: tests/%.c $(B)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(compile) -Wno-unused-parameter -Icore -Itests/gpu -MMD -MP -c -o $@ $<

$(B)/tests/gpu/test_conformance: $(B)/obj/tests/gpu/comm/test_conformance.o $(call objects,$(conform_c))
$(B)/tests/gpu/test_device: $(B)/obj/tests/gpu/backends/test_device.o
$(B)/tests/gpu/test_device_data: $(B)/obj/tests/gpu/backends/test_device_data.o
$(gpu_stand_ins): $(B)/libcmd.a $(library)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(link) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libraries)

$(gpu_calls): $(B)/obj/tests/gpu/calls.o $(library)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(link) -o $@ $^ $(libraries)

$(B)/obj/tests/gpu/nccl_loop.o: compile = $(CC) -std=c11 $(any) $(CFLAGS) $(probed_cuda_includes)
$(B)/tests/gpu/nccl_loop: $(B)/obj/tests/gpu/nccl_loop.o
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -pthread $(sanitize) $(LDFLAGS) -o $@ $^ $(probed_cuda_libraries) \
	    $(addprefix -Wl$(comma)-rpath$(comma),$(sort $(dir $(probed_cuda_libraries))))

$(B)/obj/tests/gpu/stream.o: compile = $(CC) -std=c11 $(any) $(CFLAGS) -Icore $(probed_cuda_includes)
$(B)/tests/gpu/stream: $(B)/obj/tests/gpu/stream.o $(library)
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(link) -o $@ $^ $(libraries) $(probed_cuda_libraries) \
	    $(addprefix -Wl$(comma)-rpath$(comma),$(sort $(dir $(probed_cuda_libraries))))

commlab: $(B)/commlab
	$(Q)ln -sf $< $@

# ---- plugins --------------------------------------------------------------------------------------------------
# Each is built by its library's compiler, and holds nothing of the core. One that is no longer wanted goes.

plugins := $(patsubst %,$(B)/backends/%.so,$(probed_plugins) libnccl-tuner-commlab libnccl-profiler-commlab)
plugin_o = $(patsubst %,$(B)/obj/%.o,$(basename $(wildcard backends/$1/*.c backends/$1/*.cc backends/$1/*.cu)))
$(shell rm -f $(filter-out $(plugins),$(wildcard $(B)/backends/*.so)))
all: $(plugins)

gloo_o := $(call plugin_o,gloo)
$(gloo_o): compile = $(CXX) -std=c++17 $(any) $(CXXFLAGS) -fPIC -fvisibility=hidden
$(B)/backends/gloo.so: $(gloo_o)
$(B)/backends/gloo.so: link_plugin = $(CXX) -shared $(CXXFLAGS) -pthread $(sanitize) $(LDFLAGS)
$(B)/backends/gloo.so: plugin_libraries = -lgloo

mpi_o := $(call plugin_o,mpi)
$(mpi_o): compile = $(probed_mpicc) -std=c11 $(any) $(CFLAGS) -fPIC -fvisibility=hidden \
    -DCLAB_MPIRUN='"$(probed_mpirun)"'
$(B)/backends/mpi.so: $(mpi_o)
$(B)/backends/mpi.so: link_plugin = $(probed_mpicc) -shared $(CFLAGS) -pthread $(sanitize) $(LDFLAGS)

# What NCCL loads instead of us: it needs nothing of NCCL to be built, and stands alone, so that what it shares with the
# core is compiled for it once more.
tuner_c := $(wildcard backends/nccl-tuner/*.c) sim/nccl/rows.c core/schedule/formats/choices.c \
    $(addprefix core/base/,variables.c units.c vector.c)
tuner_o := $(patsubst %.c,$(B)/alone/%.o,$(tuner_c))
$(B)/backends/libnccl-tuner-commlab.so: $(tuner_o)
profiler_c := $(wildcard backends/nccl-profiler/*.c) $(addprefix core/base/,machine/called.c err.c log.c files/output.c machine/trust.c variables.c text.c)
profiler_o := $(patsubst %.c,$(B)/alone/%.o,$(profiler_c))
$(B)/backends/libnccl-profiler-commlab.so: $(profiler_o)
$(B)/backends/libnccl-%.so: link_plugin = $(CC) -shared $(CFLAGS) -pthread $(sanitize) \
    -Wl,--as-needed,-z,nodelete $(if $(sanitize),,-Wl$(comma)-z$(comma)defs) $(LDFLAGS)
$(B)/backends/libnccl-%.so: plugin_libraries = -lm

$(B)/alone/%.o: %.c $(B)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(compile) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

# C by the C compiler, kernels by nvcc, whose host code goes without sanitizers. The libraries are named by their files,
# and found again where they are.
nccl_o := $(call plugin_o,nccl)
$(nccl_o): compile = $(CC) -std=c11 $(any) $(CFLAGS) -fPIC -fvisibility=hidden $(probed_cuda_includes)
$(B)/backends/nccl.so: $(nccl_o)
$(B)/backends/nccl.so: link_plugin = $(CC) -shared $(CFLAGS) -pthread $(sanitize) $(LDFLAGS) \
    $(addprefix -Wl$(comma)-rpath$(comma),$(sort $(dir $(probed_cuda_libraries))))
$(B)/backends/nccl.so: plugin_libraries = -lstdc++ -ldl -lm \
    $(foreach file,$(probed_cuda_libraries),$(if $(findstring /libcublas.so,$(file)),,$(file)))
# The processor's results, to the bit: multiplying and adding are two roundings there.
kernels := $(probed_nvcc) -ccbin $(CXX) -std=c++17 -O3 --fmad=false -I. $(probed_cuda_includes) \
    $(probed_cuda_targets) -Xcompiler -fPIC$(comma)-fvisibility=hidden$(comma)-Wall \
    $(if $(filter-out 0,$(WERROR)),-Werror all-warnings)

$(B)/obj/%.o: %.cu $(B)/flags
	$(call say,NVCC)
	@mkdir -p $(@D)
	$(Q)$(kernels) -MMD -MP -c -o $@ $<

$(plugins): $(B)/flags
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(link_plugin) -o $@ $(filter %.o,$^) $(plugin_libraries) $(LDLIBS)

$(B)/obj/%.o: %.cc $(B)/flags
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(compile) -MMD -MP -c -o $@ $<

.PHONY: needs-cmocka
needs-cmocka: $(B)/probes.mk
	@$(if $(probed_test_ldlibs),:,echo 'the tests need cmocka: ./setup.sh installs it' >&2; exit 1)

include tests/fakes/fakes.mk
include pack/pack.mk

# What only a full run asks for, or T (tests/run.sh).
is_full := $(CLAB_TEST_FULL)$(filter test-full,$(MAKECMDGOALS))$(T)
tests: $(if $(is_full),$(call run_by,test_fuzz.sh,$(targets))) $(call run_by,test_faults.sh,$(faults)) \
    $(call run_by,test_doctor.sh,$(fake_nvml)) \
    $(if $(is_full),$(call run_by,test_gpu_check.sh,$(gpu_tests) $(gpu_stand_ins) $(gpu_calls) $(gpu_loop) $(gpu_stream) $(fake_libraries))) \
    $(call run_by,test_mpi.sh,$(B)/tests/test_mismatch) \
    $(call run_by,test_nccl_fake.sh,$(addprefix $(B)/tests/test_,conformance shrink nccl_waits nccl_stream) $(gpu_stream)) \
    $(foreach script,far gloo mpi mpi_conforms,$(call run_by,test_$(script).sh,$(B)/tests/test_conformance))

all_c := $(sort $(library_c) $(cmd_c) $(homework_c)) $(lab_c) $(test_all_c) $(fuzz_c) $(faults_c) $(conform_c)
all_o := $(call objects,$(all_c)) $(gloo_o) $(mpi_o) $(nccl_o) $(tuner_o) $(profiler_o)
-include $(wildcard $(B)/obj/tests/gpu/*.d $(B)/obj/tests/gpu/*/*.d) $(all_o:.o=.d)

endif
