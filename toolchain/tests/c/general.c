/* Requests whose operation the program does itself. */
#include "check.h"
#include <pthread.h>

static int queried, freed, cancelled;

static int query(void *extra, MPI_Status *status)
{
    queried++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, cancelled > 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return *(int *)extra == 13 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int let_go(void *extra)
{
    (void)extra;
    freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    cancelled++;
    return MPI_SUCCESS;
}

static void *complete(void *request)
{
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

int main(void)
{
    int extra = 5, flag, count, index, provided, rank;
    MPI_Request request, copy, several[3];
    MPI_Status status;
    pthread_t thread;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Grequest_start(query, let_go, cancel, &extra, &request);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && queried == 0 && request != MPI_REQUEST_NULL);
    MPI_Cancel(&request);
    CHECK(cancelled == 1);
    /* Another thread says that it is over while this one waits. */
    copy = request;
    pthread_create(&thread, NULL, complete, &copy);
    MPI_Wait(&request, &status);
    pthread_join(thread, NULL);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Test_cancelled(&status, &flag);
    CHECK(count == 5 && flag && status.MPI_SOURCE == 3 && status.MPI_TAG == 4);
    CHECK(queried == 1 && freed == 1 && request == MPI_REQUEST_NULL);

    /* Among others, and looked at before. */
    MPI_Isend(&extra, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &several[0]);
    MPI_Grequest_start(query, let_go, cancel, &extra, &several[1]);
    MPI_Irecv(&count, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &several[2]);
    MPI_Wait(&several[2], MPI_STATUS_IGNORE);
    MPI_Wait(&several[0], MPI_STATUS_IGNORE);
    MPI_Testany(3, several, &index, &flag, &status);
    CHECK(!flag);
    MPI_Grequest_complete(several[1]);
    MPI_Request_get_status(several[1], &flag, &status);
    CHECK(flag && queried == 2 && freed == 1);
    MPI_Waitany(3, several, &index, &status);
    CHECK(index == 1 && queried == 3 && freed == 2);

    /* Freed before it is over, and one that fails. */
    MPI_Grequest_start(query, let_go, cancel, &extra, &request);
    copy = request;
    CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS);
    MPI_Request_free(&request);
    CHECK(freed == 3);
    extra = 13;
    MPI_Grequest_start(query, let_go, cancel, &extra, &request);
    MPI_Grequest_complete(request);
    CHECK(MPI_Wait(&request, &status) == MPI_ERR_OTHER && freed == 4);
    MPI_Finalize();
    return 0;
}
