// SPDX-License-Identifier: MIT
// CUDA graphs: natives that are captured from the first lane's stream, and launched together.
//
// - NCCL holds a communicator until the graphs with its operations are destroyed. So they go before it, also where it
//   has failed; what the communicator's user still has of one is empty then.
// - CUDA destroys a graph that runs when it is done.

#include "backends/nccl/endpoint.h"

#include <stdlib.h>

#include "core/base/log.h"

struct nccl_graph {
    struct nccl_graph *next; // of the endpoint
    struct nccl_endpoint *endpoint;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
};

int nccl_record(struct clab_endpoint *base)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    struct nccl_lane *lane = &endpoint->lanes[0];
    bool ready;
    CLAB_TRY(nccl_lane_ready(endpoint, 0, &ready));
    if (!ready || endpoint->natives) {
        clab_error("nccl: a graph can not be recorded while a lane is being made, or a collective is under way");
        return CLAB_EUNSUPPORTED;
    }
    CLAB_TRY(nccl_follow_device(lane->stream, &lane->given));
    CUDA_TRY(cudaStreamBeginCapture(lane->stream, cudaStreamCaptureModeThreadLocal));
    endpoint->is_recording = true;
    return CLAB_OK;
}

static int instantiate(struct nccl_graph *g, cudaStream_t stream)
{
    CUDA_TRY(cudaStreamEndCapture(stream, &g->graph));
    CUDA_TRY(cudaGraphInstantiateWithFlags(&g->exec, g->graph, 0));
    return CLAB_OK;
}

static void empty(struct nccl_graph *g)
{
    if (g->exec)
        cudaGraphExecDestroy(g->exec);
    if (g->graph)
        cudaGraphDestroy(g->graph);
    g->exec = NULL;
    g->graph = NULL;
    g->endpoint = NULL;
}

int nccl_recorded(struct clab_endpoint *base, void **graph_p)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    struct nccl_graph *g = calloc(1, sizeof *g), none = {0};
    endpoint->is_recording = false;
    int err = instantiate(g ? g : &none, endpoint->lanes[0].stream);
    if (!err && !g)
        err = CLAB_ENOMEM;
    if (err) {
        empty(g ? g : &none);
        free(g);
        return err;
    }
    g->endpoint = endpoint;
    g->next = endpoint->graphs;
    endpoint->graphs = g;
    *graph_p = g;
    return CLAB_OK;
}

ncclResult_t nccl_graph_launch(const struct nccl_graph *g, cudaStream_t stream)
{
    return nccl_cuda_error(cudaGraphLaunch(g->exec, stream), "cudaGraphLaunch") ? ncclUnhandledCudaError : ncclSuccess;
}

void nccl_forget(void *graph)
{
    struct nccl_graph *g = graph;
    if (g->endpoint) {
        struct nccl_graph **link = &g->endpoint->graphs;
        while (*link != g)
            link = &(*link)->next;
        *link = g->next;
        empty(g);
    }
    free(g);
}

// What is captured when the communicator fails: until its end, CUDA refuses this thread what teardown needs.
static void stop_recording(struct nccl_endpoint *endpoint)
{
    cudaGraph_t graph = NULL;
    endpoint->is_recording = false;
    cudaStreamEndCapture(endpoint->lanes[0].stream, &graph);
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError();
}

void nccl_graphs_end(struct nccl_endpoint *endpoint)
{
    if (endpoint->is_recording)
        stop_recording(endpoint);
    for (struct nccl_graph *g = endpoint->graphs, *next; g; g = next) {
        next = g->next;
        empty(g);
    }
    endpoint->graphs = NULL;
}
