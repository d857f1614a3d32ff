/* Two ranks send each other what they have allocated: 64 KiB and 1 MiB, so much that others would say so if it were
 * in no slot. */
#include "heap.h"
#include <mpi.h>

enum { ROUNDS = 60 };

int main(void)
{
    static const size_t SIZES[] = {1 << 16, 1 << 20};
    int rank, size;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    for (int round = 0; round < ROUNDS; round++)
        for (int nth = 0; nth < 2; nth++) {
            size_t bytes = SIZES[nth];
            unsigned char *ours = malloc(bytes), *theirs = malloc(bytes);
            memset(ours, rank * ROUNDS + round, bytes);
            MPI_Sendrecv(ours, (int)bytes, MPI_BYTE, 1 - rank, nth, theirs, (int)bytes, MPI_BYTE, 1 - rank, nth,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (size_t at = 0; at < bytes; at++)
                CHECK(theirs[at] == (1 - rank) * ROUNDS + round);
            free(ours);
            free(theirs);
        }
    MPI_Finalize();
    return 0;
}
