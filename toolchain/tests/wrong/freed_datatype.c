/* A datatype is used after it was freed. */
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Datatype pair, kept;
    int numbers[2] = {1, 2};
    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    kept = pair;
    MPI_Type_free(&pair);                          /* here */
    MPI_Bcast(numbers, 1, kept, 0, MPI_COMM_WORLD); /* here */
    return MPI_Finalize();
}
