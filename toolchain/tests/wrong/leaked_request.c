/* Requests that are done and that nobody has waited for, and a receive for which nothing comes. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size, sent = 1;
    static int got, never;
    MPI_Request requests[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Isend(&sent, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[0]);          /* here */
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(&never, 1, MPI_INT, (rank + size - 1) % size, 8, MPI_COMM_WORLD, &requests[2]); /* here */
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
