/* A message is longer than its buffer, which is fatal. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size, sent[2] = {1, 2}, got;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Isend(sent, 2, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
    MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
