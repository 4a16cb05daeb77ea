#!/bin/bash
# SPDX-License-Identifier: MIT
# Finds out which libraries and programs this machine has. Each probe compiles and links a small program, or runs the
# program in question. It prints one line: what the kit gains, or what it lacks and the command that installs it.
#
#   probe.sh MK TXT    write make's variables to MK, and the lines to TXT and to the screen
#   probe.sh --list    print the names of all probes
#
# Environment: CC, FLAGS, CXX, CXXFLAGS, MPICC, NVCC, LDFLAGS, LDLIBS as for the build. NO_X=1 turns X off; WITH_X=1
# fails if X is missing. CUDA_HOME and NCCL_HOME are the folders of CUDA and NCCL, if these are in unusual places.
set -u

failed=0
cuda_lacks= cuda_nvcc= cuda_includes= cuda_libraries=
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
: >"$work/mk"
: >"$work/txt"

# Succeeds if the C program on standard input compiles and links with the libraries $@. An undeclared function is an
# error: else the program would link even with a wrong header of that name.
links() {
    cat >"$work/try.c"
    # Unquoted: each of these is a list of words.
    ${CC:-gcc} -Werror=implicit-function-declaration ${FLAGS-} -o "$work/try" "$work/try.c" \
        ${LDFLAGS-} "$@" ${LDLIBS-} >"$work/log" 2>&1
}

# The same of a C++ program and a shared object, as plugins are.
links_cxx() {
    cat >"$work/try.cc"
    ${CXX:-g++} -std=c++17 ${CXXFLAGS-} -fPIC -shared -Wl,-z,defs -o "$work/try.so" "$work/try.cc" \
        ${LDFLAGS-} "$@" ${LDLIBS-} >"$work/log" 2>&1
}

# The same of a C program by the compiler of an MPI.
links_mpi() { CC=${MPICC:-mpicc} links; }

# Prints the mpirun of the MPI whose compiler is $1, or nothing. Debian has an mpirun per MPI; other systems have it
# beside the compiler.
mpirun_of() {
    local name kind=mpich
    "$1" -E -dM -include mpi.h -xc /dev/null 2>/dev/null | grep -qw OPEN_MPI && kind=openmpi
    for name in mpirun.$kind mpirun mpiexec; do
        [ -x "$(dirname "$1")/$name" ] && echo "$(dirname "$1")/$name" && return
    done
}

# ---- CUDA and NCCL: a toolkit, the system's packages, or the folders of Python's wheels, in any mixture -------------

# Prints the first of the files $@ that exists.
first_of() {
    local file
    for file; do
        [ -e "$file" ] && echo "$file" && return
    done
    false
}

# Prints the folders of NVIDIA's Python wheels: each has a folder in nvidia/, with include/ and lib/.
wheel_folders() {
    python3 -c 'import glob, sys
for path in sys.path: print(*glob.glob(path + "/nvidia/*"), sep="\n")' 2>/dev/null
}

# find_header NAME FOLDER... prints the folder of the header. find_library NAME FOLDER... prints the library's file; in
# wheels, only a name with the version exists.
find_header() {
    local name=$1 file
    shift
    file=$(first_of "${@/%//include/$name}" "${@/%//$name}" "/usr/include/$name" "/usr/local/include/$name") &&
        dirname "$file"
}
find_library() {
    local name=$1 folder pattern
    shift
    for folder in "$@" /usr/local /usr; do
        for pattern in "$folder"/{lib64,lib,targets/*/lib,lib/*-linux-gnu}/lib"$name".so{,.*}; do
            [ -e "$pattern" ] && echo "$pattern" && return
        done
    done
    false
}

# Prints the value of macro $2 in header $1.
macro() { sed -n "s/^#define  *$2  *\([0-9]*\).*/\1/p" "$1" 2>/dev/null | head -n 1; }

# Finds everything that the plugin needs, and sets cuda_*. If something is missing, `cuda_lacks` names it.
find_cuda() {
    local folders wheels IFS=$'\n'
    cuda_lacks= cuda_includes= cuda_libraries=
    wheels=($(wheel_folders))
    folders=(${CUDA_HOME-} ${CUDA_PATH-} /usr/local/cuda $(ls -d /usr/local/cuda-* 2>/dev/null | sort -Vr) /opt/cuda)
    cuda_nvcc=$(command -v "${NVCC:-nvcc}" || { [ -z "${NVCC-}" ] &&
        first_of "${folders[@]/%//bin/nvcc}" "${wheels[@]/%//bin/nvcc}"; }) || { cuda_lacks=nvcc && return; }
    cuda_home=$(dirname "$(dirname "$(readlink -f "$cuda_nvcc")")")
    local name header
    for name in cudart nccl cublas; do
        case $name in
        cudart) header=cuda_runtime.h && folders=("$cuda_home" ${CUDA_HOME-} ${wheels[@]}) ;;
        nccl) header=nccl.h && folders=(${NCCL_HOME-} "$cuda_home" ${wheels[@]}) ;;
        cublas) header=cublas_v2.h && folders=("$cuda_home" ${CUDA_HOME-} ${wheels[@]}) ;;
        esac
        local include library
        include=$(find_header $header "${folders[@]}") || { cuda_lacks=$header && return; }
        library=$(find_library $name "${folders[@]}") || { cuda_lacks=lib$name.so && return; }
        [[ $cuda_includes == *"-isystem $include "* || $include = /usr/include ]] || cuda_includes+="-isystem $include "
        cuda_libraries+="$library "
        [ $name != nccl ] || nccl_header=$include/nccl.h nccl_library=$library
    done
}

