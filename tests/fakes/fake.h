// SPDX-License-Identifier: MIT
// What the files of the fake libcudart share, and the little that the other fakes need of it beyond CUDA's own calls
// (clab_fake_...).
//
// - Device memory is an arena of addresses that the host can neither read nor write. Its pages belong to a file in
//   memory, which the fakes have mapped a second time: `host` of a place is the same byte there.
// - Streams are threads. What a stream is given is a struct work; whoever holds it may wait for it.
// - A call that fails keeps its error for cudaGetLastError (fake_error); an error that a kernel or copy makes on a
//   device is sticky: every later call there answers it (clab_fake_fail).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_MAX_GPUS 64

// ---- between the libraries ---------------------------------------------------------------------------------------

// What an address means to a device.
struct fake_place {
    enum cudaMemoryType type; // Unregistered: the host's alone; the rest holds for Device and Host
    int device;
    void *host;    // the same byte where the host can touch it
    bool in_file;  // false: the host's own memory, that was registered
    size_t offset; // in the file
};

// A line that says fake. Each of the libraries has it.
const char *clab_fake_version(void);
// False: [address, address + bytes) is not all in one allocation that devices can reach; the type is then Unregistered.
bool clab_fake_place(const void *address, size_t bytes, struct fake_place *place_p);
// The file of all memory that CUDA has allocated for this process, and its bytes, most of which are holes.
int clab_fake_file(size_t *bytes_p);
// Free memory of cudaMalloc's at once, whatever uses it, as the driver unmaps memory.
cudaError_t clab_fake_unmap(void *memory);
// Work on the device has failed, now and for ever.
void clab_fake_fail(int device, cudaError_t error);

// Whether a stream is being captured into a graph; then `start` is called with each launch of that, and `drop` at its
// end.
bool clab_fake_is_captured(cudaStream_t stream);
cudaError_t clab_fake_capture(cudaStream_t stream, void (*start)(void *data, cudaStream_t stream),
                              void (*drop)(void *data), void *data);

// Where the bytes are that a work uses that runs on `device`; NULL: not in one allocation that it can reach, and it has
// failed.
void *clab_fake_touch(int device, const void *address, size_t bytes);

// ---- within libcudart ----------------------------------------------------------------------------------------------

// Keep an error for cudaGetLastError, and give it back.
cudaError_t fake_error(cudaError_t error);
// Whether this thread may call its device: cudaSuccess, or why not, kept.
cudaError_t fake_enter(void);
// The same for calls that may be made without any device.
int fake_device(void);
int fake_device_count(void);
cudaError_t fake_sticky(int device);
// Bytes of a device that are allocated, and that it has.
size_t fake_memory_used(int device);
size_t fake_memory_limit(void);
// A number of the environment: `otherwise` if it is not set. What is no number ends the process.
size_t fake_setting(const char *name, size_t otherwise);

struct fake_work;
// Put `run` into a stream (0: the legacy default stream). It is called always, with the device's error if that has
// failed: then it does nothing but free `data`.
//   work_p: NULL, or to wait for it: fake_work_wait or fake_work_drop is due
cudaError_t fake_stream_put(cudaStream_t stream, void (*run)(void *data, cudaError_t status), void *data,
                            struct fake_work **work_p);
// The same, but it runs only after `other` is done, too.
cudaError_t fake_stream_put_after(cudaStream_t stream, struct fake_work *other, struct fake_work **work_p);
int fake_stream_device(cudaStream_t stream);        // -1: there is no such stream
cudaError_t fake_work_wait(struct fake_work *work); // and drop it; its device's error
struct fake_work *fake_work_keep(struct fake_work *work);
void fake_work_drop(struct fake_work *work);                 // NULL: nothing
bool fake_work_done(struct fake_work *work, double *time_p); // s of the monotonic clock, when it was done

#ifdef __cplusplus
}
#endif
