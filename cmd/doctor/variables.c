// SPDX-License-Identifier: MIT
// The variables (variables.h): names and values from NCCL's and CUDA's documentation, meanings in our words.
// - Sources: NCCL User Guide, "Environment Variables" (to 2.30); CUDA C++ Programming Guide, "CUDA Environment
//   Variables"; OpenMP 5.2, section 21; PyTorch, torch.distributed. Hidden names are the rest of those in libnccl.so.2 of 2.28.9.

#include "cmd/doctor/variables.h"

#include <limits.h>
#include <stddef.h>

#include "core/base/variables.h"

enum { MOST = 1 << 30 };

// clang-format off
#define TEXT(name, meaning)                 {name, meaning, VALUE_TEXT, 0, 0, NULL, NULL}
#define SWITCH(name, meaning)               {name, meaning, VALUE_SWITCH, 0, 0, NULL, NULL}
#define SLOW(name, meaning, slows)          {name, meaning, VALUE_SWITCH, 0, 0, NULL, slows}
#define INTEGER(name, least, most, meaning) {name, meaning, VALUE_INTEGER, least, most, NULL, NULL}
#define WORD(name, words, meaning)          {name, meaning, VALUE_WORD, 0, 0, words, NULL}
#define WORDS(name, words, meaning)         {name, meaning, VALUE_WORDS, 0, 0, words, NULL}
#define BY_CALL(name, words, meaning)       {name, meaning, VALUE_BY_CALL, 0, 0, words, NULL}
#define FILE_OF(name, meaning)              {name, meaning, VALUE_FILE, 0, 0, NULL, NULL}
#define LIBRARY(name, meaning)              {name, meaning, VALUE_LIBRARY, 0, 0, NULL, NULL}
#define INTERFACES(name, meaning)           {name, meaning, VALUE_INTERFACES, 0, 0, NULL, NULL}
#define MULTIPLE(name, unit, least, most, meaning) {name, meaning, VALUE_MULTIPLE, least, most, unit, NULL}
#define ABSENT(name, meaning, instead)      {name, meaning, VALUE_ABSENT, 0, 0, instead, NULL}
#define DEVICES(name, meaning)              {name, meaning, VALUE_DEVICES, 0, 0, NULL, NULL}

#define DISTANCES  "LOC NVL PIX PXB P2C PXN PHB SYS 0 1 2 3 4 5"
#define SUBSYSTEMS "INIT COLL P2P SHM NET GRAPH TUNING ENV ALLOC ALLOC_HOST CALL PROXY NVLS BOOTSTRAP REG PROFILE " \
                   "RAS DESTROY ALL"