# Prints "CUDA 13.0 by /usr/local/cuda-13.0/bin/nvcc, NCCL 2.28.9 of /usr/lib".
cuda_found() {
    local version
    version=$("$cuda_nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
    echo "CUDA $version by $cuda_nvcc, NCCL $(macro "$nccl_header" NCCL_MAJOR).$(macro "$nccl_header" NCCL_MINOR).$(
        macro "$nccl_header" NCCL_PATCH) of $(dirname "$nccl_library")"
}

# Succeeds if nvcc compiles a kernel: it accepts only some versions of C++ compilers.
compiles_kernels() {
    echo 'extern "C" __global__ void twice(float *x) { *x *= 2; }
extern "C" void start(float *x) { twice<<<1, 1>>>(x); }' >"$work/kernel.cu"
    # Unquoted, here and below: lists of words.
    "$cuda_nvcc" -ccbin "${CXX:-g++}" -Xcompiler -fPIC $cuda_includes -c -o "$work/kernel.o" "$work/kernel.cu" \
        >"$work/log" 2>&1
}

# Succeeds if the C program on standard input links with that kernel and all libraries.
links_cuda() {
    [ -z "$cuda_lacks" ] || return
    cat >"$work/try.c"
    ${CC:-gcc} ${FLAGS-} $cuda_includes -fPIC -Wl,--allow-shlib-undefined -o "$work/try" "$work/try.c" \
        "$work/kernel.o" ${LDFLAGS-} $cuda_libraries -lstdc++ ${LDLIBS-} >"$work/log" 2>&1
}

# Prints nvcc's options for the GPUs that kernels are compiled for: machine code for the A100 (80), and for the H100 and
# H200 (90). For all other GPUs, drivers compile PTX at the first start: older ones take that of the oldest generation
# that this nvcc knows, later ones that of the newest one here. Each takes nvcc some seconds.
cuda_targets() {
    local known arch oldest= newest=
    known=$("$cuda_nvcc" --list-gpu-arch)
    for arch in 70 75 80 90; do
        grep -qx "compute_$arch" <<<"$known" || continue
        oldest=${oldest:-$arch} newest=$arch
        [ $arch -lt 80 ] || echo "-gencode arch=compute_$arch,code=sm_$arch"
    done >"$work/targets"
    for arch in $(printf '%s\n' $oldest $newest | uniq); do
        echo "-gencode arch=compute_$arch,code=compute_$arch"
    done >>"$work/targets"
    paste -sd' ' "$work/targets"
}

# ---- lines for the reader ----------------------------------------------------------------------------------------

# Prints the command that installs $1 (Debian's name) or $2 (Fedora's name) here.
install_hint() {
    if command -v apt-get >/dev/null; then echo "apt-get install $1"
    elif command -v dnf >/dev/null; then echo "dnf install $2"
    else echo "install $1 (Debian) or $2 (Fedora)"; fi
}

say() { echo "$*" | tee -a "$work/txt"; }

