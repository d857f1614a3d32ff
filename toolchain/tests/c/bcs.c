/* The BCS API: each of its twelve calls, beside MPI's, and what it says of arguments that are wrong. */
#include "check.h"

#include <bcs.h>
#include <limits.h>

static int rank, size, to, from;

/* What is in word `nth` of a block that `giver` has for `taker`. */
static int word(int giver, int taker, int nth)
{
    return 1000000 * giver + 1000 * taker + nth;
}

/* How many words a block has whose length depends on a rank: some have none. */
static size_t words(int of)
{
    return (size_t)(of % 3);
}

static void check_messages(void)
{
    int out = rank, in = -1, done = -1, found = -1;
    BCS_Request requests[3], sent;
    BCS_Status status, statuses[3];
    static double longs[2][40000];

    CHECK(bcs_recv(BCS_NON_BLOCKING, &in, sizeof in, from, 1, MPI_COMM_WORLD, NULL, &requests[0]) == MPI_SUCCESS);
    CHECK(bcs_send(BCS_NON_BLOCKING, &out, sizeof out, to, 1, MPI_COMM_WORLD, &requests[1]) == MPI_SUCCESS);
    requests[2] = BCS_REQUEST_NULL;
    CHECK(bcs_testall(BCS_BLOCKING, 3, requests, &done, statuses) == MPI_SUCCESS && done == 1);
    CHECK(in == from && statuses[0].source == from && statuses[0].tag == 1 && statuses[0].bytes == sizeof in);
    CHECK(statuses[0].error == MPI_SUCCESS && statuses[1].source == MPI_ANY_SOURCE && statuses[2].bytes == 0);

    /* Nothing has been sent with this tag; then something long has. */
    CHECK(bcs_probe(BCS_NON_BLOCKING, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &found, NULL) == MPI_SUCCESS && found == 0);
    CHECK(bcs_barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int nth = 0; nth < 40000; nth++)
        longs[0][nth] = rank + nth / 65536.0;
    CHECK(bcs_send(BCS_NON_BLOCKING, longs[0], sizeof longs[0], to, 2, MPI_COMM_WORLD, &sent) == MPI_SUCCESS);
    CHECK(bcs_probe(BCS_BLOCKING, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, NULL, &status) == MPI_SUCCESS);
    CHECK(status.source == from && status.tag == 2 && status.bytes == sizeof longs[1]);
    CHECK(bcs_recv(BCS_BLOCKING, longs[1], sizeof longs[1], from, MPI_ANY_TAG, MPI_COMM_WORLD, &status, NULL) == MPI_SUCCESS);
    CHECK(status.bytes == sizeof longs[1] && longs[1][39999] == from + 39999 / 65536.0);
    do
        CHECK(bcs_test(BCS_NON_BLOCKING, sent, &done, &status) == MPI_SUCCESS);
    while (!done);

    /* What is asked about before it is over stays. */
    CHECK(bcs_recv(BCS_NON_BLOCKING, &in, sizeof in, from, 3, MPI_COMM_WORLD, NULL, &requests[0]) == MPI_SUCCESS);
    CHECK(bcs_test(BCS_NON_BLOCKING, requests[0], &done, NULL) == MPI_SUCCESS && done == 0);
    CHECK(bcs_testall(BCS_NON_BLOCKING, 1, requests, &done, NULL) == MPI_SUCCESS && done == 0);
    CHECK(bcs_barrier(MPI_COMM_WORLD) == MPI_SUCCESS);

    /* A message of MPI's is one of these, and the other way round. */
    MPI_Request theirs;
    MPI_Isend(&out, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &theirs);
    CHECK(bcs_test(BCS_BLOCKING, requests[0], NULL, &status) == MPI_SUCCESS && status.tag == 3 && in == from);
    MPI_Wait(&theirs, MPI_STATUS_IGNORE);
    CHECK(bcs_send(BCS_NON_BLOCKING, &out, sizeof out, to, 4, MPI_COMM_WORLD, &sent) == MPI_SUCCESS);
    MPI_Recv(&in, 1, MPI_INT, from, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == from && bcs_testall(BCS_BLOCKING, 1, &sent, NULL, NULL) == MPI_SUCCESS);

    CHECK(bcs_send(BCS_BLOCKING, &out, sizeof out, MPI_PROC_NULL, 5, MPI_COMM_WORLD, NULL) == MPI_SUCCESS);
    CHECK(bcs_recv(BCS_BLOCKING, &in, sizeof in, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status, NULL) == MPI_SUCCESS);
    CHECK(status.source == MPI_PROC_NULL && status.bytes == 0);
}

