/* One rank calls a barrier, and the others a reduction: NICs would do both. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD); /* here, or there */
    else
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* here, or there */
    return MPI_Finalize();
}
