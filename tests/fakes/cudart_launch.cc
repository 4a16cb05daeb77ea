// SPDX-License-Identifier: MIT
// Kernels of the fake libcudart: the same files as the GPU's, as C++, called once for each thread of the grid.
//
// - kernels.inc includes these files. host_kernels.inc lists them, as HOST_KERNEL(name); a kernel is found by the name
//   that its object gives when it is loaded (__cudaRegisterFunction).
// - A kernel's arguments are copied when it is launched. Its pointers are translated when it runs: one that no device
//   can reach fails the device (cudaErrorIllegalAddress), as on a GPU, whether the kernel would use it or not.

#include "tests/fakes/cuda_as_cpp.h"
#include "tests/fakes/fake.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

thread_local uint3 fake_thread, fake_block;
thread_local dim3 fake_block_size, fake_grid_size;

#include "kernels.inc"

namespace
{

struct Grid {
    dim3 blocks, threads;
};

struct Launch {
    Grid grid;
    int device = 0;
    virtual void run() = 0;
    virtual ~Launch() = default;
};

template <typename T> bool translate(int, T &)
{
    return true;
}

// A null pointer stays one: it may say that there is nothing.
template <typename T> bool translate(int device, T *&pointer)
{
    if (pointer)
        pointer = static_cast<T *>(clab_fake_touch(device, pointer, 1));
    return fake_sticky(device) == cudaSuccess;
}

template <typename Call> void for_each_thread(const Grid &grid, Call call)
{
    fake_block_size = grid.threads;
    fake_grid_size = grid.blocks;
    for (fake_block.z = 0; fake_block.z < grid.blocks.z; fake_block.z++)
        for (fake_block.y = 0; fake_block.y < grid.blocks.y; fake_block.y++)
            for (fake_block.x = 0; fake_block.x < grid.blocks.x; fake_block.x++)
                for (fake_thread.z = 0; fake_thread.z < grid.threads.z; fake_thread.z++)
                    for (fake_thread.y = 0; fake_thread.y < grid.threads.y; fake_thread.y++)
                        for (fake_thread.x = 0; fake_thread.x < grid.threads.x; fake_thread.x++)
                            call();
}

template <typename... Args> struct Launched : Launch {
    void (*kernel)(Args...);
    std::tuple<std::decay_t<Args>...> arguments;

    template <std::size_t... I>
    Launched(void (*kernel)(Args...), void **given, std::index_sequence<I...>)
        : kernel(kernel), arguments(*static_cast<std::decay_t<Args> *>(given[I])...)
    {
    }

    void run() override
    {
        const bool reached =
            std::apply([this](auto &...argument) { return (translate(device, argument) && ...); }, arguments);
        if (reached)
            for_each_thread(grid, [this] { std::apply(kernel, arguments); });
    }
};

// The arguments of a launch of `kernel`, copied.
template <typename... Args> std::unique_ptr<Launch> capture(void (*kernel)(Args...), void **given)
{
    return std::make_unique<Launched<Args...>>(kernel, given, std::index_sequence_for<Args...>());
}

using Capture = std::unique_ptr<Launch> (*)(void **given);

struct HostKernel {
    const char *name;
    Capture capture;
};

const HostKernel host_kernels[] = {
#define HOST_KERNEL(kernel) {#kernel, [](void **given) { return capture(kernel, given); }},
#include "host_kernels.inc"
#undef HOST_KERNEL
};

const HostKernel *find(const std::string &name)
{
    for (const HostKernel &kernel : host_kernels)
        if (name == kernel.name)
            return &kernel;
    return nullptr;
}

// Kernels that have been registered, by the address of their function on the host.
std::mutex &registered_lock()
{
    static std::mutex lock;
    return lock;
}

std::map<const void *, std::string> &registered()
{
    static auto *names = new std::map<const void *, std::string>;
    return *names;
}

const HostKernel *host_kernel_of(const void *function)
{
    const std::lock_guard<std::mutex> guard(registered_lock());
    const auto found = registered().find(function);
    if (found == registered().end())
        return nullptr;
    const HostKernel *kernel = find(found->second);
    if (!kernel) {
        std::fprintf(stderr,
                     "fake CUDA: there is no host version of kernel %s: those of backends/nccl/kernels.cu have one\n",
                     found->second.c_str());
        std::abort();
    }
    return kernel;
}

void run(void *data, cudaError_t status)
{
    const std::unique_ptr<Launch> launch(static_cast<Launch *>(data));
    if (!status)
        launch->run();
}

bool fits(const Grid &grid)
{
    const auto whole = [](const dim3 &of) { return of.x && of.y && of.z; };
    return whole(grid.blocks) && whole(grid.threads) && grid.blocks.y <= 65535 && grid.blocks.z <= 65535 &&
           static_cast<size_t>(grid.threads.x) * grid.threads.y * grid.threads.z <= 1024;
}

cudaError_t launch(const void *function, const Grid &grid, void **arguments, cudaStream_t stream)
{
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    const HostKernel *kernel = host_kernel_of(function);
    if (!kernel || !fits(grid))
        return fake_error(kernel ? cudaErrorInvalidConfiguration : cudaErrorInvalidDeviceFunction);
    std::unique_ptr<Launch> launch = kernel->capture(arguments);
    launch->grid = grid;
    launch->device = fake_stream_device(stream);
    const cudaError_t given = fake_stream_put(stream, run, launch.get(), nullptr);
    if (!given)
        launch.release();
    return given;
}

struct Configuration {
    Grid grid;
    size_t shared;
    cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

} // namespace

// ---- CUDA's calls, and those of the code that nvcc makes -----------------------------------------------------

extern "C" {

cudaError_t cudaLaunchKernel(const void *function, dim3 blocks, dim3 threads, void **arguments, size_t shared,
                             cudaStream_t stream)
{
    (void)shared;
    return launch(function, Grid{blocks, threads}, arguments, stream);
}

// Of a kernel only that there is one. On a GPU this also loads it.
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes_p, const void *function)
{
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    if (!attributes_p || !host_kernel_of(function))
        return fake_error(attributes_p ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
    *attributes_p = {};
    attributes_p->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}

// A kernel's handle is its function.
cudaError_t __cudaGetKernel(cudaKernel_t *kernel_p, const void *function)
{
    *kernel_p = reinterpret_cast<cudaKernel_t>(const_cast<void *>(function));
    return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel_p, const void *function)
{
    return __cudaGetKernel(kernel_p, function);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared,
                               cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, blocks, threads, arguments, shared, stream);
}

unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, size_t shared, struct CUstream_st *stream)
{
    configurations.push_back({{blocks, threads}, shared, stream});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *blocks_p, dim3 *threads_p, size_t *shared_p, void *stream_p)
{
    if (configurations.empty())
        return fake_error(cudaErrorInvalidConfiguration);
    const Configuration last = configurations.back();
    configurations.pop_back();
    *blocks_p = last.grid.blocks;
    *threads_p = last.grid.threads;
    *shared_p = last.shared;
    *static_cast<cudaStream_t *>(stream_p) = last.stream;
    return cudaSuccess;
}

void **__cudaRegisterFatBinary(void *binary)
{
    return new void *(binary);
}

void __cudaRegisterFatBinaryEnd(void **)
{
}

void __cudaUnregisterFatBinary(void **handle)
{
    delete handle;
}

void __cudaRegisterFunction(void **, const char *function, char *, const char *name, int, uint3 *, uint3 *, dim3 *,
                            dim3 *, int *)
{
    const std::lock_guard<std::mutex> guard(registered_lock());
    registered()[function] = name;
}

char __cudaInitModule(void **)
{
    return 1;
}

} // extern "C"
