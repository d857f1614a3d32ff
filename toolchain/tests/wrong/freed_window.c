/* A window is used after it was freed. */
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Win win, kept;
    static int memory;
    MPI_Init(&argc, &argv);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    kept = win;
    MPI_Win_free(&win);     /* here */
    MPI_Win_fence(0, kept); /* here */
    return MPI_Finalize();
}
