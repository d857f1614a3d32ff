/* One rank calls another collective than the others. */
#include <mpi.h>

static int all[1 << 12];

int main(int argc, char **argv) {
    int rank, size, sent = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1)
        MPI_Gather(&sent, 1, MPI_INT, all, 1, MPI_INT, size - 1, MPI_COMM_WORLD); /* here, or there */
    else
        MPI_Alltoall(all, 1, MPI_INT, all + size, 1, MPI_INT, MPI_COMM_WORLD); /* here, or there */
    return MPI_Finalize();
}
