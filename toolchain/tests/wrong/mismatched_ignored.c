/* One rank calls another collective than the others, and nobody looks at what the calls give back. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, sent = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD); /* here */
    else
        MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* here */
    return MPI_Finalize();
}