static void check_rooted(int root)
{
    int block[4], *all = calloc((size_t)size * 4, sizeof *all), sum = -1, back = rank;
    size_t *lengths = calloc((size_t)size, sizeof *lengths), *places = calloc((size_t)size, sizeof *places), end = 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    int is_root = rank == root;

    CHECK(bcs_bcast(&back, sizeof back, root, comm) == MPI_SUCCESS && back == root);
    CHECK(bcs_reduce(BCS_NON_ALL, &rank, is_root ? &sum : NULL, 1, MPI_INT, MPI_SUM, root, comm) == MPI_SUCCESS);
    CHECK(sum == (is_root ? size * (size - 1) / 2 : -1));

    for (int nth = 0; nth < 4 * size; nth++)
        all[nth] = word(root, nth / 4, nth % 4);
    CHECK(bcs_scatter(BCS_NON_VECTORIAL, is_root ? all : NULL, NULL, NULL, block, sizeof block, root, comm) == MPI_SUCCESS);
    for (int nth = 0; nth < 4; nth++)
        CHECK(block[nth] == word(root, rank, nth));
    memset(all, 0, (size_t)size * sizeof block);
    CHECK(bcs_gather(BCS_NON_VECTORIAL, block, sizeof block, is_root ? all : NULL, NULL, NULL, root, comm) == MPI_SUCCESS);
    for (int nth = 0; nth < 4 * size && is_root; nth++)
        CHECK(all[nth] == word(root, nth / 4, nth % 4));

    /* Blocks of different lengths, the last first. */
    for (int nth = size - 1; nth >= 0; nth--) {
        lengths[nth] = words(nth) * sizeof(int);
        places[nth] = end;
        end += lengths[nth];
    }
    for (int of = 0; of < size; of++)
        for (size_t nth = 0; nth < words(of); nth++)
            all[places[of] / sizeof(int) + nth] = word(root, of, (int)nth);
    memset(block, -1, sizeof block);
    const size_t *known = is_root ? lengths : NULL, *where = is_root ? places : NULL;
    CHECK(bcs_scatter(BCS_VECTORIAL, is_root ? all : NULL, known, where, block, lengths[rank], root, comm) == MPI_SUCCESS);
    for (size_t nth = 0; nth < 4; nth++)
        CHECK(block[nth] == (nth < words(rank) ? word(root, rank, (int)nth) : -1));
    memset(all, 0, end);
    CHECK(bcs_gather(BCS_VECTORIAL, block, lengths[rank], is_root ? all : NULL, known, where, root, comm) == MPI_SUCCESS);
    for (int of = 0; of < size && is_root; of++)
        for (size_t nth = 0; nth < words(of); nth++)
            CHECK(all[places[of] / sizeof(int) + nth] == word(root, of, (int)nth));
    free(places);
    free(lengths);
    free(all);
}

