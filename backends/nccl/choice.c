// SPDX-License-Identifier: MIT
// Chooses this rank's GPU: of those that CUDA_VISIBLE_DEVICES leaves, the one whose number is the rank on this host.
//
// - NCCL refuses two ranks on one GPU. With CLAB_NCCL_SHARE=1 they share one all the same: each poses as a host of its
//   own, so that NCCL uses sockets of this machine. They take turns on the GPU: that shows whether results are right,
//   and nothing about speed.
// - If another launcher lets a process see only one GPU, the process uses that one.

#include "backends/nccl/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/variables.h"

// CUDA's answers that are about the machine: what is missing, and what helps.
static const struct {
    cudaError_t code;
    const char *lack, *remedy;
} lacks[] = {
    {cudaErrorInsufficientDriver, "this machine has no driver for NVIDIA's GPUs, or one older than this CUDA",
     "install a driver (nvidia-smi shows which there is), or use another backend"},
    {cudaErrorNoDevice, "no GPU can be seen",
     "CUDA_VISIBLE_DEVICES may hide it, a container must be given it (docker run --gpus all); or use another backend"},
    {cudaErrorSystemDriverMismatch, "the driver's library and its kernel module differ", "reboot, or install it anew"},
    {cudaSuccess, "the GPUs can not be used", "nvidia-smi shows what the driver sees; or use another backend"},
};

static void say_what_is_missing(cudaError_t code)
{
    int i = 0;
    while (lacks[i].code != code && lacks[i].code != cudaSuccess)
        i++;
    clab_error("--backend nccl: %s (CUDA %d: %s): %s", lacks[i].lack, (int)code, cudaGetErrorString(code),
               lacks[i].remedy);
}

static int count_devices(int *n_p)
{
    int n = 0;
    cudaError_t code = cudaGetDeviceCount(&n);
    if (code == cudaSuccess && n == 0)
        code = cudaErrorNoDevice;
    if (code == cudaSuccess) {
        *n_p = n;
        return CLAB_OK;
    }
    say_what_is_missing(code);
    return CLAB_EUNSUPPORTED;
}

// As one host each, over this machine's own network if all are here. What the user has set stays.
static void pose_as_a_host(const struct clab_bootstrap *boot)
{
    static const char *const settings[][2] = {{"NCCL_SOCKET_IFNAME", "lo"}, {"NCCL_NET", "Socket"},
                                              {"NCCL_P2P_DISABLE", "1"},    {"NCCL_SHM_DISABLE", "1"},
                                              {"NCCL_MAX_CTAS", "2"},       {"NCCL_NVLS_ENABLE", "0"}};
    char name[32];
    snprintf(name, sizeof name, "commlab-%d", boot->rank);
    setenv("NCCL_HOSTID", name, 1);
    for (size_t i = boot->nnodes > 1; i < sizeof settings / sizeof *settings; i++) // the first is for one machine
        setenv(settings[i][0], settings[i][1], 0);
}

static int check_places(const struct clab_bootstrap *boot, int n, bool may_share_one)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    const bool is_given_one =
        n == 1 && visible && *visible && !clab_variable_is_set(CLAB_VARIABLE_JOB_FD); // by another launcher, its own
    if (boot->local_ranks <= n || is_given_one || may_share_one)
        return CLAB_OK;
    clab_error("--backend nccl: %d ranks on this host, but %d GPU%s%s%s: start %d (-n %d), or set CLAB_NCCL_SHARE=1, "
               "which shows whether results are right but is no measure of speed",
               boot->local_ranks, n, n == 1 ? "" : "s", visible ? " in CUDA_VISIBLE_DEVICES=" : "",
               visible ? visible : "", n * boot->nnodes, n * boot->nnodes);
    return CLAB_EUNSUPPORTED;
}

int nccl_choose_device(const struct clab_bootstrap *boot, int *device_p, bool *shared_p)
{
    int n;
    bool may;
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); // queues: streams that share one would wait for each other
    if (clab_variable_switch(CLAB_VARIABLE_NCCL_SHARE, &may) != CLAB_OK) {
        clab_error("CLAB_NCCL_SHARE=%s: it is 1 (ranks may share a GPU) or 0",
                   clab_variable_text(CLAB_VARIABLE_NCCL_SHARE));
        return CLAB_EINVAL;
    }
    CLAB_TRY(count_devices(&n));
    CLAB_TRY(check_places(boot, n, may));
    *shared_p = boot->local_ranks > n && may;
    if (*shared_p)
        pose_as_a_host(boot);
    CUDA_TRY(cudaSetDevice(boot->local_rank % n));
    *device_p = boot->local_rank % n;
    return CLAB_OK;
}
