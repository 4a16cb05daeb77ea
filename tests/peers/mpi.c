// SPDX-License-Identifier: MIT
// Times the collectives of an MPI library as `commlab bench --mode throughput` times ours: calls back to back in a
// batch, of the slowest rank. tests/peers/bench.sh compiles it with each library's mpicc and compares.
//
//   mpirun -n P ./mpi NAME FACTOR LARGEST
//
// - A row per collective and size, as CSV without a head: NAME,collective,bytes,usec,line_nsec. Sizes are 8 B, times
//   FACTOR, up to LARGEST. usec is the median of BATCHES batches.
// - line_nsec is the way of a cache line from rank 0 to rank 1 and back, measured before the row: a hypervisor may move
//   the two cores apart at any time. 0: not known, since ranks share cores.
// - `bytes` counts the whole buffer, as nccl-tests does: of allgather and gather all that is received, of reduce_scatter
//   and scatter all that is sent. Elements are floats, the operation is a sum, out of place where there is a choice.

#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCHES = 5, ROOT = 0, LINE = 64, TRIPS = 2000 };
static const double batch_seconds = 2e-3;

// One collective: `count` floats in the whole buffer, of which `block` are a rank's.
struct buffers {
    float *in, *out;
    int count, block;
};

static void run_allreduce(const struct buffers *b)
{
    MPI_Allreduce(b->in, b->out, b->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void run_broadcast(const struct buffers *b)
{
    MPI_Bcast(b->in, b->count, MPI_FLOAT, ROOT, MPI_COMM_WORLD);
}

static void run_reduce(const struct buffers *b)
{
    MPI_Reduce(b->in, b->out, b->count, MPI_FLOAT, MPI_SUM, ROOT, MPI_COMM_WORLD);
}

static void run_allgather(const struct buffers *b)
{
    MPI_Allgather(b->in, b->block, MPI_FLOAT, b->out, b->block, MPI_FLOAT, MPI_COMM_WORLD);
}

static void run_reduce_scatter(const struct buffers *b)
{
    MPI_Reduce_scatter_block(b->in, b->out, b->block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void run_alltoall(const struct buffers *b)
{
    MPI_Alltoall(b->in, b->block, MPI_FLOAT, b->out, b->block, MPI_FLOAT, MPI_COMM_WORLD);
}

static void run_gather(const struct buffers *b)
{
    MPI_Gather(b->in, b->block, MPI_FLOAT, b->out, b->block, MPI_FLOAT, ROOT, MPI_COMM_WORLD);
}

static void run_scatter(const struct buffers *b)
{
    MPI_Scatter(b->in, b->block, MPI_FLOAT, b->out, b->block, MPI_FLOAT, ROOT, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*run)(const struct buffers *);
    int is_in_blocks; // one a rank
} collectives[] = {
    {"allreduce", run_allreduce, 0}, {"broadcast", run_broadcast, 0},           {"reduce", run_reduce, 0},
    {"allgather", run_allgather, 1}, {"reduce_scatter", run_reduce_scatter, 1}, {"alltoall", run_alltoall, 1},
    {"gather", run_gather, 1},       {"scatter", run_scatter, 1},
};

// Seconds per call, of the slowest rank.
static double time_batch(void (*run)(const struct buffers *), const struct buffers *b, int calls)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        run(b);
    double seconds = (MPI_Wtime() - begin) / calls;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_calls(void (*run)(const struct buffers *), const struct buffers *b)
{
    double batches[BATCHES];
    int calls = 4;
    while (calls < 1 << 20 && time_batch(run, b, calls) * calls < batch_seconds)
        calls *= 2;
    for (int i = 0; i < BATCHES; i++)
        batches[i] = time_batch(run, b, calls);
    qsort(batches, BATCHES, sizeof *batches, by_value);
    return batches[BATCHES / 2];
}

// ---- a cache line --------------------------------------------------------------------------------------------

// Of memory that all ranks share; NULL: there is none.
static atomic_int *share_line(void)
{
    MPI_Win window; // lasts until the end
    MPI_Aint bytes;
    atomic_int *line;
    int unit, rank;
    MPI_Comm host;
    int together, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &together);
    if (together < ranks)
        return NULL;
    MPI_Win_allocate_shared(rank == 0 ? 2 * LINE : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &line, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &line);
    return line;
}

// ns of a round trip; 0 where ranks share cores, or the library shares no memory (over TCP).
static double time_line(atomic_int *turn, int rank, int ranks)
{
    if (!turn || ranks != 2 || sysconf(_SC_NPROCESSORS_ONLN) < ranks)
        return 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        atomic_store(turn, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = rank; i < 2 * TRIPS; i += 2) {
        while (atomic_load_explicit(turn, memory_order_acquire) != i)
            ;
        atomic_store_explicit(turn, i + 1, memory_order_release);
    }
    return 1e9 * (MPI_Wtime() - begin) / TRIPS;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4) {
        fprintf(stderr, "usage: mpi NAME FACTOR LARGEST\n");
        return 2;
    }
    const long factor = atol(argv[2]), largest = atol(argv[3]);
    struct buffers b = {malloc((size_t)largest), calloc(1, (size_t)largest)};
    if (!b.in || !b.out || factor < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (long i = 0; i < largest / (long)sizeof(float); i++)
        b.in[i] = (float)((i * 7 + rank) % 13);
    atomic_int *line = share_line();
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        for (long bytes = 8; bytes <= largest; bytes *= factor) {
            b.count = (int)(bytes / (long)sizeof(float));
            b.block = b.count / ranks > 0 ? b.count / ranks : 1;
            const double line_nsec = time_line(line, rank, ranks);
            const double seconds = time_calls(collectives[i].run, &b);
            const long blocks = (long)sizeof(float) * b.block * ranks; // as whole as they get
            if (rank == 0)
                printf("%s,%s,%ld,%.4f,%.1f\n", argv[1], collectives[i].name,
                       collectives[i].is_in_blocks ? blocks : bytes, 1e6 * seconds, line_nsec);
        }
    free(b.in);
    free(b.out);
    return MPI_Finalize();
}