static void check_collectives_of_all(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    double mine[2] = {rank + 0.5, -rank}, most[2];
    int *out = calloc((size_t)size * 4, sizeof *out), *in = calloc((size_t)size * 4, sizeof *in), both = rank;
    size_t *given = calloc((size_t)size, sizeof *given), *taken = calloc((size_t)size, sizeof *taken);
    size_t *from_places = calloc((size_t)size, sizeof *given), *to_places = calloc((size_t)size, sizeof *taken);

    CHECK(bcs_reduce(BCS_ALL, mine, most, 2, MPI_DOUBLE, MPI_MAX, INT_MAX, comm) == MPI_SUCCESS);
    CHECK(most[0] == size - 0.5 && most[1] == 0);
    CHECK(bcs_reduce(BCS_ALL, MPI_IN_PLACE, &both, 1, MPI_INT, MPI_SUM, 0, comm) == MPI_SUCCESS);
    CHECK(both == size * (size - 1) / 2);
    /* One collective, whatever it is called. */
    CHECK((rank % 2 ? MPI_Barrier(comm) : bcs_barrier(comm)) == MPI_SUCCESS);

    CHECK(bcs_allgather(BCS_NON_VECTORIAL, &rank, sizeof rank, in, NULL, NULL, comm) == MPI_SUCCESS);
    for (int of = 0; of < size; of++)
        CHECK(in[of] == of);
    for (int of = 0; of < size; of++) {
        taken[of] = words(of) * sizeof(int);
        to_places[of] = (size_t)(size - 1 - of) * 4 * sizeof(int);
    }
    for (int nth = 0; nth < 4; nth++)
        out[nth] = word(rank, 0, nth);
    CHECK(bcs_allgather(BCS_VECTORIAL, out, taken[rank], in, taken, to_places, comm) == MPI_SUCCESS);
    for (int of = 0; of < size; of++)
        for (size_t nth = 0; nth < words(of); nth++)
            CHECK(in[(size - 1 - of) * 4 + (int)nth] == word(of, 0, (int)nth));

    for (int nth = 0; nth < 4 * size; nth++)
        out[nth] = word(rank, nth / 4, nth % 4);
    CHECK(bcs_alltoall(BCS_NON_VECTORIAL, out, NULL, NULL, in, NULL, NULL, 4 * sizeof(int), comm) == MPI_SUCCESS);
    for (int nth = 0; nth < 4 * size; nth++)
        CHECK(in[nth] == word(nth / 4, rank, nth % 4));
    for (int of = 0; of < size; of++) {
        given[of] = words(rank + of) * sizeof(int);
        from_places[of] = (size_t)of * 4 * sizeof(int);
        taken[of] = given[of];
    }
    memset(in, -1, (size_t)size * 4 * sizeof *in);
    CHECK(bcs_alltoall(BCS_VECTORIAL, out, given, from_places, in, taken, to_places, 0, comm) == MPI_SUCCESS);
    for (int of = 0; of < size; of++)
        for (size_t nth = 0; nth < 4; nth++)
            CHECK(in[(size - 1 - of) * 4 + (int)nth] == (nth < words(rank + of) ? word(of, rank, (int)nth) : -1));
    free(to_places);
    free(from_places);
    free(taken);
    free(given);
    free(in);
    free(out);
}

