# SPDX-License-Identifier: MIT
# The fakes: libcudart, libnccl and libcublas on the CPU, in $(B)/fakes, where CUDA and NCCL are found (README.md beside
# this).
#
# - They have the names of the real ones, and the version of their symbols (libcudart.so.13), so that what was linked
#   against those runs over these: LD_LIBRARY_PATH=build/fakes.
# - Kernels are compiled by the C++ compiler from the files that nvcc compiles; host_kernels.inc lists them.
# - The programs that test them are linked against the real ones.

.PHONY: fakes
fakes: ## build the CUDA and NCCL that run GPU code on the CPU, for tests: build/fakes

ifneq ($(filter nccl,$(probed_plugins)),)

fake_real = $(firstword $(foreach file,$(probed_cuda_libraries),$(if $(findstring /lib$1.so,$(file)),$(file))))
fake_soname = $(or $(shell objdump -p $(call fake_real,$1) 2>/dev/null | awk '$$1 == "SONAME" { print $$2 }'),lib$1.so)
fake_cudart := $(B)/fakes/$(call fake_soname,cudart)
fake_nccl := $(B)/fakes/$(call fake_soname,nccl)
fake_cublas := $(B)/fakes/$(call fake_soname,cublas)
fake_tool := $(B)/fakes/nvtx_tool.so
fake_libraries := $(fake_cudart) $(fake_nccl) $(fake_cublas) $(fake_tool)
fakes: $(fake_libraries)
tests: fakes

fake_o = $(patsubst tests/fakes/%,$(B)/obj/tests/fakes/%.o,$(basename $(wildcard tests/fakes/$1.c tests/fakes/$1.cc)))
fake_cudart_o := $(call fake_o,cudart_*) $(call fake_o,faults)
fake_nccl_o := $(call fake_o,nccl_*) $(call fake_o,faults)
fake_cublas_o := $(call fake_o,cublas)
fake_all_o := $(sort $(fake_cudart_o) $(fake_nccl_o) $(fake_cublas_o))
fake_kernels := $(wildcard backends/nccl/kernels.cu tests/fakes/sample.cu)

# The compiler takes longer over them at -O3 than they run.
fake_quick := $(if $(SAN),,-O1)
$(fake_all_o): compile = $(CC) -std=c11 $(any) $(CFLAGS) $(fake_quick) -fPIC $(probed_cuda_includes)
# A thread's place in the grid is read by each thread of each kernel.
fake_cxx = $(CXX) -std=c++17 $(any) $(CXXFLAGS) $(fake_quick) -fPIC -ftls-model=initial-exec $(probed_cuda_includes) -Itests/fakes
$(B)/obj/tests/fakes/cudart_launch.o: compile = $(fake_cxx) -I$(B)/obj/tests/fakes
$(B)/obj/tests/fakes/cudart_launch.o: $(B)/obj/tests/fakes/host_kernels.inc $(B)/obj/tests/fakes/kernels.inc

$(B)/obj/tests/fakes/kernels.inc: tests/fakes/fakes.mk $(B)/flags
	@mkdir -p $(@D)
	$(Q)printf '#include "%s"\n' $(abspath $(fake_kernels)) > $@

$(B)/obj/tests/fakes/host_kernels.inc: $(fake_kernels) tests/fakes/cuda_as_cpp.h $(B)/obj/tests/fakes/kernels.inc
	$(Q)$(fake_cxx) -E -P -DFAKE_LIST -include tests/fakes/cuda_as_cpp.h -xc++ $(B)/obj/tests/fakes/kernels.inc | \
	    tr '\n' ' ' | grep -oE 'fake_kernel +void +[A-Za-z_0-9]+' | awk '{ print "HOST_KERNEL(" $$3 ")" }' > $@

fake_link = $(CXX) -shared $(CXXFLAGS) -pthread $(sanitize) $(if $(SAN),,-Wl$(comma)-z$(comma)defs) $(LDFLAGS) \
    -Wl,-soname,$(@F) -o $@ $(filter %.o $(fake_cudart),$^)
# Nothing else is seen: a program may have functions of the same names. The symbols of the real NCCL have no version.
fake_versions = -Wl,--version-script=$(B)/obj/tests/fakes/$(@F).map
$(B)/obj/tests/fakes/%.map: tests/fakes/fakes.mk
	@mkdir -p $(@D)
	$(Q)echo '$(if $(findstring nccl,$*),,$*) { global: cuda*; __cuda*; nccl*; cublas*; clab_fake_*; local: *; };' > $@

$(fake_cudart): $(fake_cudart_o) $(B)/flags | $(B)/obj/tests/fakes/$(notdir $(fake_cudart)).map
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(fake_link) $(fake_versions)
$(fake_cublas): $(fake_cublas_o) $(fake_cudart) $(B)/flags | $(B)/obj/tests/fakes/$(notdir $(fake_cublas)).map
	$(call say,LINK)
	$(Q)$(fake_link) $(fake_versions)
$(fake_nccl): $(fake_nccl_o) $(fake_cudart) $(B)/flags | $(B)/obj/tests/fakes/$(notdir $(fake_nccl)).map
	$(call say,LINK)
	$(Q)$(fake_link) $(fake_versions)

$(fake_tool): tests/fakes/nvtx_tool.c $(B)/flags
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 $(any) $(CFLAGS) -fPIC -shared -fvisibility=hidden $(probed_cuda_includes) $(LDFLAGS) -o $@ $<

fake_try_o := $(call fake_o,try_*)
fake_tries := $(patsubst $(B)/obj/%.o,$(B)/%,$(fake_try_o))
$(fake_try_o): compile = $(CC) -std=c11 $(any) $(CFLAGS) $(if $(SAN),,$(quick)) $(probed_cuda_includes)
# Its code for a GPU never runs: one kind of GPU is enough.
$(B)/obj/tests/fakes/sample.o: kernels := $(subst $(strip $(probed_cuda_targets)),$(wordlist 1,2,$(probed_cuda_targets)),$(kernels))
$(fake_tries): $(B)/%: $(B)/obj/%.o $(B)/obj/tests/fakes/sample.o | needs-cmocka
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -pthread $(sanitize) $(LDFLAGS) -o $@ $^ $(probed_test_ldlibs) $(probed_cuda_libraries) \
	    $(addprefix -Wl$(comma)-rpath$(comma),$(sort $(dir $(probed_cuda_libraries)))) -lstdc++ -lm

tests: $(call run_by,test_fakes.sh,$(fake_tries)) $(call run_by,test_device_cuda.sh,$(fake_libraries))

-include $(patsubst %.o,%.d,$(fake_all_o) $(fake_try_o))

else

fakes:
	@grep '^✗ nccl: ' $(B)/probes.txt

endif
