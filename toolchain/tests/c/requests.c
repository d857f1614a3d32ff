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

    /* Of many some are over when they are posted, one can be started again, and one is none. */
    enum { EACH = 20, AGAIN = 2 * EACH, NONE, ALL };
    int came[EACH], sent[EACH], last;
    MPI_Request all[ALL];
    MPI_Status statuses[ALL];
    for (int at = 0; at < EACH; at++) {
        sent[at] = 100 * rank + at;
        MPI_Isend(&sent[at], 1, MPI_INT, to, 10 + at, MPI_COMM_WORLD, &all[2 * at]);
        MPI_Irecv(&came[at], 1, MPI_INT, from, 10 + at, MPI_COMM_WORLD, &all[2 * at + 1]);
    }
    MPI_Recv_init(&last, 1, MPI_INT, from, 9, MPI_COMM_WORLD, &all[AGAIN]);
    MPI_Start(&all[AGAIN]);
    all[NONE] = MPI_REQUEST_NULL;
    MPI_Send(&rank, 1, MPI_INT, to, 9, MPI_COMM_WORLD);
    MPI_Waitall(ALL, all, statuses);
    for (int at = 0; at < EACH; at++) {
        CHECK(came[at] == 100 * from + at && statuses[2 * at + 1].MPI_SOURCE == from);
        CHECK(statuses[2 * at + 1].MPI_TAG == 10 + at);
        CHECK(all[2 * at] == MPI_REQUEST_NULL && all[2 * at + 1] == MPI_REQUEST_NULL);
    }
    CHECK(last == from && statuses[AGAIN].MPI_SOURCE == from && all[AGAIN] != MPI_REQUEST_NULL);
    CHECK(statuses[NONE].MPI_SOURCE == MPI_ANY_SOURCE && all[NONE] == MPI_REQUEST_NULL);
    MPI_Waitall(ALL, all, statuses);
    CHECK(statuses[AGAIN].MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Request_free(&all[AGAIN]);

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

    /* The one that is over is no request any more, and then there is none. */
    int index;
    requests[0] = MPI_REQUEST_NULL;
    MPI_Irecv(&theirs, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(&rank, 1, MPI_INT, to, 5, MPI_COMM_WORLD);
    MPI_Waitany(2, requests, &index, &status);
    CHECK(index == 1 && theirs == from && requests[1] == MPI_REQUEST_NULL);
    MPI_Waitany(2, requests, &index, &status);
    CHECK(index == MPI_UNDEFINED);
    MPI_Finalize();
    return 0;
}
