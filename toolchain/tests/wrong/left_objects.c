/* One object of each kind is never freed. */
#include <mpi.h>

static void first(void *in, void *inout, int *len, MPI_Datatype *type) {
    (void)in, (void)inout, (void)len, (void)type;
}

int main(int argc, char **argv) {
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Win win;
    MPI_Request request;
    static int memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);                                            /* here */
    MPI_Comm_group(MPI_COMM_WORLD, &group);                                         /* here */
    MPI_Type_contiguous(2, MPI_INT, &pair);                                         /* here */
    MPI_Op_create(first, 1, &op);                                                   /* here */
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win); /* here */
    MPI_Send_init(&memory, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request); /* here */
    return MPI_Finalize();
}
