/* Rank 0 sends rank 1 a global array of 64 KiB by blocking standard sends, so often that others would say so if they
 * had to have the kernel copy it. */
#include "heap.h"
#include <mpi.h>

enum { ROUNDS = 600, BYTES = 1 << 16 };

static unsigned char ours[BYTES];

int main(void)
{
    int rank;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            memset(ours, round, BYTES);
            MPI_Send(ours, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            memset(ours, ~round, BYTES);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(ours, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int at = 0; at < BYTES; at++)
                CHECK(ours[at] == (unsigned char)round);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