# probe NAME GIVES LOST DEBIAN FEDORA MK TEST...
#   Runs TEST. If it succeeds, make reads the line MK. GIVES and LOST are texts for the reader.
probe() {
    local name=$1 gives=$2 lost=$3 debian=$4 fedora=$5 mk=$6 upper=${1^^}
    shift 6
    local no=NO_${upper//-/_} with=WITH_${upper//-/_}
    if [ "${!no:-0}" != 0 ]; then
        say "✗ $name: $lost; turned off by $no=${!no}"
    elif "$@"; then
        say "✓ $name: $gives"
        [ -z "$mk" ] || echo "$mk" >>"$work/mk"
        return
    else
        say "✗ $name: $lost; $(install_hint "$debian" "$fedora")"
    fi
    if [ "${!with:-0}" != 0 ]; then
        echo "probe.sh: $name is missing, and $with=${!with} asks for it" >&2
        failed=1
    fi
}

# library NAME GIVES LOST DEBIAN FEDORA, with a program on standard input: the whole build gets HAVE_NAME and -lNAME.
library() {
    probe "$@" "probed_cppflags += -DHAVE_${1^^}
probed_ldlibs += -l$1" links "-l$1"
}

# One call per probe; --list calls `all`, too.
all() {
    library jansson 'JSON: --json, profiles' 'no JSON: --json and profiles do not work' \
        libjansson-dev jansson-devel <<'C'
#include <jansson.h>
int main(void) { json_t *json = json_object(); json_decref(json); return !json; }
C
    library inih 'reads the files of networks and labs' 'no networks and no labs' libinih-dev inih-devel <<'C'
#include <ini.h>
static int take(void *user, const char *section, const char *name, const char *value)
{ (void)user; (void)section; (void)name; (void)value; return 1; }
int main(void) { return ini_parse("", take, 0) == 0; }
C
    library expat 'reads schedules in MSCCL'"'"'s XML' 'no XML: --msccl does not work' libexpat1-dev expat-devel <<'C'
#include <expat.h>
int main(void) { XML_Parser parser = XML_ParserCreate(0); XML_ParserFree(parser); return !parser; }
C
    library sodium 'jobs over several nodes, or started by mpirun and others: ranks prove that they know the token' \
        'no job over several nodes, or started by mpirun, srun, torchrun or with MASTER_ADDR' \
        libsodium-dev libsodium-devel <<'C'
#include <sodium.h>
int main(void)
{
    crypto_auth_hmacsha512256_state state;
    unsigned char proof[crypto_auth_hmacsha512256_BYTES];
    if (sodium_init() < 0)
        return 1;
    crypto_auth_hmacsha512256_init(&state, proof, 16);
    crypto_auth_hmacsha512256_final(&state, proof);
    return sodium_memcmp(proof, proof, sizeof proof);
}
C
    library seccomp 'programs of students that others grade get a filter of system calls' \
        'grades without a filter of system calls: limits, namespaces and Landlock are left' \
        libseccomp-dev libseccomp-devel <<'C'
#include <seccomp.h>
int main(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    seccomp_release(filter);
    return !filter;
}
C
    probe cmocka 'the tests' 'no tests' libcmocka-dev libcmocka-devel 'probed_test_ldlibs += -lcmocka' links \
        -lcmocka <<'C'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
static void nothing(void **state) { (void)state; }
static const struct CMUnitTest tests[] = {cmocka_unit_test(nothing)};
int main(void) { return cmocka_run_group_tests(tests, 0, 0); }
C
    # Debian has the header in a separate folder. The kit loads the library at run time, and does not link it.
    local pmix= folder
    for folder in /usr/lib/*/pmix2/include; do
        [ ! -e "$folder/pmix.h" ] || pmix="-I$folder"
    done
    probe pmix 'ranks that Open MPI starts find each other' \
        'ranks that Open MPI starts find each other by MASTER_ADDR only' libpmix-dev pmix-devel \
        "probed_cppflags += -DHAVE_PMIX $pmix" links $pmix -lpmix <<'C'
#include <pmix.h>
int main(void) { return PMIx_Initialized(); }
C
    # Fedora has the header in a separate folder. The kit loads the library at run time, and does not link it.
    local blas=
    [ ! -e /usr/include/openblas/cblas.h ] || blas=-I/usr/include/openblas
    probe openblas 'fast matrix products in the training job' 'slow matrix products in the training job' \
        libopenblas-dev openblas-devel "probed_cppflags += -DHAVE_OPENBLAS $blas" links $blas -lopenblas <<'C'
#include <cblas.h>
void openblas_set_num_threads(int n);
int main(void)
{
    float one = 1, product = 0;
    openblas_set_num_threads(1);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, &one, 1, &one, 1, 0, &product, 1);
    return product != 1;
}
C
    probe gloo 'the gloo backend, a plugin' 'no gloo backend' 'libgloo-dev g++' 'gloo-devel gcc-c++' \
        'probed_plugins += gloo' links_cxx -lgloo <<'CXX'
#include <gloo/allreduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
int main()
{
    gloo::transport::tcp::attr attr("127.0.0.1");
    auto context = std::make_shared<gloo::rendezvous::Context>(0, 1);
    gloo::AllreduceOptions options(context);
    return gloo::transport::tcp::CreateDevice(attr) == nullptr;
}
CXX
    # The kit loads the library at run time, and does not link it.
    probe libfabric 'the backend ofi: TCP between hosts, and fast networks of clusters' 'no backend ofi' \
        libfabric-dev libfabric-devel 'probed_backends += ofi
probed_cppflags += -DHAVE_LIBFABRIC' links -lfabric <<'C'
#include <rdma/fi_tagged.h>
int main(void) { return FI_VERSION_LT(fi_version(), FI_VERSION(1, 11)); }
C
    local mpicc mpirun=
    mpicc=$(command -v "${MPICC:-mpicc}") && mpirun=$(mpirun_of "$mpicc")
    probe mpi "the mpi backend, a plugin, by ${mpicc##*/} and ${mpirun:-no mpirun}" 'no mpi backend' \
        libopenmpi-dev openmpi-devel "probed_plugins += mpi
probed_mpicc := $mpicc
probed_mpirun := $mpirun" links_mpi <<'C'
#include <mpi.h>
#if MPI_VERSION < 3
#error "collectives that do not block came with MPI 3"
#endif
int main(int argc, char **argv) { MPI_Request r; return MPI_Init(&argc, &argv) || MPI_Ibarrier(MPI_COMM_WORLD, &r); }
C
    local found= targets=
    if [ "${NO_NCCL:-0}" = 0 ]; then
        find_cuda
        [ -n "$cuda_lacks" ] || compiles_kernels || cuda_lacks="C++ compiler that $cuda_nvcc can use (CXX)"
        [ -n "$cuda_lacks" ] || found=$(cuda_found) targets=$(cuda_targets)
    fi
    probe nccl "the nccl backend for GPUs, a plugin: $found" \
        "no nccl backend for GPUs${cuda_lacks:+: there is no $cuda_lacks}" 'nvidia-cuda-toolkit libnccl-dev' \
        'cuda-toolkit libnccl-devel' "probed_plugins += nccl
probed_nvcc := $cuda_nvcc
probed_cuda_includes := $cuda_includes
probed_cuda_libraries := $cuda_libraries
probed_cuda_targets := $targets" links_cuda <<'C'
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#if NCCL_VERSION_CODE < 21800
#error "communicators are split and made without blocking from NCCL 2.18 on"
#endif
void start(float *x);
int main(void)
{
    int n;
    cublasHandle_t handle;
    start(0);
    return cudaGetDeviceCount(&n) || ncclGetVersion(&n) || cublasCreate(&handle);
}
C
    probe gnuplot 'figures as SVG and PNG' 'no figures' \
        'gnuplot-nox fonts-dejavu-core' 'gnuplot dejavu-sans-fonts' '' draws
    probe libfuzzer 'make fuzz sees which input reaches new code' 'make fuzz changes its input at random' \
        'clang libclang-rt-dev' 'clang compiler-rt' \
        'probed_fuzz := CC=clang SAN=fuzzer-no-link,address,undefined' fuzzes
}

# A gnuplot may lack the terminals (output formats) of the figures.
draws() {
    gnuplot -e 'set terminal svg; set output "/dev/null"; plot x; set terminal pngcairo; plot x' >"$work/log" 2>&1
}

# A clang may lack its runtime library.
fuzzes() {
    echo 'int LLVMFuzzerTestOneInput(const void *data, unsigned long n) { return 0 * !data * (int)n; }' >"$work/try.c"
    clang -fsanitize=fuzzer,address,undefined -o "$work/try" "$work/try.c" >"$work/log" 2>&1
}

if [ "${1-}" = --list ]; then
    probe() { printf '%s ' "$(tr a-z- A-Z_ <<<"$1")"; }
    all
    echo
    exit
fi
if ! echo 'int main(void) { return 0; }' | links; then
    echo "✗ ${CC:-gcc}: nothing can be built; $(install_hint 'gcc libc6-dev' 'gcc glibc-devel')" >&2
    cat "$work/log" >&2
    exit 1
fi
all
[ $failed = 0 ] || exit 1
mv "$work/mk" "$1" && mv "$work/txt" "$2"
