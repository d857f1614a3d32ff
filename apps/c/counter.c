/* All ranks add to one counter of rank 0, in an epoch of all locks: each addition returns what was
 * there. Argument: the additions of all ranks together. Prints `counter SECONDS`, the time from the
 * first addition to the last, or ends with 1 if the counter or what was returned is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long all = argc > 1 ? atol(argv[1]) : 1000, mine = all / size + (rank < all % size);
    long *counter, one = 1, sum = 0, last = -1, total;
    MPI_Win window;
    MPI_Win_allocate(rank == 0 ? sizeof *counter : 0, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &counter, &window);
    if (rank == 0)
        *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    double start = MPI_Wtime();
    int wrong = 0;
    for (long i = 0; i < mine; i++) {
        long before = -1;
        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        wrong |= before <= last;
        last = before;
        sum += before;
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - start;
    MPI_Allreduce(&sum, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong |= total != all * (all - 1) / 2 || (rank == 0 && *counter != all);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && !wrong)
        printf("counter %.6f\n", seconds);
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong;
}
