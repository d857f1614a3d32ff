/* A program that maps something else over blocks of its heap, or drops their pages, and then uses them as buffers: what
 * it sees there is what others receive, and what others send is what it finds there. All ranks do the same to their own
 * buffers. The program takes the names of the ways that are to be tried, or none for all. */
#include "heap.h"
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

enum { PAGE = 4096, BYTES = 1 << 20, PAGES = BYTES / PAGE };

static const int access_all = PROT_READ | PROT_WRITE;
static const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
static int rank, ranks;

static int filled_with(const unsigned char *bytes, size_t len, int value)
{
    for (size_t at = 0; at < len; at++)
        if (bytes[at] != value)
            return 0;
    return 1;
}

static int file_of(int value)
{
    char name[] = "/tmp/remapped-XXXXXX";
    int file = mkstemp(name);
    CHECK(file >= 0 && unlink(name) == 0 && ftruncate(file, BYTES) == 0);
    unsigned char *bytes = mmap(NULL, BYTES, access_all, MAP_SHARED, file, 0);
    CHECK(bytes != MAP_FAILED);
    memset(bytes, value, BYTES);
    CHECK(munmap(bytes, BYTES) == 0);
    return file;
}

/* The ways. Each makes all of a buffer read as 'n', where it does not say otherwise by what it returns. */

static int fresh_memory(unsigned char *buffer)
{
    CHECK(mmap(buffer, BYTES, access_all, MAP_FIXED | anonymous, -1, 0) == buffer);
    return 0;
}

static int shared_memory(unsigned char *buffer)
{
    int flags = MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS;
    CHECK(mmap(buffer, BYTES, access_all, flags, -1, 0) == buffer);
    return 0;
}

static int a_shared_file(unsigned char *buffer)
{
    int file = file_of('n');
    CHECK(mmap(buffer, BYTES, access_all, MAP_FIXED | MAP_SHARED, file, 0) == buffer);
    close(file);
    return 'n';
}

static int a_private_file(unsigned char *buffer)
{
    int file = file_of('n');
    CHECK(mmap64(buffer, BYTES, access_all, MAP_FIXED | MAP_PRIVATE, file, 0) == buffer);
    close(file);
    return 'n';
}

static int a_segment(unsigned char *buffer)
{
    int id = shmget(IPC_PRIVATE, BYTES, 0600);
    CHECK(id >= 0);
    CHECK(shmat(id, buffer, SHM_REMAP) == buffer);
    CHECK(shmctl(id, IPC_RMID, NULL) == 0);
    return 0;
}

static int memory_moved_there(unsigned char *buffer)
{
    void *elsewhere = mmap(NULL, BYTES, access_all, anonymous, -1, 0);
    CHECK(elsewhere != MAP_FAILED);
    memset(elsewhere, 'n', BYTES);
    int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    CHECK(mremap(elsewhere, BYTES, BYTES, flags, buffer) == buffer);
    return 'n';
}

/* As a collector does that gives memory back, and takes it again. */
static int unmapped_and_mapped(unsigned char *buffer)
{
    CHECK(munmap(buffer, BYTES) == 0);
    CHECK(mmap(buffer, BYTES, access_all, anonymous, -1, 0) == buffer);
    return 0;
}

static int unmapped_and_placed(unsigned char *buffer)
{
    CHECK(munmap(buffer, BYTES) == 0);
    return fresh_memory(buffer);
}

/* As one that keeps addresses only. */
static int reserved_and_opened(unsigned char *buffer)
{
    int flags = MAP_FIXED | anonymous | MAP_NORESERVE;
    CHECK(mmap(buffer, BYTES, PROT_NONE, flags, -1, 0) == buffer);
    CHECK(mprotect(buffer, BYTES, access_all) == 0);
    return 0;
}

static int protected_and_opened(unsigned char *buffer)
{
    CHECK(mprotect(buffer, BYTES, PROT_READ) == 0);
    CHECK(mprotect(buffer, BYTES, access_all) == 0);
    return 'o';
}

