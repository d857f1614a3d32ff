/* Requests that are looked at, made of two parts, given up, and cancelled. */
#include "check.h"

int main(int argc, char **argv)
{
    int rank, size, flag, mine, theirs = -1, count;
    MPI_Status status;
    MPI_Request request, requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;

    mine = rank;
    MPI_Isendrecv(&mine, 1, MPI_INT, to, 1, &theirs, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &request);
    do
        MPI_Request_get_status(request, &flag, &status);
    while (!flag);
    CHECK(request != MPI_REQUEST_NULL && status.MPI_SOURCE == from);
    MPI_Wait(&request, &status);
    CHECK(request == MPI_REQUEST_NULL && theirs == from && status.MPI_TAG == 1);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 1);

    MPI_Isendrecv_replace(&mine, 1, MPI_INT, to, 2, from, 2, MPI_COMM_WORLD, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(mine == from);

    /* Nobody sends this one. */
    MPI_Irecv(&theirs, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);

    /* This one is given up, and arrives. */
    MPI_Isend(&rank, 1, MPI_INT, to, 4, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Message message;
    MPI_Mprobe(from, 4, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(&theirs, 1, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL && theirs == from);

    int index;
    MPI_Waitany(2, requests, &index, &status);
    CHECK(index == MPI_UNDEFINED);
    MPI_Finalize();
    return 0;
}
