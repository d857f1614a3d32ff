/* A program that is compiled for another MPI: it checks what that MPI computes. Its first argument
 * says how it ends. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static int is_wrong(const char *what, int found, int expected) {
    if (found != expected)
        printf("%s: rank %d of %d has %d, not %d\n", what, rank, size, found, expected);
    return found != expected;
}

static int is_ring_wrong(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return is_wrong("MPI_Sendrecv", got, left);
}

static int are_collectives_wrong(void) {
    int sum = 0, wrong = 0, i;
    int *out = malloc(size * sizeof *out), *in = malloc(size * sizeof *in);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong |= is_wrong("MPI_Allreduce", sum, size * (size - 1) / 2);
    for (i = 0; i < size; i++)
        out[i] = 1000 * rank + i;
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        wrong |= is_wrong("MPI_Alltoall", in[i], 1000 * i + rank);
    free(out);
    free(in);
    return wrong;
}

int main(int argc, char **argv) {
    const char *end = argc > 1 ? argv[1] : "";
    int is_last, got, on_node;
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_last = rank == size - 1;
    if (is_ring_wrong() | are_collectives_wrong())
        return 3;
    if (is_last && !strcmp(end, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (is_last && !strcmp(end, "killed"))
        raise(SIGKILL);
    if (is_last && !strcmp(end, "leaves"))
        _exit(0);
    if (*end)
        MPI_Recv(&got, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &on_node);
    MPI_Comm_free(&node);
    printf("rank %d of %d, %d on its node\n", rank, size, on_node);
    MPI_Finalize();
    return 0;
}
