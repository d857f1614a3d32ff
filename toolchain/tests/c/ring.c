/* Messages around a ring, blocking and not, with statuses. */
#include "check.h"

int main(int argc, char **argv)
{
    int rank, size, token = -1, flag, count;
    MPI_Status status;
    MPI_Request requests[2];

    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;

    MPI_Irecv(&token, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, to, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Status statuses[2];
    CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS);
    CHECK(token == from && statuses[0].MPI_SOURCE == from && statuses[0].MPI_TAG == 7);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);

    double out[1000], in[2000];
    for (int i = 0; i < 1000; i++)
        out[i] = rank + i / 1000.0;
    MPI_Sendrecv(out, 1000, MPI_DOUBLE, to, 8, in, 2000, MPI_DOUBLE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK(count == 1000 && status.MPI_TAG == 8 && in[999] == from + 999 / 1000.0);

    for (int round = 0; round < 3; round++) {
        if (round == 0) {
            MPI_Recv_init(&token, 1, MPI_INT, from, 9, MPI_COMM_WORLD, &requests[0]);
            MPI_Send_init(&round, 1, MPI_INT, to, 9, MPI_COMM_WORLD, &requests[1]);
        }
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(token == round && requests[0] != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL);

    MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Finalize();
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
    return 0;
}
