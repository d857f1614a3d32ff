/* Two ranks that lock each other's memory: neither can ever go on. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, *base;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_name(win, "table");
    if (rank < 2)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - rank, 0, win); /* here */
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
