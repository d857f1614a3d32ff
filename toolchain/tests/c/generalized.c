/* Requests of what the program does itself, completed, freed, waited for and cancelled in every order. */
#include "check.h"

static int queried, freed, asked, was_over;

static int query(void *extra, MPI_Status *status)
{
    CHECK(extra == &queried);
    queried++;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, asked > 0);
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    return MPI_SUCCESS;
}

static int let_go(void *extra)
{
    CHECK(extra == &queried);
    freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    CHECK(extra == &queried);
    asked++;
    was_over = complete;
    return MPI_SUCCESS;
}

static MPI_Request started(void)
{
    MPI_Request request;
    queried = freed = asked = was_over = 0;
    CHECK(MPI_Grequest_start(query, let_go, cancel, &queried, &request) == MPI_SUCCESS);
    return request;
}

int main(int argc, char **argv)
{
    int flag, index, count, class, indices[2];
    MPI_Status status, statuses[2];
    MPI_Request request, copy, two[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    /* Completed, then waited for. */
    request = started();
    MPI_Grequest_complete(request);
    CHECK(queried == 0 && freed == 0);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(queried == 1 && freed == 1 && count == 3 && status.MPI_SOURCE == 5 && status.MPI_TAG == 6);

    /* Completed, then freed. */
    request = started();
    MPI_Grequest_complete(request);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    CHECK(queried == 0 && freed == 1);

    /* Freed, then completed. The handle is good for that alone. */
    request = copy = started();
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL && freed == 0);
    MPI_Error_class(MPI_Test(&copy, &flag, &status), &class);
    CHECK(class == MPI_ERR_REQUEST);
    MPI_Error_class(MPI_Cancel(&copy), &class);
    CHECK(class == MPI_ERR_REQUEST);
    MPI_Request other = copy;
    MPI_Error_class(MPI_Request_free(&other), &class);
    CHECK(class == MPI_ERR_REQUEST && freed == 0);
    CHECK(MPI_Grequest_complete(copy) == MPI_SUCCESS && freed == 1 && queried == 0);
    MPI_Error_class(MPI_Grequest_complete(copy), &class);
    CHECK(class == MPI_ERR_REQUEST && freed == 1);

    /* Cancelled before and after it is over; waited for or freed. */
    request = started();
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS && asked == 1 && !was_over);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && freed == 1);
    request = started();
    MPI_Grequest_complete(request);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS && asked == 1 && was_over && freed == 0);
    MPI_Request_free(&request);
    CHECK(freed == 1 && queried == 0);

    /* Tests, of one and of several. */
    request = started();
    CHECK(MPI_Test(&request, &flag, &status) == MPI_SUCCESS && !flag && queried == 0);
    MPI_Grequest_complete(request);
    CHECK(MPI_Request_get_status(request, &flag, &status) == MPI_SUCCESS && flag && queried == 1 && freed == 0);
    CHECK(MPI_Test(&request, &flag, &status) == MPI_SUCCESS && flag && freed == 1);
    two[1] = started();
    two[0] = MPI_REQUEST_NULL;
    CHECK(MPI_Testany(2, two, &index, &flag, &status) == MPI_SUCCESS && !flag);
    MPI_Grequest_complete(two[1]);
    CHECK(MPI_Testany(2, two, &index, &flag, &status) == MPI_SUCCESS && flag && index == 1);
    CHECK(queried == 1 && freed == 1 && two[1] == MPI_REQUEST_NULL);
    two[0] = started();
    MPI_Grequest_complete(two[0]);
    CHECK(MPI_Waitany(2, two, &index, &status) == MPI_SUCCESS && index == 0 && freed == 1);
    two[0] = started();
    MPI_Grequest_complete(two[0]);
    CHECK(MPI_Waitsome(2, two, &count, indices, statuses) == MPI_SUCCESS && count == 1 && freed == 1);
    two[1] = started();
    CHECK(MPI_Testall(2, two, &flag, statuses) == MPI_SUCCESS && !flag && freed == 0);
    MPI_Grequest_complete(two[1]);
    CHECK(MPI_Waitall(2, two, statuses) == MPI_SUCCESS && freed == 1 && statuses[1].MPI_TAG == 6);
    MPI_Finalize();
    return 0;
}
