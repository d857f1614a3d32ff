/* Collectives, blocking, not blocking and kept, in place and not. */
#include "check.h"

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= 64);
    int mine[64], all[64 * 64], counts[64], displacements[64];
    const int last = size - 1;

    double word = rank == last ? 2.5 : 0;
    MPI_Bcast(&word, 1, MPI_DOUBLE, last, MPI_COMM_WORLD);
    CHECK(word == 2.5);

    int sum = rank + 1, total = -1;
    MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(total == size * (size + 1) / 2);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(sum == size);
    sum = rank;
    MPI_Reduce(rank == last ? MPI_IN_PLACE : &sum, rank == last ? &sum : NULL, 1, MPI_INT, MPI_MIN, last, MPI_COMM_WORLD);
    CHECK(sum == (rank == last ? 0 : rank));

    /* What is not significant here is not looked at. */
    mine[0] = 10 * rank;
    int nonsense = rank == 0 ? 1 : -7;
    MPI_Gather(&mine[0], 1, MPI_INT, rank == 0 ? all : NULL, nonsense, rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        CHECK(all[i] == 10 * i);

    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        displacements[i] = 64 * i;
        mine[i] = rank;
    }
    MPI_Allgatherv(mine, rank + 1, MPI_INT, all, counts, displacements, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(all[64 * i] == i && all[64 * i + i] == i);

    for (int i = 0; i < size; i++)
        mine[i] = 100 * rank + i;
    MPI_Request requests[3];
    int turned[64], scanned = -1, before = -1;
    MPI_Ialltoall(mine, 1, MPI_INT, turned, 1, MPI_INT, MPI_COMM_WORLD, &requests[0]);
    MPI_Iscan(&rank, &scanned, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Iexscan(&rank, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; i++)
        CHECK(turned[i] == 100 * i + rank);
    CHECK(scanned == rank * (rank + 1) / 2);
    CHECK(before == (rank == 0 ? -1 : rank * (rank - 1) / 2));

    int part = -1;
    MPI_Count large[64];
    for (int i = 0; i < size; i++) {
        mine[i] = i;
        large[i] = 1;
    }
    MPI_Reduce_scatter_c(mine, &part, large, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(part == rank * size);

    MPI_Request kept;
    MPI_Allreduce_init(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &kept);
    for (int round = 0; round < 3; round++) {
        total = -1;
        MPI_Start(&kept);
        MPI_Wait(&kept, MPI_STATUS_IGNORE);
        CHECK(total == size * (size - 1) / 2);
    }
    MPI_Request_free(&kept);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
