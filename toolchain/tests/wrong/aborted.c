/* The program ends its job. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7); /* here */
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