const struct doctor_variable doctor_known_variables[] = {
    // NCCL
    BY_CALL("NCCL_ALGO", "ring tree collnet collnetchain collnetdirect nvls nvlstree pat",
        "algorithms that may be used"),
    SWITCH("NCCL_ALLOC_P2P_NET_LL_BUFFERS", "low-latency buffers for sends over the network"),
    INTEGER("NCCL_BUFFSIZE", 1, MOST, "bytes of a buffer between a pair of GPUs (4194304)"),
    INTEGER("NCCL_CGA_CLUSTER_SIZE", 0, 8, "thread blocks per cluster, from sm90 on"),
    SWITCH("NCCL_CHECKS_DISABLE", "no checks of arguments; deprecated since 2.2.12"),
    {"NCCL_CHECK_MODE", "how arguments are checked, since 2.29.7", VALUE_WORD, 0, 0,
        "DEFAULT DEBUG_LOCAL DEBUG_GLOBAL", "checks cost time in every call"},
    SLOW("NCCL_CHECK_POINTERS", "check pointers in every call; NCCL_CHECK_MODE since 2.29.7",
        "checks cost time in every call"),
    SWITCH("NCCL_COLLNET_ENABLE", "reduce in the network (CollNet plugin, SHARP)"),
    INTEGER("NCCL_COLLNET_NODE_THRESHOLD", 0, MOST, "nodes from which CollNet is used (2)"),
    SWITCH("NCCL_COMM_BLOCKING", "1: calls wait; 0: they return at once; over what programs ask for"),
    TEXT("NCCL_COMM_ID", "HOST:PORT at which ranks meet"),
    FILE_OF("NCCL_CONF_FILE", "file of settings, in place of ~/.nccl.conf"),
    INTEGER("NCCL_CROSS_NIC", 0, 2, "0: a ring keeps to one card number; 1: it may change; 2: NCCL chooses"),
    TEXT("NCCL_CTA_POLICY", "number of thread blocks: for speed, or few of them"),
    SWITCH("NCCL_CUMEM_ENABLE", "memory by the driver's virtual-address calls"),
    SWITCH("NCCL_CUMEM_HOST_ENABLE", "host memory by the driver's virtual-address calls"),
    WORD("NCCL_DEBUG", "NONE VERSION WARN INFO ABORT TRACE", "how much is logged; NCCL ignores other words"),
    TEXT("NCCL_DEBUG_FILE", "where the log goes: %h is the host, %p the process"),
    WORDS("NCCL_DEBUG_SUBSYS", SUBSYSTEMS, "subsystems that INFO logs"),
    TEXT("NCCL_DEBUG_TIMESTAMP_FORMAT", "the time in the log, as strftime takes it"),
    WORDS("NCCL_DEBUG_TIMESTAMP_LEVELS", "VERSION WARN INFO ABORT TRACE ALL", "which lines have a time"),
    SWITCH("NCCL_DMABUF_ENABLE", "GPUDirect RDMA by dma-buf"),
    LIBRARY("NCCL_ENV_PLUGIN", "library that changes these variables"),
    SWITCH("NCCL_GDRCOPY_ENABLE", "the processor writes GPU memory by GDRCopy"),
    SWITCH("NCCL_GDRCOPY_FIFO_ENABLE", "work queue in memory of GDRCopy"),
    SWITCH("NCCL_GDRCOPY_FLUSH_ENABLE", "flush by a read through GDRCopy"),
    SWITCH("NCCL_GDRCOPY_SYNC_ENABLE", "network's counters in memory of GDRCopy"),
    SWITCH("NCCL_GRAPH_MIXING_SUPPORT", "calls from several CUDA graphs, and beside them"),
    SWITCH("NCCL_GRAPH_REGISTER", "register buffers of captured calls"),
    SWITCH("NCCL_GRAPH_STREAM_ORDERING", "captured calls are kept in order, since 2.30"),
    TEXT("NCCL_HOSTID", "this host's name to NCCL: ranks with other names use the network"),
    SWITCH("NCCL_IB_ADAPTIVE_ROUTING", "data that the fabric may route adaptively"),
    WORD("NCCL_IB_ADDR_FAMILY", "AF_INET AF_INET6", "addresses of RoCE"),
    TEXT("NCCL_IB_ADDR_RANGE", "which addresses of RoCE, as a network 10.0.0.0/8"),
    INTEGER("NCCL_IB_AR_THRESHOLD", 0, MOST, "bytes from which data is routed adaptively (8192)"),
    SWITCH("NCCL_IB_CUDA_SUPPORT", "removed in 2.4: NCCL_NET_GDR_LEVEL is read now"),
    SLOW("NCCL_IB_DISABLE", "no InfiniBand or RoCE", "messages between hosts go over TCP"),
    SWITCH("NCCL_IB_ECE_ENABLE", "extended connection set-up of the cards"),
    INTEGER("NCCL_IB_FIFO_TC", -1, 255, "traffic class of control messages"),
    WORD("NCCL_IB_GDR_LEVEL", DISTANCES, "the name of NCCL_NET_GDR_LEVEL until 2.3"),
    INTEGER("NCCL_IB_GID_INDEX", -1, 255, "which address of the card RoCE uses (-1: NCCL chooses)"),
    TEXT("NCCL_IB_HCA", "which InfiniBand cards: mlx5 is a prefix, =mlx5_0:1 exact, ^ leaves out"),
    SWITCH("NCCL_IB_MERGE_NICS", "ports of a card are used as one"),
    SWITCH("NCCL_IB_OOO_RQ", "receives may end out of order, since 2.30"),
    INTEGER("NCCL_IB_PCI_RELAXED_ORDERING", 0, 2, "0: off; 1: on, or fail; 2: on if possible"),
    INTEGER("NCCL_IB_QPS_PER_CONNECTION", 1, 128, "queue pairs per connection"),
    INTEGER("NCCL_IB_RETRY_CNT", 0, 7, "how often a packet is sent again"),
    SWITCH("NCCL_IB_RETURN_ASYNC_EVENTS", "stop at the card's fatal events"),
    INTEGER("NCCL_IB_ROCE_VERSION_NUM", 1, 2, "version of RoCE"),
    INTEGER("NCCL_IB_SL", -1, 15, "InfiniBand service level"),
    SWITCH("NCCL_IB_SPLIT_DATA_ON_QPS", "each message on all queue pairs, or in turn"),
    INTEGER("NCCL_IB_TC", -1, 255, "traffic class"),
    INTEGER("NCCL_IB_TIMEOUT", 0, 31, "a lost packet is noticed after 4.096 us times 2 to this power (20)"),
    SWITCH("NCCL_IGNORE_COLLNET_MISMATCH", "ranks may differ in CollNet devices, since 2.30"),
    SWITCH("NCCL_IGNORE_CPU_AFFINITY", "its threads run near the GPU, wherever the process may"),
    SWITCH("NCCL_IGNORE_NET_MISMATCH", "ranks may differ in network cards, since 2.30"),
    SWITCH("NCCL_IPC_USE_ABSTRACT_SOCKET", "0: where containers have networks of their own, since 2.29"),
    WORD("NCCL_LAUNCH_MODE", "PARALLEL GROUP", "how kernels of several GPUs start; deprecated"),
    SWITCH("NCCL_LAUNCH_ORDER_IMPLICIT", "calls on several communicators keep the program's order"),
    SWITCH("NCCL_LAUNCH_RACE_FATAL", "threads that race to start calls are an error"),
    SWITCH("NCCL_LEGACY_CUDA_REGISTER", "register memory of cudaMalloc: may hang"),
    INTEGER("NCCL_LL_THRESHOLD", 0, MOST, "removed in 2.5: NCCL_PROTO, or a tuner"),
    SWITCH("NCCL_LOCAL_REGISTER", "ncclCommRegister registers"),
    INTEGER("NCCL_MAX_CTAS", 1, 64, "thread blocks at most, one per channel"),
    INTEGER("NCCL_MAX_NCHANNELS", 1, 64, "channels at most; NCCL_MAX_CTAS since 2.17"),
    INTEGER("NCCL_MAX_NRINGS", 1, 64, "channels at most; the name until 2.4"),
    INTEGER("NCCL_MEM_SYNC_DOMAIN", 0, 1, "memory domain of the kernels (1)"),
    INTEGER("NCCL_MIN_CTAS", 1, 64, "thread blocks at least"),
    INTEGER("NCCL_MIN_NCHANNELS", 1, 64, "channels at least; NCCL_MIN_CTAS since 2.17"),
    INTEGER("NCCL_MIN_NRINGS", 1, 64, "channels at least; the name until 2.4"),
    INTEGER("NCCL_MNNVL_CLIQUE_ID", -MOST, MOST, "which part of an NVLink domain of several nodes"),
    INTEGER("NCCL_MNNVL_ENABLE", 0, 2, "NVLink between nodes: 0 off, 1 on or fail, 2 on if possible"),
    INTEGER("NCCL_MNNVL_UUID", LLONG_MIN, LLONG_MAX, "name of the NVLink domain of several nodes"),
    SWITCH("NCCL_MULTI_RANK_GPU_ENABLE", "several ranks on one GPU: from 2.30, experimental; older ignore it"),
    TEXT("NCCL_NET", "which network: IB, Socket, or a plugin's name"),
    TEXT("NCCL_NETDEVS_POLICY", "network cards per GPU: AUTO, ALL or MAX:N"),
    SWITCH("NCCL_NET_GDR_C2C", "GPUDirect RDMA through a chip-to-chip link"),
    WORD("NCCL_NET_GDR_LEVEL", DISTANCES, "how far a card may be from the GPU for GPUDirect RDMA"),
    SWITCH("NCCL_NET_GDR_READ", "GPUDirect RDMA for sends, too"),
    WORD("NCCL_NET_MERGE_LEVEL", DISTANCES, "how far apart ports may be that are used as one"),
    WORD("NCCL_NET_MERGE_POLICY", "ALL RAIL", "which ports are used as one, since 2.30"),
    LIBRARY("NCCL_NET_PLUGIN", "network library, its suffix, or none"),
    SWITCH("NCCL_NET_SHARED_BUFFERS", "peers on other hosts share buffers"),
    SWITCH("NCCL_NET_SHARED_COMMS", "connections are shared, with PXN"),
    INTEGER("NCCL_NSOCKS_PERTHREAD", 1, 64, "sockets per helper thread (with NCCL_SOCKET_NTHREADS at most 64)"),
    MULTIPLE("NCCL_NTHREADS", "32", 64, 512, "threads of a block"),
    SLOW("NCCL_NVB_DISABLE", "no NVLink through a third GPU", "GPUs without a direct NVLink use PCI"),
    INTEGER("NCCL_NVLS_ENABLE", 0, 2, "the NVLink switch reduces: 0 off, 1 and 2 on if possible"),
    SWITCH("NCCL_OOB_NET_ENABLE", "ranks meet over NCCL's network"),
    INTERFACES("NCCL_OOB_NET_IFNAME", "the interface for that"),
    SLOW("NCCL_P2P_DIRECT_DISABLE", "no direct access to user buffers in one process",
        "one more copy between GPUs of a process"),
    SLOW("NCCL_P2P_DISABLE", "no direct access between GPUs", "GPUs use host memory, not NVLink or PCI"),
    WORD("NCCL_P2P_LEVEL", DISTANCES, "how far apart GPUs may be that read each other"),
    INTEGER("NCCL_P2P_LL_THRESHOLD", 0, MOST, "bytes up to which sends use the low-latency protocol (16384)"),
    INTEGER("NCCL_P2P_NET_CHUNKSIZE", 1, MOST, "bytes of a message of sends over the network (131072)"),
    INTEGER("NCCL_P2P_PXN_LEVEL", 0, 2, "sends through another GPU's card: 0 never, 1 where needed, 2 always"),
    LIBRARY("NCCL_PROFILER_PLUGIN", "profiler library, its suffix, or none"),
    BY_CALL("NCCL_PROTO", "ll ll128 simple",
        "protocols that may be used; LL128 where it does not belong corrupts data"),
    SWITCH("NCCL_PXN_C2C", "another GPU's card through a chip-to-chip link"),
    SLOW("NCCL_PXN_DISABLE", "no use of another GPU's card", "alltoall between hosts has fewer paths"),
    TEXT("NCCL_RAS_ADDR", "HOST:PORT of the status service (localhost:28028)"),
    SWITCH("NCCL_RAS_ENABLE", "status service of running jobs"),
    INTEGER("NCCL_RAS_TIMEOUT_FACTOR", 1, MOST, "its timeouts, times this"),
    SWITCH("NCCL_RUNTIME_CONNECT", "peers connect at the first call, not at the start"),
    SWITCH("NCCL_SET_STACK_SIZE", "the largest kernel stack at once"),
    SWITCH("NCCL_SET_THREAD_NAME", "its threads have names"),
    ABSENT("NCCL_SHARP_ENABLE", "NCCL has no such variable",
        "NCCL_COLLNET_ENABLE=1 and the plugin nccl-rdma-sharp turn SHARP on"),
    SLOW("NCCL_SHM_DISABLE", "no shared memory between GPUs of a host", "GPUs without direct access use the network"),
    INTEGER("NCCL_SINGLE_RING_THRESHOLD", 0, MOST, "removed in 2.3"),
    WORD("NCCL_SOCKET_FAMILY", "AF_INET AF_INET6", "IPv4 or IPv6"),
    INTERFACES("NCCL_SOCKET_IFNAME", "which interfaces: eth is a prefix, =eth0 exact, ^docker leaves out"),
    INTEGER("NCCL_SOCKET_MAGIC", 0, LLONG_MAX, "number that keeps jobs' sockets apart"),
    INTEGER("NCCL_SOCKET_NTHREADS", 1, 16, "helper threads per connection"),
    INTEGER("NCCL_SOCKET_POLL_TIMEOUT_MSEC", 0, MOST, "ms that a wait sleeps while ranks meet (0)"),
    INTEGER("NCCL_SOCKET_RETRY_CNT", 1, MOST, "how often a connection is tried (34)"),
    INTEGER("NCCL_SOCKET_RETRY_SLEEP_MSEC", 1, MOST, "ms before the next try (100)"),
    SWITCH("NCCL_SYM_GIN_KERNELS_ENABLE", "kernels that reach the network by themselves, since 2.29"),
    ABSENT("NCCL_TIMEOUT", "NCCL has no such variable",
        "PyTorch's time-out is the argument `timeout` of init_process_group; NCCL_IB_TIMEOUT is a packet's"),
    TEXT("NCCL_TOPO_DUMP_FILE", "file to which the topology is written"),
    FILE_OF("NCCL_TOPO_FILE", "topology in place of the one that is found"),
    INTEGER("NCCL_TREE_THRESHOLD", 0, MOST, "removed in 2.5: NCCL_ALGO, or a tuner"),
    FILE_OF("NCCL_TUNER_CONFIG_FILE", "the table of a tuner plugin, ours too; NCCL itself does not read it"),
    LIBRARY("NCCL_TUNER_PLUGIN", "tuner library, its suffix, or none"),
    INTEGER("NCCL_UID_STAGGER_RATE", 1, MOST, "messages per second while many ranks meet (7000)"),
    INTEGER("NCCL_UID_STAGGER_THRESHOLD", 1, MOST, "ranks from which they meet in turns (256)"),
    TEXT("NCCL_VERSION", "set by NVIDIA's containers; NCCL does not read it"),
    SWITCH("NCCL_WIN_ENABLE", "windows of registered memory"),
    // CUDA
    SWITCH("CUDA_AUTO_BOOST", "clocks may rise"),
    SLOW("CUDA_CACHE_DISABLE", "kernels that are compiled at the start are not kept",
        "programs for another GPU are compiled anew at each start"),
    INTEGER("CUDA_CACHE_MAXSIZE", 0, MOST, "bytes of the cache of compiled kernels"),
    TEXT("CUDA_CACHE_PATH", "where compiled kernels are kept"),
    TEXT("CUDA_COREDUMP_FILE", "where a GPU's core dump goes"),
    INTEGER("CUDA_DEVICE_MAX_CONNECTIONS", 1, 32, "queues from host to device (8)"),
    WORD("CUDA_DEVICE_ORDER", "FASTEST_FIRST PCI_BUS_ID", "how devices are numbered"),
    SWITCH("CUDA_DEVICE_WAITS_ON_EXCEPTION", "a fault waits for a debugger: a job seems to hang"),
    SWITCH("CUDA_DISABLE_PTX_JIT", "only kernels that are compiled for this GPU run"),
    SWITCH("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "a fault on the GPU writes a core dump"),
    SWITCH("CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "a core dump can be asked for"),
    SLOW("CUDA_FORCE_PTX_JIT", "all kernels are compiled at the start", "programs start slowly"),
    TEXT("CUDA_HOME", "the toolkit's folder, for builds"),
    SLOW("CUDA_LAUNCH_BLOCKING", "each kernel start waits until the kernel has ended", "nothing overlaps: right for debugging, wrong for times"),
    TEXT("CUDA_LOG_FILE", "where the driver's log goes"),
    SWITCH("CUDA_MANAGED_FORCE_DEVICE_ALLOC", "managed memory stays on the device"),
    WORD("CUDA_MODULE_DATA_LOADING", "DEFAULT LAZY EAGER", "when data of kernels is loaded"),
    WORD("CUDA_MODULE_LOADING", "DEFAULT LAZY EAGER",
        "when kernels are loaded: LAZY at their first call, which is slow"),
    INTEGER("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", 1, 100, "share of the GPU for a process of MPS"),
    TEXT("CUDA_MPS_LOG_DIRECTORY", "log of the service that lets processes share a GPU"),
    TEXT("CUDA_MPS_PIPE_DIRECTORY", "where that service is"),
    TEXT("CUDA_PATH", "the toolkit's folder, for builds"),
    WORD("CUDA_SCALE_LAUNCH_QUEUES", "0.25x 0.5x 2x 4x", "length of queues"),
    TEXT("CUDA_VERSION", "set by NVIDIA's containers; CUDA does not read it"),
    DEVICES("CUDA_VISIBLE_DEVICES", "which GPUs a program sees, and in which order; an empty one hides all"),
    // others that change how ranks compute, meet and wait
    TEXT("GLOO_SOCKET_IFNAME", "the interface for Gloo in PyTorch; the kit reads CLAB_INTERFACE"),
    TEXT("LOCAL_RANK", "the rank's number on its host, set by a launcher"),
    TEXT("MASTER_ADDR", "where rank 0 is"),
    INTEGER("MASTER_PORT", 1, 65535, "the port at which ranks meet"),
    INTEGER("MKL_NUM_THREADS", 1, 4096, "threads of a matrix product by MKL"),
    INTEGER("OMP_NUM_THREADS", 1, 4096, "threads of a rank's loops: cores / ranks of this host, at most"),
    WORD("OMP_PROC_BIND", "true false close spread master primary", "whether threads stay on their cores"),
    TEXT("OMP_PLACES", "the cores for threads"),
    INTEGER("OPENBLAS_NUM_THREADS", 1, 4096, "threads of a matrix product by OpenBLAS; the kit uses one"),
    TEXT("PYTORCH_CUDA_ALLOC_CONF", "how PyTorch keeps GPU memory"),
    TEXT("RANK", "the rank's number, set by a launcher"),
    {"TORCH_DISTRIBUTED_DEBUG", "PyTorch's checks of collectives", VALUE_WORD, 0, 0, "OFF INFO DETAIL", NULL},
    INTEGER("TORCH_NCCL_ASYNC_ERROR_HANDLING", 0, 3, "PyTorch ends a rank whose collective failed"),
    SLOW("TORCH_NCCL_BLOCKING_WAIT", "PyTorch waits for each collective", "nothing overlaps"),
    INTEGER("TORCH_NCCL_TRACE_BUFFER_SIZE", 0, MOST, "calls that PyTorch's flight recorder keeps"),
    TEXT("WORLD_SIZE", "the number of ranks, set by a launcher"),
    // this kit
#define SETTING(name, written, type, least, most, words, meaning, slows) \
    {"CLAB_" #name, meaning, VALUE_##type, least, most, words, slows},
    CLAB_VARIABLES(SETTING)
#undef SETTING
    {NULL, NULL, VALUE_TEXT, 0, 0, NULL, NULL},
};
// clang-format on

const char doctor_hidden_variables[] =
    " NCCL_CHUNK_SIZE NCCL_COMM_SHRINK_SHARE_RESOURCES NCCL_COMM_SPLIT_SHARE_RESOURCES "
    "NCCL_CONNECT_ROUND_MAX_PEERS NCCL_CREATE_THREAD_CONTEXT NCCL_GDR_FLUSH_DISABLE NCCL_GIN_COUNTER_POOL_SIZE "
    "NCCL_GIN_ENABLE NCCL_GIN_ERROR_QUERY_SEC NCCL_GIN_GDAKI_NIC_HANDLER NCCL_GIN_GDAKI_QP_DEPTH "
    "NCCL_GIN_IB_ALLGATHER_TAG NCCL_GIN_IB_ALLTOALL_TAG NCCL_GIN_NCONTEXTS NCCL_GIN_PROXY_QUEUE_SIZE "
    "NCCL_GIN_SIGNAL_POOL_SIZE NCCL_GIN_TYPE NCCL_GRAPH_DUMP_FILE NCCL_GRAPH_DUMP_FILE_RANK NCCL_GRAPH_FILE "
    "NCCL_GRAPH_HELPER_DISABLE NCCL_GROUP_CUDA_STREAM NCCL_IB_DATA_DIRECT NCCL_IB_MERGE_VFS "
    "NCCL_IB_MQP_RETRY_ALL NCCL_IB_MQP_RETRY_CNT NCCL_IB_MQP_RETRY_SLEEP_MSEC NCCL_IB_PKEY "
    "NCCL_IB_ROUTABLE_FLID_GID_INDEX NCCL_IB_SL_DEFAULT NCCL_IB_TC_DEFAULT NCCL_IB_USE_INLINE "
    "NCCL_IB_WARN_RAIL_LOCAL NCCL_IGNORE_DISABLED_P2P NCCL_L1_SHARED_MEMORY_CARVEOUT NCCL_LL128_BUFFSIZE "
    "NCCL_LL128_C2C NCCL_LL128_NTHREADS NCCL_LL_BUFFSIZE NCCL_MAX_P2P_NCHANNELS NCCL_MIN_P2P_NCHANNELS "
    "NCCL_MNNVL_RAIL_PER_HOST NCCL_MNNVL_SCATTER_NETS_ENABLE NCCL_NCHANNELS_PER_NET_PEER NCCL_NET_DISABLE_INTRA "
    "NCCL_NET_FORCE_FLUSH NCCL_NET_FORCE_MERGE NCCL_NET_OPTIONAL_RECV_COMPLETION NCCL_NET_OVERHEAD "
    "NCCL_NET_PLUGIN_REF_COUNT NCCL_NVB_PRECONNECT NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE "
    "NCCL_NVLSTREE_MAX_CHUNKSIZE NCCL_NVLS_CHUNKSIZE NCCL_NVLS_NCHANNELS NCCL_NVTX_DISABLE "
    "NCCL_P2P_NVL_CHUNKSIZE NCCL_P2P_PCI_CHUNKSIZE NCCL_P2P_READ_ENABLE NCCL_P2P_SCHEDULE_GROUP_SIZE "
    "NCCL_P2P_USE_CUDA_MEMCPY NCCL_PAT_ENABLE NCCL_PROGRESS_APPENDOP_FREQ NCCL_PROXY_APPEND_BATCH_SIZE "
    "NCCL_PROXY_CPUSET NCCL_PROXY_DUMP_SIGNAL NCCL_REPORT_CONNECT_PROGRESS NCCL_SET_CPU_STACK_SIZE "
    "NCCL_SHM_LOCALITY NCCL_SHM_MEMCPY_MODE NCCL_SHM_USE_CUDA_MEMCPY NCCL_SINGLE_PROC_MEM_REG_ENABLE "
    "NCCL_SOCKET_INLINE NCCL_SOCKET_MIN_TASKSIZE NCCL_SOCKET_RCVBUF NCCL_SOCKET_SNDBUF NCCL_SYM_CTAS "
    "NCCL_SYM_KERNEL NCCL_THREAD_THRESHOLDS NCCL_TOPO_DUMP_FILE_RANK NCCL_UNPACK_DOUBLE_NCHANNELS "
    "NCCL_WARN_ENABLE_DEBUG_INFO NCCL_WIN_STRIDE NCCL_WORK_ARGS_BYTES NCCL_WORK_FIFO_BYTES ";
