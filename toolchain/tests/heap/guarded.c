/* Pages of the heap that the program has protected. The word says what is done:
 *
 * - many: ten thousand guard pages between blocks, which are then used, and the guards taken away again;
 * - send, send_part, receive, bcast: rank 0 names a guard page in a long message or collective, which is an error;
 * - grown, freed: blocks with guards or other mappings in them are made longer, or freed. */
#include "heap.h"
#include <mpi.h>
#include <sys/mman.h>

enum { PAGE = 4096, BYTES = 1 << 20, GUARDS = 10000 };

static const int access_all = PROT_READ | PROT_WRITE;
static int rank;

static void send(const char *bytes, int len)
{
    if (rank == 0)
        MPI_Send(bytes, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
}

/* Of one value each. */
static void receive(char *into, int len, char value)
{
    if (rank != 1)
        return;
    memset(into, 0, len);
    MPI_Recv(into, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int at = 0; at < len; at++)
        CHECK(into[at] == value);
}

static void many(void)
{
    size_t bytes = (size_t)GUARDS * 2 * PAGE;
    char *block = aligned_alloc(PAGE, bytes), *other = malloc(bytes);
    memset(block, 'b', bytes);
    memset(other, 'o', bytes);
    for (int nth = 0; nth < GUARDS; nth++)
        CHECK(mprotect(block + (size_t)nth * 2 * PAGE, PAGE, PROT_NONE) == 0);
    send(other, BYTES);
    receive(other, BYTES, 'o');
    for (int nth = 1; nth < GUARDS; nth += GUARDS / 7) {
        char *between = block + ((size_t)nth * 2 + 1) * PAGE;
        send(between, PAGE);
        receive(between, PAGE, 'b');
    }
    for (int nth = 0; nth < GUARDS; nth++)
        CHECK(mprotect(block + (size_t)nth * 2 * PAGE, PAGE, access_all) == 0);
    send(block, (int)bytes);
    receive(block, (int)bytes, 'b');
    free(block);
    free(other);
}

static void wrong(const char *what)
{
    char *block = aligned_alloc(PAGE, BYTES);
    memset(block, 'b', BYTES);
    if (rank == 0) {
        char *guard = block + BYTES / 2;
        CHECK(mprotect(guard, !strcmp(what, "send_part") ? PAGE : BYTES / 2, PROT_NONE) == 0);
    }
    if (!strcmp(what, "bcast"))
        MPI_Bcast(block, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (rank == (strcmp(what, "receive") ? 0 : 1))
        MPI_Send(block, BYTES, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(block, BYTES, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "rank %d went on, and has '%c'\n", rank, block[BYTES / 2 - 1]);
}

/* Guards of the other kind, where the kernel has them: what lay there is gone. */
static void light(void)
{
    enum { INSTALL = 102, REMOVE = 103 };
    char *block = aligned_alloc(PAGE, BYTES);
    memset(block, 'b', BYTES);
    if (madvise(block + PAGE, PAGE, INSTALL) != 0) {
        CHECK(errno == EINVAL);
        return;
    }
    send(block + 2 * PAGE, BYTES - 2 * PAGE);
    receive(block + 2 * PAGE, BYTES - 2 * PAGE, 'b');
    CHECK(madvise(block, BYTES, REMOVE) == 0 && block[PAGE] == 0 && block[0] == 'b');
    memset(block + PAGE, 'b', PAGE);
    send(block, BYTES);
    receive(block, BYTES, 'b');
    free(block);
}

/* Of blocks of all sizes. */
static void grown(void)
{
    for (size_t bytes = 8 * PAGE; bytes <= 64 * (size_t)BYTES; bytes *= 8) {
        char *block = aligned_alloc(PAGE, bytes);
        memset(block, 'b', bytes);
        char *page = block + 3 * PAGE;
        CHECK(mmap(page, PAGE, access_all, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0) == page);
        memset(page, 'p', PAGE);
        block = realloc(block, 3 * bytes);
        for (size_t at = 0; at < bytes; at++)
            CHECK(block[at] == (at / PAGE == 3 ? 'p' : 'b'));
        memset(block, 'm', 3 * bytes);
        int some = bytes < BYTES ? (int)bytes : BYTES;
        send(block, some);
        receive(block, some, 'm');
        free(block);
    }
}

/* What is mapped over a block that is freed stays as it is, and the next block there is memory of the heap. */
static void freed(void)
{
    for (size_t bytes = 8 * PAGE; bytes <= 64 * (size_t)BYTES; bytes *= 8) {
        char name[] = "/tmp/freed-XXXXXX";
        int file = mkstemp(name);
        CHECK(file >= 0 && unlink(name) == 0 && ftruncate(file, bytes) == 0);
        char *seen = mmap(NULL, bytes, access_all, MAP_SHARED, file, 0);
        memset(seen, 'f', bytes);
        for (int round = 0; round < 4; round++) {
            char *block = aligned_alloc(PAGE, bytes);
            CHECK(mmap(block, bytes, access_all, MAP_FIXED | MAP_SHARED, file, 0) == block);
            CHECK(block[bytes - 1] == 'f');
            free(block);
            char *again = calloc(1, bytes);
            for (size_t at = 0; at < bytes; at++)
                CHECK(again[at] == 0);
            memset(again, 'a', bytes);
            for (size_t at = 0; at < bytes; at++)
                CHECK(seen[at] == 'f');
            int some = bytes < BYTES ? (int)bytes : BYTES;
            send(again, some);
            receive(again, some, 'a');
            free(again);
        }
        munmap(seen, bytes);
        close(file);
    }
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(count == 2);
    if (!strcmp(words[1], "many"))
        many(), light();
    else if (!strcmp(words[1], "grown"))
        grown();
    else if (!strcmp(words[1], "freed"))
        freed();
    else
        wrong(words[1]);
    MPI_Finalize();
    return 0;
}