static int moved_away_and_back(unsigned char *buffer)
{
    memset(buffer, 'n', BYTES);
    unsigned char *longer = mremap(buffer, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
    CHECK(longer != MAP_FAILED && longer != buffer);
    CHECK(filled_with(longer, BYTES, 'n') && filled_with(longer + BYTES, BYTES, 0));
    memset(longer + BYTES, 'x', BYTES);
    int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    CHECK(mremap(longer, 2 * BYTES, BYTES, flags, buffer) == buffer);
    return 'n';
}

static int a_hole_for_itself(unsigned char *buffer)
{
    int flags = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
    unsigned char *copy = mremap(buffer, BYTES, BYTES, flags, NULL);
    CHECK(copy != MAP_FAILED && filled_with(copy, BYTES, 'o'));
    CHECK(munmap(copy, BYTES) == 0);
    return 0;
}

static int by_its_number(unsigned char *buffer)
{
    int file = file_of('n'), flags = MAP_FIXED | MAP_SHARED;
    CHECK(syscall(SYS_mmap, buffer, BYTES, access_all, flags, file, 0L) == (long)buffer);
    close(file);
    errno = 0;
    CHECK(syscall(SYS_mmap, buffer + 1, BYTES, access_all, flags, file, 0L) == -1);
    CHECK(errno == EINVAL || errno == EBADF);
    CHECK(syscall(SYS_munmap, buffer + 1, BYTES) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_getpid) == getpid() && syscall(SYS_close, -1) == -1 && errno == EBADF);
    return 'n';
}

static void *maps(void *buffer)
{
    a_shared_file(buffer);
    return NULL;
}

static int by_a_thread(unsigned char *buffer)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, maps, buffer) == 0 && pthread_join(thread, NULL) == 0);
    return 'n';
}

/* As a pool of blocks does with those that are free. */
static int pages_not_needed(unsigned char *buffer)
{
    CHECK(madvise(buffer, BYTES, MADV_DONTNEED) == 0);
    return 0;
}

static int pages_freed(unsigned char *buffer)
{
    CHECK(madvise(buffer, BYTES, MADV_FREE) == 0);
    memset(buffer, 'n', BYTES);
    return 'n';
}

static int pages_not_needed_of_a_file(unsigned char *buffer)
{
    a_private_file(buffer);
    memset(buffer, 'x', BYTES);
    CHECK(madvise(buffer, BYTES, MADV_DONTNEED) == 0);
    return 'n';
}

static int every_other_page(unsigned char *buffer)
{
    int file = file_of('n');
    for (int page = 0; page < PAGES; page += 2) {
        unsigned char *at = buffer + page * PAGE;
        CHECK(mmap(at, PAGE, access_all, MAP_FIXED | MAP_SHARED, file, page * PAGE) == at);
        memset(at + PAGE, 'n', PAGE);
    }
    close(file);
    return 'n';
}

static int the_last_page(unsigned char *buffer)
{
    memset(buffer, 'n', BYTES);
    unsigned char *at = buffer + BYTES - PAGE;
    CHECK(mmap(at, PAGE, access_all, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0) == at);
    memset(at, 'n', PAGE);
    return 'n';
}

static const struct {
    const char *name;
    int (*make)(unsigned char *);
} ways[] = {
    {"fresh_memory", fresh_memory},
    {"shared_memory", shared_memory},
    {"a_shared_file", a_shared_file},
    {"a_private_file", a_private_file},
    {"a_segment", a_segment},
    {"memory_moved_there", memory_moved_there},
    {"unmapped_and_mapped", unmapped_and_mapped},
    {"unmapped_and_placed", unmapped_and_placed},
    {"reserved_and_opened", reserved_and_opened},
    {"protected_and_opened", protected_and_opened},
    {"moved_away_and_back", moved_away_and_back},
    {"a_hole_for_itself", a_hole_for_itself},
    {"by_its_number", by_its_number},
    {"by_a_thread", by_a_thread},
    {"pages_not_needed", pages_not_needed},
    {"pages_freed", pages_freed},
    {"pages_not_needed_of_a_file", pages_not_needed_of_a_file},
    {"every_other_page", every_other_page},
    {"the_last_page", the_last_page},
};

/* A byte of what a rank sends in a round. */
static unsigned char sent(int from, int round, size_t at)
{
    return (unsigned char)(from * 31 + round * 17 + at * 7 + (at >> 12));
}

static void fill(unsigned char *bytes, size_t len, int round)
{
    for (size_t at = 0; at < len; at++)
        bytes[at] = sent(rank, round, at);
}

static void check(const unsigned char *bytes, size_t len, int from, int round)
{
    for (size_t at = 0; at < len; at++)
        if (bytes[at] != sent(from, round, at)) {
            fprintf(stderr, "rank %d, round %d: byte %zu from rank %d is not right\n", rank, round, at,
                    from);
            _exit(1);
        }
}

