# SPDX-License-Identifier: MIT
# A Slurm of the test's own: munged, slurmctld and slurmd for this machine, with a configuration, ports, a key and
# folders of their own under $scratch. Sourced after tests/cases.sh.
#
#   slurm_start      start it: true once its node is idle, else `why`. Then SLURM_CONF is set: srun means this one.
#   slurm_stop       end what was started, and its jobs
#   slurm_left       its processes that are still there, by the configuration in their environment
#   slurm_has TYPE   whether srun --mpi=TYPE is there
#   slurm_lacks      says which of its programs is not installed; false if all are

slurm_pids=()

# slurm_daemon NAME COMMAND...: in the background and in the foreground of its own log; dies within two minutes.
slurm_daemon() {
    local log=$slurm/$1.log
    shift
    timeout --kill-after=2 120 "$@" >"$log" 2>&1 </dev/null &
    slurm_pids+=($!)
}

slurm_configure() {
    local port=$((10000 + RANDOM % 9000))
    cat >"$slurm/slurm.conf" <<END
ClusterName=commlab
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SrunPortRange=$((port + 2))-$((port + 100))
FirstJobId=$((1 + RANDOM * 1000))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket
CredType=cred/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
KillWait=2
ReturnToService=2
NodeName=localhost NodeHostname=$(hostname) NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES OverSubscribe=FORCE:8 MaxTime=5 State=UP
END
}

slurm_is_ready() {
    local try
    for ((try = 0; try < 100; try++)); do
        [ "$(timeout 5 sinfo -h -o %t 2>/dev/null)" = idle ] && return
        kill -0 "${slurm_pids[@]}" 2>/dev/null || return # one has ended: its port is another's
        sleep 0.1
    done
    return 1
}

slurm_start() {
    slurm=$scratch/slurm
    local try
    for try in 1 2 3; do
        mkdir -p "$slurm/munge" "$slurm/state"
        (umask 077 && head -c 128 /dev/urandom >"$slurm/key")
        slurm_configure
        export SLURM_CONF=$slurm/slurm.conf
        # --force: the folder of a test is its own, and munged would have all users find the socket.
        slurm_daemon munged munged --foreground --force --num-threads=1 --key-file="$slurm/key" \
            --socket="$slurm/munge/socket" --pid-file="$slurm/munge/pid" --seed-file="$slurm/munge/seed"
        slurm_daemon slurmctld slurmctld -D -i
        slurm_daemon slurmd slurmd -D -N localhost
        slurm_is_ready && return
        why="Slurm did not start: $(tail -n 3 "$slurm"/*.log)"
        slurm_stop
        rm -rf "$slurm"
    done
    return 1
}

slurm_stop() {
    local try
    [ ${#slurm_pids[@]} -gt 0 ] || return 0
    timeout 5 scancel --user="$(id -un)" 2>/dev/null
    for ((try = 0; try < 50; try++)); do
        [ -n "$(timeout 5 squeue -h 2>/dev/null)" ] || break
        sleep 0.1
    done
    kill "${slurm_pids[@]}" 2>/dev/null
    wait "${slurm_pids[@]}" 2>/dev/null
    slurm_pids=()
    unset SLURM_CONF
}

slurm_left() { grep -lzs "^SLURM_CONF=$slurm/" /proc/[0-9]*/environ; }

slurm_lacks() {
    local program
    for program in munged slurmctld slurmd srun sinfo squeue scancel salloc; do
        command -v $program >/dev/null ||
            { echo "there is no $program (slurmctld, slurmd, slurm-client, munge)"; return; }
    done
    return 1
}

slurm_has() { timeout 5 srun --mpi=list 2>&1 | grep -qw "$1"; }
