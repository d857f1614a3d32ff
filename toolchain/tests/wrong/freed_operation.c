/* An operation is used after it was freed. */
#include <mpi.h>

static void first(void *in, void *inout, int *len, MPI_Datatype *type) {
    (void)in, (void)inout, (void)len, (void)type;
}

int main(int argc, char **argv) {
    MPI_Op op, kept;
    int number = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Op_create(first, 1, &op);
    kept = op;
    MPI_Op_free(&op);                                              /* here */
    MPI_Allreduce(&number, &sum, 1, MPI_INT, kept, MPI_COMM_WORLD); /* here */
    return MPI_Finalize();
}