/* Around the ring, from one buffer into another. */
static void messages(unsigned char *out, unsigned char *in)
{
    static const int lengths[] = {1, 40, 3000, 20000, 200000, BYTES};
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (int round = 0; round < 6; round++) {
        int len = lengths[round];
        /* At the end, where pages may be of another kind. */
        unsigned char *from = out + BYTES - len, *into = in + BYTES - len;
        fill(from, len, round);
        memset(into, 0, len);
        MPI_Request request;
        MPI_Irecv(into, len, MPI_BYTE, before, round, MPI_COMM_WORLD, &request);
        if (round % 2)
            MPI_Ssend(from, len, MPI_BYTE, next, round, MPI_COMM_WORLD);
        else
            MPI_Send(from, len, MPI_BYTE, next, round, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(into, len, before, round);
    }
}

/* The same in pieces with gaps, at one of the sides or both. */
static void pieces(unsigned char *out, unsigned char *in)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Datatype strips;
    MPI_Type_vector(BYTES / 1024, 512, 1024, MPI_BYTE, &strips);
    MPI_Type_commit(&strips);
    for (int round = 0; round < 3; round++) {
        int apart_out = round != 1, apart_in = round != 0;
        fill(out, BYTES, round);
        memset(in, 0, BYTES);
        MPI_Sendrecv(out, apart_out ? 1 : BYTES / 2, apart_out ? strips : MPI_BYTE, next, round, in,
                     apart_in ? 1 : BYTES / 2, apart_in ? strips : MPI_BYTE, before, round,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (size_t nth = 0; nth < BYTES / 2; nth++) {
            size_t apart = nth / 512 * 1024 + nth % 512;
            CHECK(in[apart_in ? apart : nth] ==
                  sent(before, round, apart_out ? apart : nth));
        }
    }
    MPI_Type_free(&strips);
}

static void collectives(unsigned char *out, unsigned char *in)
{
    static const int lengths[] = {8, BYTES / 8};
    long *ours = (long *)out, *theirs = (long *)in;
    for (int root = 0; root < ranks; root++) {
        if (rank == root)
            fill(out, BYTES, 7);
        MPI_Bcast(out, BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
        check(out, BYTES, root, 7);
    }
    for (int nth = 0; nth < 2; nth++) {
        int words = lengths[nth];
        for (int at = 0; at < words; at++)
            ours[at] = (long)at * (rank + 1);
        MPI_Allreduce(ours, theirs, words, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int at = 0; at < words; at++)
            CHECK(theirs[at] == (long)at * ranks * (ranks + 1) / 2);
        MPI_Reduce(ours, theirs, words, MPI_LONG, MPI_MAX, ranks - 1, MPI_COMM_WORLD);
        for (int at = 0; rank == ranks - 1 && at < words; at++)
            CHECK(theirs[at] == (long)at * ranks);
    }
    int each = BYTES / ranks;
    fill(out, BYTES, 8);
    MPI_Alltoall(out, each, MPI_BYTE, in, each, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        for (int at = 0; at < each; at++)
            CHECK(in[from * each + at] == sent(from, 8, (size_t)rank * each + at));
    MPI_Allgather(out, each, MPI_BYTE, in, each, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        check(in + from * each, each, from, 8);
}

static int is_wanted(const char *name, int count, char **names)
{
    for (int nth = 1; nth < count; nth++)
        if (!strcmp(name, names[nth]))
            return 1;
    return count < 2;
}

int main(int count, char **names)
{
    MPI_Init(&count, &names);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        if (!is_wanted(ways[way].name, count, names))
            continue;
        unsigned char *buffers[3];
        for (int nth = 0; nth < 3; nth++) {
            buffers[nth] = aligned_alloc(PAGE, BYTES);
            memset(buffers[nth], 'o', BYTES);
        }
        unsigned char *first = buffers[0], *second = buffers[1], *ordinary = buffers[2];
        int value = ways[way].make(first);
        CHECK(filled_with(first, BYTES, value));
        if (rank == 0)
            printf("%s\n", ways[way].name);
        MPI_Barrier(MPI_COMM_WORLD);
        messages(first, ordinary);
        messages(ordinary, first);
        CHECK(ways[way].make(second) == value);
        messages(first, second);
        pieces(first, second);
        collectives(first, second);
        collectives(ordinary, first);
        for (int nth = 0; nth < 3; nth++)
            free(buffers[nth]);
    }
    MPI_Finalize();
    return 0;
}
