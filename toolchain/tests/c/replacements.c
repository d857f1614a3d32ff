/* MPI_Sendrecv_replace: what comes must not be written over what has yet to be sent, whoever the partner is and
 * whatever it calls. */
#include "check.h"

enum { MOST = (5 << 20) + 3, TAG = 5, OTHER = 6, HOLE = 0x5a };

static const int lengths[] = {0, 1, 1000, 65536, 1 << 20, (1 << 20) + 65537, MOST};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static int rank, size;
static char *buffer, *spare;
static MPI_Comm comm;

/* What a rank sends: no two bytes that a shift of some bytes or of a chunk would bring to the same place are alike. */
static char byte_of(int sender, int round, int at)
{
    unsigned mixed = (unsigned)at * 2654435761u + (unsigned)(sender * 77 + round * 13);
    return (char)(mixed >> 13 ^ mixed >> 21);
}

/* So much behind a message is looked at. */
static int beyond(int len)
{
    return len + 1000 < MOST ? len + 1000 : MOST;
}

static void fill(char *bytes, int len, int round)
{
    for (int at = 0; at < beyond(len); at++)
        bytes[at] = byte_of(rank, round, at);
}

/* The first bytes of a message of that rank have come, and behind them lies what lay there. */
static void came(const char *bytes, int len, int sender, int round)
{
    for (int at = 0; at < len; at++)
        CHECK(bytes[at] == byte_of(sender, round, at));
    for (int at = len; at < beyond(len); at++)
        CHECK(bytes[at] == byte_of(rank, round, at));
}

static void says(const MPI_Status *status, int sender, int tag, int len)
{
    int count;
    MPI_Get_count(status, MPI_CHAR, &count);
    CHECK(status->MPI_SOURCE == sender && status->MPI_TAG == tag && count == len);
}

/* Each to the next one, or to itself, in a circle; from somebody that is named or not. */
static void circles(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int which = 0; which < LENGTHS; which++) {
        int len = lengths[which];
        for (int any = 0; any < 2; any++) {
            int from = any ? MPI_ANY_SOURCE : last, tag = any ? MPI_ANY_TAG : TAG;
            MPI_Status status;
            fill(buffer, len, which);
            MPI_Sendrecv_replace(buffer, len, MPI_CHAR, next, TAG, from, tag, comm, &status);
            says(&status, last, TAG, len);
            came(buffer, len, last, which);
            MPI_Barrier(comm); /* Or a rank that is ahead would satisfy the next any. */
        }
    }
    MPI_Status status;
    fill(buffer, MOST, 1);
    MPI_Sendrecv_replace(buffer, MOST, MPI_CHAR, rank, TAG, rank, TAG, comm, &status);
    says(&status, rank, TAG, MOST);
    came(buffer, MOST, rank, 1);
    /* An earlier receive gets what it sends, and it gets what was sent earlier. */
    MPI_Request requests[2];
    fill(spare, MOST, 2);
    MPI_Irecv(spare + MOST, MOST, MPI_CHAR, rank, TAG, comm, &requests[0]);
    MPI_Isend(spare, MOST, MPI_CHAR, rank, OTHER, comm, &requests[1]);
    MPI_Sendrecv_replace(buffer, MOST, MPI_CHAR, rank, TAG, rank, OTHER, comm, &status);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    came(buffer, MOST, rank, 2);
    came(spare + MOST, MOST, rank, 1);
}

