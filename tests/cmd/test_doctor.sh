#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab doctor`: this machine without a GPU, and machines that are not there: a tree of /proc and /sys, and a
# driver's library that answers from the environment (tests/fakes/nvml.c).
# Usage: test_doctor.sh [BUILD]. Waits long.

. tests/cases.sh
for name in ${!NCCL_*} ${!CUDA_*} ${!CLAB_*} ${!OMP_*} ${!TORCH_*} ${!MASTER_*}; do
    unset "$name"
done
subject=("$commlab" doctor --all)
build=$(realpath "$build") tree=$scratch/tree
mkdir "$scratch/lib" && ln -s "$build/fakes/libnvidia-ml.so.1" "$scratch/lib"

# with VARIABLE=VALUE... -- COMMAND...: the command with the fake driver's library, and these variables.
with() {
    local old=("${subject[@]}") settings=() status
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    subject=(env LD_LIBRARY_PATH="$scratch/lib" "${settings[@]}" "${old[@]}")
    "$@"
    status=$?
    subject=("${old[@]}")
    return $status
}

# finds LINE...: each is in the output; a line that was folded counts as one.
finds() {
    local line all
    all=$(awk '{ sub(/ $/, "") } /^           / { sub(/^ +/, " ") } !/^ / || /^  [a-z]/ { printf "\n" } { printf "%s", $0 }
        END { print "" }' "$scratch/out")
    for line; do
        why="no '$line' in:$(grep -E 'warning|broken|missing' <<<"$all")"
        grep -qF -- "$line" <<<"$all" || return 1
    done
}

# ---- this machine ----------------------------------------------------------------------------------------------

has_no_nvidia() { [ ! -e /proc/driver/nvidia/version ] && ! ldconfig -p 2>/dev/null | grep -q libnvidia-ml; }

says_what_a_machine_without_a_gpu_lacks() {
    run 0 || return 1
    finds '  ok       commlab: version' '  ok       shm: shared memory' 'a rank can attach' '  ok       cores: ' \
        '  ok       memory: ' \
        '  missing  driver: no NVIDIA GPU, and no NVML (libnvidia-ml.so.1); nothing to do for shm' \
        'the kit works here' 'what to do first:'
}
# Tried on a socket of doctor's own.
says_who_can_connect_to_ranks() {
    grep -q '^✓ libfabric' "$build/probes.txt" || return 0
    run 0 && finds '  ok       ofi over TCP: a rank takes messages of its job only; others can connect'
}
# What the build's probes say is what is said of the build.
says_of_each_library_what_its_probe_says() {
    local mark name
    run 0 || return 1
    while read -r mark name _; do
        [ "$mark" = ✓ ] && mark='ok      ' || mark='missing '
        finds "  $mark $name" || return 1
    done <"$build/probes.txt"
}
lists_each_backend() {
    local name
    run 0 || return 1
    for name in shm sim $(cd "$build/backends" 2>/dev/null && ls | sed -n 's/^\([a-z]*\)\.so$/\1/p'); do
        why="no line of $name in $(cat "$scratch/out")"
        grep -qE "^  (ok|missing|broken) +$name: " "$scratch/out" || return 1
    done
}
# Of no library that was asked, either.
leaves_no_files() {
    mkdir "$scratch/temporary" || return 1
    TMPDIR=$scratch/temporary run 0 || return 1
    why="left: $(find "$scratch/temporary" -mindepth 1)"
    [ "$why" = 'left: ' ]
}
stays_within_120_columns() {
    with NCCL_DEBUG_SUBSYS=FOO NCCL_ALGO="$(printf 'x%.0s' {1..300})" NCCL_P2P_DISABLE=1 -- run 0 || return 1
    why=$(awk 'length > 120' "$scratch/out")
    [ -z "$why" ]
}
says_json() {
    with NCCL_BUFSIZE=1 -- run 0 --gpu --json || return 1
    why=$(python3 - "$scratch/out" 2>&1 <<'PY'
import json, sys
all = json.load(open(sys.argv[1]))
assert all["works"] is True, all["works"]
levels = {f["level"] for f in all["findings"]}
assert levels <= {"ok", "missing", "warning", "broken"}, levels
(one,) = [f for f in all["findings"] if f["topic"] == "NCCL_BUFSIZE=1"]
assert one["level"] == "warning" and one["remedy"] == "did you mean NCCL_BUFFSIZE?", one
assert one["remedy"] in all["first"], all["first"]
assert sum(f["section"] == "GPUs" and "fake GPU" in f["text"] for f in all["findings"]) == 8
PY
    )
}
# Whatever there is to say, the summary first.
fits_one_screen() {
    local i settings=()
    for i in {10..39}; do
        settings+=("CLAB_NO_SUCH_NAME_$i=1")
    done
    subject=("$commlab" doctor)
    with "${settings[@]}" -- run 0
    subject=("$commlab" doctor --all)
    why="$(wc -l <"$scratch/out") lines: $(cat "$scratch/out")"
    [ "$(wc -l <"$scratch/out")" -le 40 ] && [ "$(head -n 1 "$scratch/out")" = Summary ] &&
        grep -qE '^ +cores: ' "$scratch/out" && grep -qE '^ +backends: shm, .*work' "$scratch/out" &&
        grep -qE '^ +GPU 0: fake GPU 0' "$scratch/out" && grep -q 'lists all [0-9]* findings' "$scratch/out"
}
# Each has its own remedy; the summary shows eight.
counts_what_else_there_is_to_do() {
    local i settings=()
    for i in {10..29}; do
        settings+=("CLAB_NO_SUCH_NAME_$i=1")
    done
    with "${settings[@]}" -- run 0 --gpu || return 1
    why=$(sed -n '/what to do first/,$p' "$scratch/out")
    [ "$(grep -cE '^ +[1-8] ' <<<"$why")" = 8 ] &&
        [ "$(grep -oE 'and [0-9]+ more' <<<"$why" | grep -oE '[0-9]+')" -ge 12 ]
}
fails_where_its_findings_can_not_be_written() {
    "$commlab" doctor --gpu >/dev/full 2>"$scratch/err"
    local status=$?
    why="status $status: $(cat "$scratch/err")"
    [ $status = 1 ] && grep -q 'standard output can not be written: No space left' "$scratch/err"
}
names_the_fakes_as_such() {
    with LD_LIBRARY_PATH="$build/fakes" -- run 0 --gpu || return 1
    finds '  warning  CUDA runtime: ' '  warning  CUDA devices: 8, all of them fakes' '  warning  NCCL: ' \
        '  warning  the backend nccl: takes NCCL ' \
        'a fake, for tests: its times are no measurements; unset LD_LIBRARY_PATH'
}
tries_no_backend_within_a_job() {
    "$commlab" run -n 2 -- "$commlab" doctor --all >"$scratch/out" 2>"$scratch/err"
    why=$(cat "$scratch/out" "$scratch/err")
    grep -q 'rank of a job, so no backend was tried' "$scratch/out"
}

# ---- a driver that answers -------------------------------------------------------------------------------------

describes_eight_gpus() {
    with -- run 0 --gpu || return 1
    finds '  ok       driver: 580.0.fake, for CUDA up to 13.0' \
        '  ok       GPU 7: fake GPU 7, 80 GiB (79 GiB free), compute capability 9.0, 345 of 1980 MHz, ECC on, PCI 0000:8b:00.0' \
        '  ok       from GPU 0:  X     NV18  NV18  NV18  NV18  NV18  NV18  NV18' \
        'P2P: every pair may read each other, by NVLink'
}
counts_links_between_pairs() {
    with CLAB_FAKE_NVML=pairs CLAB_FAKE_GPUS=4 -- run 0 --gpu || return 1
    finds 'from GPU 0:  X     NV4   PXB   PXB' 'from GPU 1:  NV4   X     PXB   PXB' \
        'from GPU 2:  PXB   PXB   X     NV4' 'every pair may read each other; not all by NVLink'
}
says_which_pairs_may_not_read_each_other() {
    with CLAB_FAKE_NVML=pci -- run 0 --gpu || return 1
    finds 'from GPU 0:  X     PIX   PXB   PXB   SYS*  SYS*  SYS*  SYS*' \
        '  warning  P2P: 16 of 28 pairs (*) may not read each other'
}
says_what_keeps_programs_from_a_device() {
    with CLAB_FAKE_NVML=modes -- run 0 --gpu || return 1
    finds '  warning  GPU 0: MIG is on' '  warning  GPU 1: its compute mode is prohibited' \
        '  warning  GPU 2: its compute mode is exclusive'
}
ends_with_1_for_a_lost_device() {
    with CLAB_FAKE_NVML=lost -- run 1 --gpu &&
        finds '  broken   GPU 1: GPU is lost; dmesg' '  ok       GPU 2: fake GPU 2' \
        "something is broken here"
}
ends_with_1_where_libraries_and_module_differ() {
    with CLAB_FAKE_NVML=mismatch -- run 1 --gpu &&
        finds '  broken   driver: NVML does not start: Driver/library version mismatch; ' 'restart the machine'
}
ends_where_the_driver_hangs() {
    with CLAB_FAKE_NVML=hang CLAB_TIMEOUT=300ms -- run 1 --gpu &&
        finds '  broken   driver: no answer within 0.3 s; nvidia-smi may hang'
}
outlives_a_driver_that_crashes() {
    with CLAB_FAKE_NVML=crash -- run 1 --gpu && finds '  broken   driver: the check ended with signal 6'
}

# ---- a machine in a tree ---------------------------------------------------------------------------------------

put() {
    mkdir -p "$tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$tree/$1"
}

plant() {
    local i
    put proc/driver/nvidia/version 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.0.fake  Tue Nov  4 2025'
    put proc/sys/net/ipv4/tcp_congestion_control cubic
    put proc/sys/kernel/osrelease 5.4.0-generic
    put proc/self/cgroup 0::/
    put sys/fs/cgroup/cpu.max '150000 100000'
    put sys/devices/system/clocksource/clocksource0/current_clocksource hpet
    mkdir -p "$tree/dev/shm"
    for i in 0 1 2 3; do
        put "sys/bus/pci/devices/0000:$((i + 1))b:00.0/numa_node" $((i / 2))
        put "sys/bus/pci/devices/0000:$((i + 1))b:00.0/vendor" 0x10de
        put "sys/bus/pci/devices/0000:$((i + 1))b:00.0/class" 0x030200
    done
    put sys/class/net/lo/operstate unknown
    put sys/class/net/docker0/operstate down
    put sys/class/net/ens1f0/operstate up
    put sys/class/net/ens1f0/speed 200000
    put sys/class/net/ens1f0/mtu 9000
    put sys/class/net/ens1f0/device/numa_node 1
    ln -s ../../../../bus/pci/drivers/mlx5_core "$tree/sys/class/net/ens1f0/device/driver"
    for i in 0 1 10; do
        put sys/class/infiniband/mlx5_$i/ports/1/state '4: ACTIVE'
        put sys/class/infiniband/mlx5_$i/ports/1/phys_state '5: LinkUp'
        put sys/class/infiniband/mlx5_$i/ports/1/rate '400 Gb/sec (4X NDR)'
        put sys/class/infiniband/mlx5_$i/ports/1/link_layer InfiniBand
        put sys/class/infiniband/mlx5_$i/device/numa_node 0
    done
    put sys/class/infiniband/mlx5_1/ports/1/state '1: DOWN'
    put sys/class/infiniband/mlx5_1/ports/1/phys_state '3: Disabled'
    put sys/class/infiniband/mlx5_10/ports/1/state '2: INIT'
    put sys/class/infiniband/mlx5_10/ports/1/link_layer Ethernet
}

reads_cards_and_infiniband_of_a_tree() {
    with CLAB_FAKE_GPUS=4 -- run 0 --gpu --root "$tree" || return 1
    finds '  ok       ens1f0: up, 200 Gb/s, driver mlx5_core, MTU 9000 B, NUMA node 1' \
        '  ok       mlx5_0 port 1: ACTIVE (LinkUp), 400 Gb/sec (4X NDR), InfiniBand, NUMA node 0' \
        '  warning  mlx5_1 port 1: DOWN (Disabled), 400 Gb/sec (4X NDR), InfiniBand, NUMA node 0; NCCL and verbs skip it' \
        '  warning  mlx5_10 port 1: INIT (LinkUp), 400 Gb/sec (4X NDR), RoCE, NUMA node 0; the link is there, but no subnet' \
        '  warning  GPUDirect RDMA: no module nvidia_peermem, and this kernel is too old for dma-buf' \
        '  ok       TCP congestion control: cubic' 'PCI 0000:4b:00.0, NUMA node 1' || return 1
    why="a card that is none: $(grep -E ' (lo|docker0): ' "$scratch/out")"
    ! grep -qE ' (lo|docker0): ' "$scratch/out"
}
# Two processors, a card at each of their switches, one at the first's host bridge; GPU 3 hangs alone at a third bridge.
says_how_far_cards_are_from_gpus() {
    local pci=far/sys/devices i
    plant_pci() { # PLACE NUMA [LINK...]
        put "$pci/$1/numa_node" "$2"
        for link in "${@:3}"; do
            mkdir -p "$(dirname "$tree/far/$link")" && ln -sfn "$(realpath "$tree/$pci/$1")" "$tree/far/$link"
        done
    }
    for i in 0 1; do
        plant_pci pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:0$i.0/0000:$((i + 1))b:00.0 0 "sys/bus/pci/devices/0000:$((i + 1))b:00.0"
    done
    plant_pci pci0000:20/0000:20:01.0/0000:21:00.0/0000:22:00.0/0000:3b:00.0 1 sys/bus/pci/devices/0000:3b:00.0
    plant_pci pci0000:40/0000:40:01.0/0000:4b:00.0 2 sys/bus/pci/devices/0000:4b:00.0
    plant_pci pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:07.0/0000:13:00.0 0 sys/class/infiniband/mlx5_0/device
    plant_pci pci0000:10/0000:10:09.0/0000:19:00.0 0 sys/class/infiniband/mlx5_1/device
    plant_pci pci0000:28/0000:28:09.0/0000:29:00.0 1 sys/class/infiniband/mlx5_2/device
    with CLAB_FAKE_GPUS=4 -- run 0 --gpu --root "$tree/far" || return 1
    finds 'from mlx5_0:  PIX   PIX   SYS   SYS' 'from mlx5_1:  PHB   PHB   SYS   SYS' 'from mlx5_2:  SYS   SYS   NODE  SYS' \
        '  warning  RDMA cards: none is on the processor of GPU 3 (SYS)'
}
says_what_tcp_may_hold() {
    put small/proc/sys/net/ipv4/tcp_rmem '4096 131072 6291456'
    put small/proc/sys/net/ipv4/tcp_wmem '4096 16384 262144'
    put small/proc/sys/net/ipv4/ip_local_port_range '32768 60999'
    put small/sys/devices/system/node/node0/cpulist 0
    put small/sys/devices/system/node/node1/cpulist 1
    run 0 --root "$tree/small" || { [ -e /proc/driver/nvidia/version ] || return 1; }
    finds '  warning  TCP buffers: up to 256 KiB per connection: too little for a fast link to another room; sysctl -w net.ipv4.tcp_rmem=' \
        '  ok       ports: ranks listen at ports 32768 to 60999' '  ok       NUMA: 2 nodes: '
}
says_that_a_quota_stops_ranks() {
    with -- run 0 --root "$tree" || return 1
    finds '  warning  clock source: hpet' || return 1
    [ "$(nproc)" -lt 2 ] || finds '  warning  container: its quota is 1.5 cores of '
}
# Its own group has memory for itself, and shares the cores of the group above.
reads_the_limits_of_its_own_group() {
    put new/proc/self/cgroup 0::/user.slice/job.scope
    put new/sys/fs/cgroup/user.slice/cpu.max '50000 100000'
    put new/sys/fs/cgroup/user.slice/memory.max 3221225472
    put new/sys/fs/cgroup/user.slice/job.scope/cpu.max 'max 100000'
    put new/sys/fs/cgroup/user.slice/job.scope/memory.max 2147483648
    put new/sys/fs/cgroup/user.slice/other.scope/memory.max 1073741824
    with -- run 0 --root "$tree/new" && finds 'container: its quota is 0.5 cores' 'container: its memory limit is 2 GiB'
}
reads_the_limits_of_groups_of_version_1() {
    put old/proc/self/cgroup '4:memory:/job'
    printf '%s\n' 2:cpu,cpuacct:/job 0::/ >>"$tree/old/proc/self/cgroup"
    put old/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us 40000
    put old/sys/fs/cgroup/cpu/job/cpu.cfs_period_us 100000
    put old/sys/fs/cgroup/cpu/cpu.cfs_quota_us -1
    put old/sys/fs/cgroup/memory/memory.limit_in_bytes 9223372036854771712
    put old/sys/fs/cgroup/memory/job/memory.limit_in_bytes 3221225472
    with -- run 0 --root "$tree/old" && finds 'container: its quota is 0.4 cores' 'container: its memory limit is 3 GiB'
}
# In a container without a namespace of its own the path is the host's; what is mounted is the container's group.
reads_the_limits_of_a_group_whose_path_is_outside() {
    put inside/proc/self/cgroup 4:memory:/docker/0123abcd
    printf '%s\n' 0::/../other >>"$tree/inside/proc/self/cgroup"
    put inside/sys/fs/cgroup/memory/memory.limit_in_bytes 4294967296
    put inside/sys/fs/cgroup/cpu.max '30000 100000'
    put inside/sys/fs/other/cpu.max '10000 100000'
    with -- run 0 --root "$tree/inside" &&
        finds 'container: its quota is 0.3 cores' 'container: its memory limit is 4 GiB'
}
says_that_the_driver_is_not_installed() {
    rm "$tree/proc/driver/nvidia/version"
    run 1 --gpu --root "$tree" &&
        finds '  broken   driver: 4 NVIDIA GPUs on the PCI bus, but no driver' 'install NVIDIA'
}
says_that_a_container_lacks_the_driver_s_library() {
    put proc/driver/nvidia/version 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.0.fake  Tue Nov  4 2025'
    run 1 --gpu --root "$tree" &&
        finds "  broken   driver: the kernel has NVIDIA's driver, but its library does not load" 'docker run --gpus all'
}
says_that_the_module_is_another_than_the_library() {
    put proc/driver/nvidia/version 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  575.57.08  Tue Nov  4 2025'
    with -- run 1 --gpu --root "$tree" &&
        finds "  broken   driver: 580.0.fake, for CUDA up to 13.0; the kernel's module is 575.57.08; "
}

# ---- the environment -------------------------------------------------------------------------------------------

explains_variables_and_judges_their_values() {
    with NCCL_DEBUG=info NCCL_DEBUG_SUBSYS=^INIT,NET NCCL_ALGO='ring;allreduce:^tree,nvls' NCCL_IB_TIMEOUT=22 \
        NCCL_SOCKET_IFNAME==lo CUDA_DEVICE_ORDER=PCI_BUS_ID CLAB_TOKEN=0123456789abcdef -- run 0 --gpu || return 1
    finds '  ok       NCCL_DEBUG=info: ' '  ok       NCCL_DEBUG_SUBSYS=^INIT,NET: ' \
        '  ok       NCCL_ALGO=ring;allreduce:^tree,nvls: ' \
        '  ok       NCCL_IB_TIMEOUT=22: ' '  ok       NCCL_SOCKET_IFNAME==lo: ' \
        '  ok       CUDA_DEVICE_ORDER=PCI_BUS_ID: ' '  ok       CLAB_TOKEN=(not shown): ' || return 1
    why='the token is shown'
    ! grep -q 0123456789abcdef "$scratch/out"
}
warns_of_values_that_are_none() {
    with NCCL_DEBUG=INF NCCL_ALGO='ring;allreduce:tree,foo' NCCL_PROTO=bcast:LL NCCL_IB_TIMEOUT=99 NCCL_BUFFSIZE=4M \
        NCCL_SHM_DISABLE=yes NCCL_TOPO_FILE=/none CLAB_TIMEOUT=5 -- run 0 --gpu || return 1
    finds '  warning  NCCL_DEBUG=INF: how much is logged; NCCL ignores other words; it must be one of: NONE' \
        "  warning  NCCL_ALGO=ring;allreduce:tree,foo: algorithms that may be used; 'foo' is not one of: ring tree" \
        "'bcast' is not one of: ll ll128 simple" 'it must be 0 to 31; unset NCCL_IB_TIMEOUT' \
        'not a number: NCCL reads only its digits, as 4; unset NCCL_BUFFSIZE' \
        'it must be 0 or 1: NCCL reads only its digits, as 0; unset NCCL_SHM_DISABLE' \
        'no readable file; unset NCCL_TOPO_FILE' 'not a duration above 0 and up to 2592000s (30 days), such as 30s'
}
warns_of_what_this_machine_has_not_got() {
    put net/sys/class/net/ens1f0/operstate up
    put net/sys/class/net/lo/operstate unknown
    with NCCL_SOCKET_IFNAME=eth9,=ens1 NCCL_OOB_NET_IFNAME==ens1 NCCL_TUNER_PLUGIN=/none.so NCCL_NET_PLUGIN=none \
        CUDA_VISIBLE_DEVICES=0,1,0 -- run 0 --gpu --root "$tree/net" || return 1
    finds '  warning  NCCL_SOCKET_IFNAME=eth9,=ens1: which interfaces' \
        'no interface matches; this machine has: ens1f0 lo; unset NCCL_SOCKET_IFNAME' \
        '  warning  NCCL_OOB_NET_IFNAME==ens1: ' '  warning  NCCL_TUNER_PLUGIN=/none.so: ' \
        '  ok       NCCL_NET_PLUGIN=none: ' \
        "'0' comes twice: name each GPU once; unset CUDA_VISIBLE_DEVICES" || return 1
    with NCCL_SOCKET_IFNAME=eth,ens NCCL_OOB_NET_IFNAME=^docker NCCL_TUNER_PLUGIN="$build/fakes/libnvidia-ml.so.1" \
        CUDA_VISIBLE_DEVICES=1,0 -- run 0 --gpu --root "$tree/net" || return 1
    finds '  ok       NCCL_SOCKET_IFNAME=eth,ens: ' '  ok       NCCL_OOB_NET_IFNAME=^docker: ' \
        '  ok       NCCL_TUNER_PLUGIN=/' '  ok       CUDA_VISIBLE_DEVICES=1,0: ' || return 1
    with CUDA_VISIBLE_DEVICES=0,x,1 -- run 0 --gpu &&
        finds "'x' is not a number, GPU-... or MIG-...: CUDA sees only the GPUs before it"
}
warns_of_what_makes_slow_and_of_names_that_nobody_reads() {
    with NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=0 NCCL_BUFSIZE=1 NCCL_NVB_PRECONNECT=1 NCCL_SOMETHING_ELSE=1 CUDA_ROOT=/x \
        CLAB_BACKENT=shm -- run 0 --gpu || return 1
    finds '  warning  NCCL_P2P_DISABLE=1: no direct access between GPUs; while it is set, GPUs use host memory' \
        '  ok       NCCL_IB_DISABLE=0: ' '  warning  NCCL_BUFSIZE=1: no program reads this name; did you mean NCCL_BUFFSIZE?' \
        '  warning  NCCL_NVB_PRECONNECT=1: NCCL reads it, but does not document it' \
        '  warning  NCCL_SOMETHING_ELSE=1: no name that NCCL documents' '  ok       CUDA_ROOT=/x: ' \
        'no program reads this name; did you mean CLAB_BACKEND?'
}
# Claims 30 and 31 of the documents that lab 13 checks.
knows_names_that_nccl_has_not_got() {
    with NCCL_TIMEOUT=1800 NCCL_SHARP_ENABLE=1 NCCL_NTHREADS=16 -- run 0 --gpu || return 1
    finds '  warning  NCCL_TIMEOUT=1800: NCCL has no such variable; unset NCCL_TIMEOUT: PyTorch' \
        '  warning  NCCL_SHARP_ENABLE=1: NCCL has no such variable; unset NCCL_SHARP_ENABLE: NCCL_COLLNET_ENABLE=1' \
        '  warning  NCCL_NTHREADS=16: threads of a block; it must be a multiple of 32, from 64 to 512' || return 1
    with NCCL_NTHREADS=96 -- run 0 --gpu && finds '  ok       NCCL_NTHREADS=96: ' || return 1
    with NCCL_NTHREADS=100 -- run 0 --gpu && finds 'it must be a multiple of 32'
}
judges_variables_of_other_programs() {
    with OMP_NUM_THREADS=0 MASTER_PORT=99999 TORCH_DISTRIBUTED_DEBUG=DETAIL TORCH_UNKNOWN=1 -- run 0 --gpu || return 1
    finds '  warning  OMP_NUM_THREADS=0: ' 'it must be 1 to 4096' '  warning  MASTER_PORT=99999: ' \
        '  ok       TORCH_DISTRIBUTED_DEBUG=DETAIL: ' || return 1
    why='another program is asked to account for its variable'
    ! grep -q TORCH_UNKNOWN "$scratch/out"
}
# One file reads them, by the table that doctor explains them from.
knows_all_variables_of_the_kit() { # students compile lab 12 and try.c of homework h3, which know clab.h alone
    local names name settings=()
    why="read with clab_variable_text: $(grep -rnE '(getenv|secure_getenv)\("CLAB_' core backends cmd sim labs --exclude-dir=12-bottleneck --exclude=try.c)"
    [ "$why" = 'read with clab_variable_text: ' ] || return 1
    names=$(sed -nE 's/^    X\(([A-Z_]+), .*/\1/p' core/base/variables.h)
    why='the table of core/base/variables.h is empty'
    [ "$(wc -l <<<"$names")" -ge 32 ] || return 1
    for name in $names; do settings+=("CLAB_$name="); done
    env "${settings[@]}" "${subject[@]}" --gpu >"$scratch/out" 2>"$scratch/err" # empty, so that none does anything
    for name in $names; do
        why="doctor does not know CLAB_$name"
        grep -E "^  (ok|warning) +CLAB_$name=(\(not shown\))?: [A-Za-z0-9]" "$scratch/out" | grep -qv 'no program reads' || return 1
    done
}

# ---- the command line ------------------------------------------------------------------------------------------

refuses_a_word() { run 2 all; }
refuses_a_root_that_is_not_there() { refuses 2 '--root /none: No such file' --root /none; }

if has_no_nvidia; then
    check_each says_what_a_machine_without_a_gpu_lacks
else
    skip 'this machine has an NVIDIA driver' says_what_a_machine_without_a_gpu_lacks
fi
check_each says_of_each_library_what_its_probe_says says_who_can_connect_to_ranks lists_each_backend leaves_no_files stays_within_120_columns \
    tries_no_backend_within_a_job
if command -v python3 >/dev/null; then
    check_with jansson says_json
else
    skip 'there is no python3' says_json
fi
check_each fits_one_screen counts_what_else_there_is_to_do fails_where_its_findings_can_not_be_written
if [ -e "$build/backends/nccl.so" ] && [ -e "$build/fakes/libnccl.so.2" ]; then
    check names_the_fakes_as_such
else
    skip 'built without the nccl backend' names_the_fakes_as_such
fi
check_each describes_eight_gpus counts_links_between_pairs says_which_pairs_may_not_read_each_other \
    says_what_keeps_programs_from_a_device ends_with_1_for_a_lost_device ends_with_1_where_libraries_and_module_differ \
    ends_where_the_driver_hangs outlives_a_driver_that_crashes
plant
check_each reads_cards_and_infiniband_of_a_tree says_how_far_cards_are_from_gpus says_what_tcp_may_hold says_that_a_quota_stops_ranks reads_the_limits_of_its_own_group \
    reads_the_limits_of_groups_of_version_1 reads_the_limits_of_a_group_whose_path_is_outside
if has_no_nvidia; then
    check_each says_that_the_driver_is_not_installed says_that_a_container_lacks_the_driver_s_library
else
    skip 'this machine has an NVIDIA driver' says_that_the_driver_is_not_installed \
        says_that_a_container_lacks_the_driver_s_library
fi
check_each says_that_the_module_is_another_than_the_library explains_variables_and_judges_their_values \
    warns_of_values_that_are_none warns_of_what_this_machine_has_not_got \
    warns_of_what_makes_slow_and_of_names_that_nobody_reads knows_names_that_nccl_has_not_got \
    judges_variables_of_other_programs knows_all_variables_of_the_kit refuses_a_word \
    refuses_a_root_that_is_not_there

exit $failed
