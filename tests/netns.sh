# SPDX-License-Identifier: MIT
# Hosts on one machine, joined by wires of a known rate: network namespaces on a bridge. Source it after tests/cases.sh.
#
#   net_missing [nft:nftables]  what this machine lacks for it, in one line; nothing: it can be had. With that word, also
#                               for losses and cuts
#   net_start HOSTS RATE        hosts 0, 1, ... at 10.77.0.1, 10.77.0.2, ...; RATE as tc has it (100mbit), or `free`
#   net_on HOST COMMAND...      run it there
#   net_job RANKS ARGS...       `commlab run` with ARGS at every host at once, RANKS in all: the words behind it, such
#                               as `--backend ofi -- PROGRAM`. Output is left in out.HOST and err.HOST of $scratch, the
#                               statuses in $statuses. True if all are 0.
#   net_lose HOST PERCENT       that share of the packets to it is lost, at random
#   net_cut HOST                all packets to and from it are
#   net_stop                    take it down; also done when the script ends
#
# - A namespace has no name, only a process that holds it and dies with this shell (PR_SET_PDEATHSIG): even after
#   SIGKILL, when no trap runs, the kernel takes namespaces, bridge and wires away by itself.
# - The bridge has a namespace of its own. Nothing of the machine's own network is touched.
# - A wire is limited at both ends, as an adapter is: what a host sends, and what is sent to it. See net_shape.

net_holders=() net_hub= net_hosts=0

net_missing() {
    local program
    [ "$(id -u)" = 0 ] || { echo 'only root makes network namespaces'; return; }
    for program in ip:iproute2 tc:iproute2 unshare:util-linux nsenter:util-linux setpriv:util-linux "$@"; do
        command -v "${program%:*}" >/dev/null ||
            { echo "there is no ${program%:*} (apt-get install ${program#*:})"; return; }
    done
    unshare -n true 2>/dev/null || echo 'this kernel or container makes no network namespaces'
}

# A process in a namespace of its own: its number is left in held.
net_hold() {
    local mine
    mine=$(readlink /proc/self/ns/net)
    setpriv --pdeathsig KILL unshare -n sleep infinity &
    held=$!
    net_holders+=($held)
    until [ "$(readlink /proc/$held/ns/net)" != "$mine" ]; do
        kill -0 $held 2>/dev/null || return 1
        sleep 0.01
    done
}

net_in() {
    local holder=$1
    shift
    nsenter -t "$holder" -n "$@"
}

net_on() {
    local host=$1
    shift
    net_in "${net_holders[1 + host]}" "$@"
}

# net_shape HOLDER DEVICE RATE: what leaves by the device does so at RATE, headers of Ethernet included.
#
# A token bucket lets `burst` bytes go at once when nothing went for a while, and sends the rest at the rate: the
# smaller, the more like a wire. It must hold the largest packet, and what the rate gives until a late timer of the
# kernel fires, or the rate is not reached: 50 us. Packets are as large as 50 us, too, but at least Ethernet's 1514
# bytes: at 1000 Mbit/s a timer for each of those would keep a core busy. The queue (`limit`) holds all that senders may
# have under way, so that nothing is dropped: what a loss does is tested apart.
net_shape() {
    local bits=${3%bit} packet
    case $bits in
    *k) bits=${bits%k}000 ;;
    *m) bits=${bits%m}000000 ;;
    *g) bits=${bits%g}000000000 ;;
    esac
    packet=$((bits / 160000 > 1514 ? bits / 160000 : 1514))
    net_in "$1" ip link set "$2" gso_max_size $packet gso_max_segs 65535 &&
        net_in "$1" tc qdisc add dev "$2" root tbf rate "$3" burst $((packet + bits / 160000)) limit 256m
}

net_add_host() {
    local host=$net_hosts rate=$1
    net_hold || return 1
    net_hosts=$((host + 1))
    net_in "$net_hub" ip link add "wire$host" type veth peer name eth0 netns "$held" &&
        net_in "$net_hub" ip link set "wire$host" master bridge0 up &&
        net_in "$held" ip address add "10.77.0.$((host + 1))/24" dev eth0 &&
        net_in "$held" ip link set lo up && net_in "$held" ip link set eth0 up || return 1
    # Of the congestion controls that a namespace may choose, the one that does not pace by an estimate of its own.
    net_in "$held" sysctl -qw net.ipv4.tcp_congestion_control=reno || return 1
    [ "$rate" = free ] ||
        { net_shape "$net_hub" "wire$host" "$rate" && net_shape "$held" eth0 "$rate"; }
}

# The kernel says a moment after `link set up` that an interface runs; libfabric offers none before.
net_await() {
    local tries
    for ((tries = 0; tries < 500; tries++)); do
        net_on "$1" ip -br link show eth0 | grep -q ' UP ' && return
        sleep 0.01
    done
    return 1
}

net_start() {
    local hosts=$1 rate=$2 host
    net_stop
    net_hold || return 1
    net_hub=$held
    net_in "$net_hub" ip link add bridge0 type bridge && net_in "$net_hub" ip link set bridge0 up || return 1
    for ((host = 0; host < hosts; host++)); do
        net_add_host "$rate" || return 1
    done
    for ((host = 0; host < hosts; host++)); do
        net_await "$host" || return 1
    done
}

net_stop() {
    [ ${#net_holders[@]} = 0 ] || kill "${net_holders[@]}" 2>/dev/null
    wait "${net_holders[@]}" 2>/dev/null
    net_holders=() net_hub= net_hosts=0
}

# net_drop PACKETS...: the bridge drops those.
net_drop() {
    local chain='bridge lab way' packets
    net_in "$net_hub" nft "add table bridge lab; add chain $chain { type filter hook forward priority 0; }" || return 1
    for packets; do
        net_in "$net_hub" nft "add rule $chain $packets drop" || return 1
    done
}
net_lose() { net_drop "oifname wire$1 numgen random mod 100 < $2"; }
net_cut() { net_drop "oifname wire$1" "iifname wire$1"; }

# The cores of this machine that we may use, one a line: hosts take turns at them.
net_cores() {
    taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
        while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done
}

net_port=29500
export CLAB_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d " \n")
net_job() {
    local ranks=$1 host jobs=() cores
    shift
    cores=($(net_cores))
    net_port=$((net_port + 1)) # the last job's may not be free yet
    for ((host = 0; host < net_hosts; host++)); do
        setpriv --pdeathsig TERM taskset -c "${cores[host % ${#cores[@]}]}" nsenter -t "${net_holders[1 + host]}" -n \
            "$commlab" run -n "$ranks" --nodes $net_hosts --node-rank $host --master 10.77.0.1:$net_port "$@" \
            >"$scratch/out.$host" 2>"$scratch/err.$host" </dev/null &
        jobs+=($!)
    done
    statuses=
    for host in "${!jobs[@]}"; do
        wait "${jobs[host]}"
        statuses+=" $?"
    done
    why="statuses$statuses: $(tail -qn 3 "$scratch"/out.*; tail -qn 4 "$scratch"/err.*)"
    [ -z "${statuses//[ 0]/}" ]
}

trap 'net_stop; rm -rf "$scratch"' EXIT
trap 'exit 143' INT TERM