static void nobody(void)
{
    MPI_Status status;
    fill(buffer, MOST, 3);
    MPI_Sendrecv_replace(buffer, MOST, MPI_CHAR, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG, comm, &status);
    says(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    /* Along a line: the first one receives from nobody, and the last one sends to nobody. */
    int next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, last = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    MPI_Sendrecv_replace(buffer, MOST, MPI_CHAR, next, TAG, last, TAG, comm, &status);
    came(buffer, rank > 0 ? MOST : 0, last, 3);
}

/* The message of a partner is shorter than the buffer, or longer. */
static void lengths_that_differ(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int mine = 0; mine < LENGTHS; mine++) {
        /* Ranks of even numbers have one length, others another one. */
        int theirs = (mine + 3) % LENGTHS;
        int len = lengths[rank % 2 ? theirs : mine], comes = lengths[last % 2 ? theirs : mine];
        int fits = comes < len ? comes : len;
        MPI_Status status;
        fill(buffer, comes > len ? comes : len, mine);
        int code = MPI_Sendrecv_replace(buffer, len, MPI_CHAR, next, TAG, last, TAG, comm, &status);
        CHECK(class_of(code) == (comes > len ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        if (code == MPI_SUCCESS)
            says(&status, last, TAG, comes);
        came(buffer, fits, last, mine);
    }
}

/* The others of a pair: blocking calls in either order, nonblocking ones, probes, and MPI_Sendrecv. */
static void plain_calls(int way, int len, int partner)
{
    MPI_Request requests[2];
    MPI_Message message;
    char *in = spare, *out = spare + MOST;
    fill(in, len, way);
    fill(out, len, way);
    switch (way) {
    case 0: /* Nothing is received before all is sent. */
        MPI_Ssend(out, len, MPI_CHAR, partner, TAG, comm);
        MPI_Recv(in, len, MPI_CHAR, partner, TAG, comm, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Recv(in, len, MPI_CHAR, partner, TAG, comm, MPI_STATUS_IGNORE);
        MPI_Send(out, len, MPI_CHAR, partner, TAG, comm);
        break;
    case 2:
        MPI_Irecv(in, len, MPI_CHAR, partner, TAG, comm, &requests[0]);
        MPI_Isend(out, len, MPI_CHAR, partner, TAG, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
    case 3:
        MPI_Issend(out, len, MPI_CHAR, partner, TAG, comm, &requests[0]);
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Mrecv(in, len, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Sendrecv(out, len, MPI_CHAR, partner, TAG, in, len, MPI_CHAR, partner, TAG, comm,
                     MPI_STATUS_IGNORE);
    }
    came(in, len, partner, way);
}

static void pairs(void)
{
    int partner = rank ^ 1;
    if (partner >= size)
        return;
    for (int way = 0; way < 5; way++)
        for (int which = 0; which < LENGTHS; which++) {
            int len = lengths[which];
            if (rank % 2) {
                plain_calls(way, len, partner);
                continue;
            }
            fill(buffer, len, way);
            MPI_Sendrecv_replace(buffer, len, MPI_CHAR, partner, TAG, partner, TAG, comm, MPI_STATUS_IGNORE);
            came(buffer, len, partner, way);
        }
}

/* Of each pair one has bytes with holes between them, and the other one the same or none. */
static void holes(int both)
{
    enum { BLOCK = 3000, BLOCKS = 900 };
    int partner = rank ^ 1;
    if (partner >= size)
        return;
    MPI_Datatype vector;
    MPI_Type_vector(BLOCKS, BLOCK, BLOCK + 100, MPI_CHAR, &vector);
    MPI_Type_commit(&vector);
    int has_holes = both || rank % 2, stride = has_holes ? BLOCK + 100 : BLOCK;
    memset(buffer, HOLE, MOST);
    for (int at = 0; at < BLOCK * BLOCKS; at++)
        buffer[at / BLOCK * stride + at % BLOCK] = byte_of(rank, both, at);
    MPI_Sendrecv_replace(buffer, has_holes ? 1 : BLOCK * BLOCKS, has_holes ? vector : MPI_CHAR, partner, TAG,
                         partner, TAG, comm, MPI_STATUS_IGNORE);
    for (int at = 0; at < BLOCK * BLOCKS; at++)
        CHECK(buffer[at / BLOCK * stride + at % BLOCK] == byte_of(partner, both, at));
    for (int block = 0; has_holes && block < BLOCKS; block++)
        for (int at = block * stride + BLOCK; at < (block + 1) * stride; at++)
            CHECK(buffer[at] == HOLE);
    MPI_Type_free(&vector);
}

/* How much memory this process has had at most since the last time. */
static long peak(void)
{
    char line[200];
    long peak = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof(line), status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak = atol(line + 6) * 1024;
    fclose(status);
    FILE *since = fopen("/proc/self/clear_refs", "w");
    fputs("5", since);
    fclose(since);
    return peak;
}

/* A long message is replaced in pieces: no copy is made of it. */
static void long_messages_take_no_memory(void)
{
    size_t len = (size_t)256 << 20, half = len / 2;
    char *bytes = malloc(len);
    long least = (long)len;
    memset(bytes, rank, len);
    /* Who is ahead of a rank that has not called yet keeps what comes: not each time. */
    for (int round = 1; round <= 10 && least >= (long)half; round++) {
        peak();
        long before = peak();
        MPI_Barrier(comm);
        MPI_Sendrecv_replace(bytes, (int)len, MPI_CHAR, (rank + 1) % size, TAG, (rank + size - 1) % size, TAG, comm,
                             MPI_STATUS_IGNORE);
        long grew = peak() - before;
        MPI_Allreduce(MPI_IN_PLACE, &grew, 1, MPI_LONG, MPI_MAX, comm);
        least = grew < least ? grew : least;
        char sender = (char)((rank + size * round - round) % size);
        for (size_t at = 0; at < len; at += 4099)
            CHECK(bytes[at] == sender);
        CHECK(bytes[len - 1] == sender);
    }
    CHECK(least < (long)half);
    free(bytes);
}

int main(int count, char **words)
{
    static char beside[MOST];
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (count > 1 && strcmp(words[1], "memory") == 0) {
        long_messages_take_no_memory();
        MPI_Comm_free(&comm);
        MPI_Finalize();
        return 0;
    }
    spare = malloc(2 * (size_t)MOST);
    char *heap = malloc(MOST);
    /* Others reach a heap at once, and what lies beside it through the kernel. */
    char *places[] = {heap, beside, rank % 2 ? heap : beside};
    for (int place = 0; place < 3; place++) {
        buffer = places[place];
        circles();
        nobody();
        lengths_that_differ();
        pairs();
        holes(0);
        holes(1);
        MPI_Barrier(comm);
    }
    free(heap);
    free(spare);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