static void check_errors(void)
{
    int value = 0, done = -1, text_length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm comm = MPI_COMM_WORLD;
    BCS_Request request, spent, pair[2];
    BCS_Status status, statuses[2];

    /* The handler of the communicator, which would end the job, is not asked. */
    CHECK(bcs_send(BCS_BLOCKING, &value, sizeof value, size, 0, comm, NULL) == MPI_ERR_RANK);
    CHECK(bcs_send(BCS_BLOCKING, &value, sizeof value, 0, -1, comm, NULL) == MPI_ERR_TAG);
    CHECK(bcs_send(BCS_BLOCKING, &value, sizeof value, 0, 0, MPI_COMM_NULL, NULL) == MPI_ERR_COMM);
    CHECK(bcs_send(BCS_BLOCKING, NULL, sizeof value, 0, 0, comm, NULL) == MPI_ERR_BUFFER);
    CHECK(bcs_send(BCS_BLOCKING, &value, SIZE_MAX, 0, 0, comm, NULL) == MPI_ERR_COUNT);
    CHECK(bcs_send((BCS_Blocking)2, &value, sizeof value, 0, 0, comm, &request) == MPI_ERR_ARG);
    CHECK(bcs_send(BCS_NON_BLOCKING, &value, sizeof value, 0, 0, comm, NULL) == MPI_ERR_ARG);
    CHECK(bcs_probe(BCS_NON_BLOCKING, 0, 0, comm, NULL, &status) == MPI_ERR_ARG);
    CHECK(bcs_bcast(&value, sizeof value, size, comm) == MPI_ERR_ROOT);
    CHECK(bcs_reduce(BCS_ALL, &rank, &value, 1, MPI_DATATYPE_NULL, MPI_SUM, 0, comm) == MPI_ERR_TYPE);
    CHECK(bcs_reduce(BCS_ALL, &rank, &value, 1, MPI_INT, MPI_OP_NULL, 0, comm) == MPI_ERR_OP);
    CHECK(bcs_reduce(BCS_ALL, &value, &value, 1, MPI_INT, MPI_SUM, 0, comm) == MPI_ERR_BUFFER);
    CHECK(bcs_alltoall(BCS_VECTORIAL, &value, NULL, NULL, &value, NULL, NULL, 0, comm) == MPI_ERR_ARG);
    CHECK(MPI_Error_string(MPI_ERR_RANK, text, &text_length) == MPI_SUCCESS && text_length > 0);

    /* Requests that were spent, never were any, are another kind's, or come twice. */
    CHECK(bcs_send(BCS_NON_BLOCKING, &value, sizeof value, MPI_PROC_NULL, 0, comm, &spent) == MPI_SUCCESS);
    CHECK(bcs_test(BCS_BLOCKING, spent, NULL, NULL) == MPI_SUCCESS);
    CHECK(bcs_test(BCS_BLOCKING, spent, NULL, NULL) == MPI_ERR_REQUEST);
    for (int bit = 0; bit < 64; bit++)
        CHECK(bcs_test(BCS_BLOCKING, (BCS_Request)((uintptr_t)spent ^ (uintptr_t)1 << bit), NULL, NULL) == MPI_ERR_REQUEST);
    CHECK(bcs_test(BCS_BLOCKING, (BCS_Request)&value, NULL, NULL) == MPI_ERR_REQUEST);
    CHECK(bcs_test(BCS_BLOCKING, (BCS_Request)UINTPTR_MAX, NULL, NULL) == MPI_ERR_REQUEST);
    CHECK(bcs_recv(BCS_NON_BLOCKING, &value, sizeof value, rank, 6, comm, NULL, &request) == MPI_SUCCESS);
    MPI_Request theirs = (MPI_Request)request, ours;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Wait(&theirs, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
    MPI_Irecv(&done, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &ours);
    CHECK(bcs_test(BCS_BLOCKING, (BCS_Request)ours, NULL, NULL) == MPI_ERR_REQUEST);
    MPI_Wait(&ours, MPI_STATUS_IGNORE);
    pair[0] = pair[1] = request;
    CHECK(bcs_testall(BCS_BLOCKING, 2, pair, NULL, NULL) == MPI_ERR_REQUEST);
    pair[1] = spent;
    CHECK(bcs_testall(BCS_BLOCKING, 2, pair, NULL, NULL) == MPI_ERR_REQUEST);
    CHECK(bcs_testall(BCS_BLOCKING, 1, NULL, NULL, NULL) == MPI_ERR_ARG);
    CHECK(bcs_testall(BCS_BLOCKING, 0, NULL, NULL, NULL) == MPI_SUCCESS);

    /* All that is there, the request that those errors left alone among them, and a message that is too long. */
    long long_value = 7;
    CHECK(bcs_recv(BCS_NON_BLOCKING, &done, sizeof done, rank, 7, comm, NULL, &pair[1]) == MPI_SUCCESS);
    CHECK(bcs_send(BCS_BLOCKING, &rank, sizeof rank, rank, 6, comm, NULL) == MPI_SUCCESS);
    CHECK(bcs_send(BCS_NON_BLOCKING, &long_value, sizeof long_value, rank, 7, comm, &request) == MPI_SUCCESS);
    CHECK(bcs_testall(BCS_BLOCKING, 2, pair, NULL, statuses) == MPI_ERR_IN_STATUS);
    CHECK(statuses[0].error == MPI_SUCCESS && value == rank && statuses[1].error == MPI_ERR_TRUNCATE);
    CHECK(bcs_test(BCS_BLOCKING, request, NULL, NULL) == MPI_SUCCESS);
    CHECK(bcs_test(BCS_BLOCKING, pair[1], NULL, NULL) == MPI_ERR_REQUEST);
    CHECK(bcs_send(BCS_NON_BLOCKING, &long_value, sizeof long_value, rank, 7, comm, &request) == MPI_SUCCESS);
    CHECK(bcs_recv(BCS_BLOCKING, &done, sizeof done, rank, 7, comm, &status, NULL) == MPI_ERR_TRUNCATE);
    CHECK(status.error == MPI_ERR_TRUNCATE && status.source == rank && status.tag == 7 && status.bytes == sizeof done);
    CHECK(bcs_test(BCS_BLOCKING, request, NULL, NULL) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    CHECK(bcs_barrier(MPI_COMM_WORLD) == MPI_ERR_OTHER);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    check_messages();
    for (int root = 0; root < size; root++)
        check_rooted(root);
    check_collectives_of_all();
    check_errors();
    MPI_Finalize();
    CHECK(bcs_barrier(MPI_COMM_WORLD) == MPI_ERR_OTHER);
    CHECK(bcs_test(BCS_BLOCKING, BCS_REQUEST_NULL, NULL, NULL) == MPI_ERR_OTHER);
    return 0;
}
