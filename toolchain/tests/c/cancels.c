/* Sends that are cancelled: nobody receives them, or somebody does; never both, and never neither. */
#define _XOPEN_SOURCE 700
#include "check.h"
#include <sched.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

enum { LONGEST = 300000, LENGTHS = 7, ROUNDS = 60, NEVER = 900 };
static const int lengths[LENGTHS] = {0, 1, 8, 100, 4000, 20000, LONGEST};
static int out[2 * LONGEST], in[2 * LONGEST];
static int rank, size;

static int cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag = -1;
    CHECK(MPI_Cancel(request) == MPI_SUCCESS);
    CHECK(MPI_Wait(request, &status) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS);
    return flag;
}

/* Nobody receives these, so each is cancelled, and none is found afterwards. */
static void sends_that_nobody_receives(MPI_Datatype spread)
{
    for (int to = 0; to < size; to++) {
        for (int at = 0; at < LENGTHS; at++) {
            MPI_Request request;
            int flag;
            MPI_Issend(out, lengths[at], MPI_INT, to, NEVER, MPI_COMM_WORLD, &request);
            if (at % 2) {
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
                CHECK(!flag);
            }
            CHECK(cancelled(&request));
            CHECK(request == MPI_REQUEST_NULL);
            MPI_Issend(out, lengths[at], spread, to, NEVER, MPI_COMM_WORLD, &request);
            CHECK(cancelled(&request));
        }
        /* Too long to be copied. */
        MPI_Request request, again;
        MPI_Isend(out, LONGEST, MPI_INT, to, NEVER, MPI_COMM_WORLD, &request);
        CHECK(cancelled(&request));
        MPI_Ssend_init(out, 8, MPI_INT, to, NEVER, MPI_COMM_WORLD, &again);
        for (int start = 0; start < 3; start++) {
            MPI_Start(&again);
            CHECK(cancelled(&again));
            CHECK(again != MPI_REQUEST_NULL);
        }
        MPI_Request_free(&again);
        /* It is given up and ends all the same. */
        MPI_Issend(out, 8, MPI_INT, to, NEVER, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    /* What comes behind them is received, with a wildcard, too. */
    int from = (rank + size - 1) % size, got = -1;
    MPI_Request request;
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == from);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A cancel that races its receive: what the sender is told is what the receiver finds. */
static void races(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, matched = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int length = lengths[round % LENGTHS], gone = -1, theirs = -1, flag;
        MPI_Request send, receive, other;
        MPI_Status status;
        for (int at = 0; at < length; at++)
            out[at] = round * 1000003 + at;
        memset(in, 0, sizeof *in * length);
        int early = round / LENGTHS % 3;
        if (early == 0) {
            MPI_Irecv(in, length, MPI_INT, round % 2 ? from : MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &receive);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Issend(out, length, MPI_INT, to, 2, MPI_COMM_WORLD, &send);
        if (early == 1)
            MPI_Irecv(in, length, MPI_INT, from, 2, MPI_COMM_WORLD, &receive);
        MPI_Cancel(&send);
        if (early == 2)
            MPI_Irecv(in, length, MPI_INT, from, 2, MPI_COMM_WORLD, &receive);
        MPI_Wait(&send, &status);
        MPI_Test_cancelled(&status, &gone);
        MPI_Isend(&gone, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &other);
        MPI_Recv(&theirs, 1, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&other, MPI_STATUS_IGNORE);
        if (theirs) {
            CHECK(cancelled(&receive));
        } else {
            MPI_Wait(&receive, &status);
            MPI_Test_cancelled(&status, &flag);
            CHECK(!flag && (length == 0 || (in[0] == round * 1000003 && in[length - 1] == in[0] + length - 1)));
            matched++;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    (void) matched;
}

/* A receiver that computes helps nobody. */
static void a_receiver_that_computes(void)
{
    char name[] = "/tmp/cancels-XXXXXX";
    int file = -1;
    if (rank == 0)
        CHECK((file = mkstemp(name)) >= 0 && ftruncate(file, 4096) == 0);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0)
        CHECK((file = open(name, O_RDWR)) >= 0);
    volatile int *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(done != MAP_FAILED);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        unlink(name);
        for (int to = 1; to < size; to++)
            for (int at = 0; at < LENGTHS; at++) {
                MPI_Request request;
                MPI_Issend(out, lengths[at], MPI_INT, to, NEVER, MPI_COMM_WORLD, &request);
                CHECK(cancelled(&request));
            }
        *done = 1;
    }
    while (!*done)
        sched_yield();
    MPI_Barrier(MPI_COMM_WORLD);
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    /* What comes next is sent with the same tag. */
    MPI_Barrier(MPI_COMM_WORLD);
    munmap((void *) done, 4096);
    close(file);
}

/* More of them than any queue holds, to one that comes to look at the end. */
static void many(void)
{
    enum { MANY = 3000 };
    static MPI_Request requests[MANY];
    int to = (rank + 1) % size, flag;
    for (int round = 0; round < 2; round++) {
        for (int at = 0; at < MANY; at++)
            MPI_Issend(out, at % 50, MPI_INT, to, NEVER, MPI_COMM_WORLD, &requests[at]);
        for (int at = MANY - 1; at >= 0; at--)
            MPI_Cancel(&requests[at]);
        for (int at = 0; at < MANY; at++) {
            MPI_Status status;
            MPI_Wait(&requests[at], &status);
            MPI_Test_cancelled(&status, &flag);
            CHECK(flag);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void is_refused(MPI_Request *request, const char *what)
{
    int class = MPI_SUCCESS, code = MPI_Cancel(request);
    MPI_Error_class(code, &class);
    if (class != MPI_ERR_REQUEST)
        fprintf(stderr, "cancel of %s: %d\n", what, class);
    CHECK(class == MPI_ERR_REQUEST);
}

/* What cannot be cancelled says so, and goes on. */
static void others(void)
{
    int one = 1, all = 0, class;
    MPI_Request request;
    MPI_Comm copy;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    is_refused(&request, "MPI_Iallreduce");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(all == size);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    is_refused(&request, "MPI_Ibarrier");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    is_refused(&request, "MPI_Comm_idup");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    is_refused(&request, "MPI_Barrier_init");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    MPI_Comm ring;
    int dims[1] = {size}, periods[1] = {1}, near[2];
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    MPI_Ineighbor_allgather(&rank, 1, MPI_INT, near, 1, MPI_INT, ring, &request);
    is_refused(&request, "MPI_Ineighbor_allgather");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);

    MPI_Request parts[2];
    MPI_Psend_init(out, 4, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[0]);
    MPI_Precv_init(in, 4, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[1]);
    int flag = -1;
    CHECK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag) == MPI_SUCCESS && flag == 1);
    flag = -1;
    CHECK(MPI_Parrived(parts[1], 0, &flag) == MPI_SUCCESS && flag == 1);
    MPI_Startall(2, parts);
    for (int way = 0; way < 2; way++) {
        is_refused(&parts[way], "a message in parts");
        MPI_Request copied = parts[way];
        MPI_Error_class(MPI_Request_free(&copied), &class);
        CHECK(class == MPI_ERR_REQUEST && copied == parts[way]);
    }
    MPI_Pready_range(0, 3, parts[0]);
    CHECK(MPI_Waitall(2, parts, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&parts[0]) == MPI_SUCCESS && MPI_Request_free(&parts[1]) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Datatype spread;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    sends_that_nobody_receives(spread);
    races();
    a_receiver_that_computes();
    many();
    others();
    MPI_Type_free(&spread);
    MPI_Finalize();
    return 0;
}
