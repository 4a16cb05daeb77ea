// SPDX-License-Identifier: MIT
// Graphs of the fake libcudart: a stream that is being captured runs nothing, and keeps what NCCL gives to it. That is
// started again with each launch of the graph. Nothing else can be captured.

#include "tests/fakes/fake.h"

#include <pthread.h>
#include <stdlib.h>

struct node {
    void (*start)(void *data, cudaStream_t stream);
    void (*drop)(void *data);
    void *data;
    struct node *next;
};

// A graph, or what was made of it to be launched: they share the nodes.
struct nodes {
    int holders;
    struct node *first, **end;
};
struct CUgraph_st {
    struct nodes *nodes;
};
struct CUgraphExec_st {
    struct nodes *nodes;
};

struct capture {
    cudaStream_t stream;
    struct nodes *nodes;
    struct capture *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures;

static struct capture **find(cudaStream_t stream)
{
    struct capture **at = &captures;
    while (*at && (*at)->stream != stream)
        at = &(*at)->next;
    return at;
}

bool clab_fake_is_captured(cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    const bool is_captured = *find(stream) != 0;
    pthread_mutex_unlock(&lock);
    return is_captured;
}

cudaError_t clab_fake_capture(cudaStream_t stream, void (*start)(void *, cudaStream_t), void (*drop)(void *),
                              void *data)
{
    struct node *node = malloc(sizeof *node);
    if (!node)
        return fake_error(cudaErrorMemoryAllocation);
    *node = (struct node){start, drop, data, 0};
    pthread_mutex_lock(&lock);
    struct nodes *nodes = (*find(stream))->nodes;
    *nodes->end = node;
    nodes->end = &node->next;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

static void drop(struct nodes *nodes)
{
    pthread_mutex_lock(&lock);
    const bool is_last = --nodes->holders == 0;
    pthread_mutex_unlock(&lock);
    if (!is_last)
        return;
    for (struct node *node = nodes->first, *next; node; node = next) {
        next = node->next;
        node->drop(node->data);
        free(node);
    }
    free(nodes);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    if (!stream || fake_stream_device(stream) < 0 || clab_fake_is_captured(stream))
        return fake_error(cudaErrorIllegalState);
    struct capture *capture = malloc(sizeof *capture);
    struct nodes *nodes = malloc(sizeof *nodes);
    if (!capture || !nodes) {
        free(capture);
        free(nodes);
        return fake_error(cudaErrorMemoryAllocation);
    }
    *nodes = (struct nodes){.holders = 1, .end = &nodes->first};
    pthread_mutex_lock(&lock);
    *capture = (struct capture){stream, nodes, captures};
    captures = capture;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph_p)
{
    struct CUgraph_st *graph = malloc(sizeof *graph);
    pthread_mutex_lock(&lock);
    struct capture **at = find(stream), *capture = *at;
    if (capture)
        *at = capture->next;
    pthread_mutex_unlock(&lock);
    if (!capture || !graph) {
        free(graph);
        return fake_error(capture ? cudaErrorMemoryAllocation : cudaErrorIllegalState);
    }
    graph->nodes = capture->nodes;
    free(capture);
    *graph_p = graph;
    return fake_enter();
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec_p, cudaGraph_t graph, unsigned long long flags)
{
    struct CUgraphExec_st *exec = malloc(sizeof *exec);
    if (!exec || flags) {
        free(exec);
        return fake_error(exec ? cudaErrorInvalidValue : cudaErrorMemoryAllocation);
    }
    pthread_mutex_lock(&lock);
    graph->nodes->holders++;
    pthread_mutex_unlock(&lock);
    exec->nodes = graph->nodes;
    *exec_p = exec;
    return fake_enter();
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    const cudaError_t error = fake_enter();
    for (const struct node *node = exec->nodes->first; node && !error; node = node->next)
        node->start(node->data, stream);
    return error;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    drop(exec->nodes);
    free(exec);
    return fake_enter();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    drop(graph->nodes);
    free(graph);
    return fake_enter();
}
