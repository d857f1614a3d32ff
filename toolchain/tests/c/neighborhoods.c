/* Neighbours send with one type and receive with another. */
#include "check.h"

int main(int argc, char **argv)
{
    int rank, size, periodic = 1;
    MPI_Comm ring;
    MPI_Datatype pair;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    const int last = (rank + size - 1) % size, next = (rank + 1) % size;
    const int mine[2] = {rank, 100 + rank};

    for (int way = 0; way < 6; way++) {
        MPI_Request request = MPI_REQUEST_NULL;
        int got[4] = {-1, -1, -1, -1};
        switch (way) {
        case 0:
            MPI_Neighbor_allgather(mine, 2, MPI_INT, got, 1, pair, ring);
            break;
        case 1:
            MPI_Neighbor_allgather(mine, 1, pair, got, 2, MPI_INT, ring);
            break;
        case 2:
            MPI_Ineighbor_allgather(mine, 2, MPI_INT, got, 1, pair, ring, &request);
            break;
        case 3:
            MPI_Ineighbor_allgather(mine, 1, pair, got, 2, MPI_INT, ring, &request);
            break;
        case 4:
            MPI_Neighbor_allgather_init(mine, 2, MPI_INT, got, 1, pair, ring, MPI_INFO_NULL, &request);
            break;
        case 5:
            MPI_Neighbor_allgather_init(mine, 1, pair, got, 2, MPI_INT, ring, MPI_INFO_NULL, &request);
            break;
        }
        if (way >= 4)
            MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(got[0] == last && got[1] == 100 + last && got[2] == next && got[3] == 100 + next);
        if (way >= 4)
            MPI_Request_free(&request);
    }
    MPI_Type_free(&pair);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
