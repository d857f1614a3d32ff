/* Rank 0 computes for ever, rank 1 sleeps, and the others wait for them. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD); /* here */
    for (volatile long steps = 0; rank == 0; steps++) {
    }
    while (rank == 1) {
        sleep(1);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* here */
    return MPI_Finalize();
}
