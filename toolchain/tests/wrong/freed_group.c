/* A group is used after it was freed. */
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Group group, kept;
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    kept = group;
    MPI_Group_free(&group);      /* here */
    MPI_Group_size(kept, &size); /* here */
    return MPI_Finalize();
}
