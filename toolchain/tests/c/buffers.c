/* Buffers of the process, of a communicator and of a session; messages that are flushed without waiting. */
#include "check.h"

int main(void)
{
    int rank, size, got, large;
    char room[3][4096], *address;
    double *data = calloc(100000, sizeof *data);
    MPI_Comm comm;
    MPI_Request request;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    /* Without any there is no room; a communicator's goes before the process's. */
    CHECK(class_of(MPI_Bsend(&rank, 1, MPI_INT, to, 0, comm)) == MPI_ERR_BUFFER);
    MPI_Buffer_attach(room[0], sizeof room[0]);
    MPI_Comm_attach_buffer(comm, room[1], 4);
    CHECK(class_of(MPI_Bsend(data, 2, MPI_DOUBLE, to, 0, comm)) == MPI_ERR_BUFFER);
    CHECK(MPI_Bsend(&rank, 1, MPI_INT, to, 0, comm) == MPI_SUCCESS);
    MPI_Recv(&got, 1, MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
    CHECK(got == from);
    MPI_Comm_flush_buffer(comm);
    MPI_Comm_detach_buffer(comm, &address, &large);
    CHECK(address == room[1] && large == 4);
    CHECK(MPI_Bsend(data, 2, MPI_DOUBLE, to, 0, comm) == MPI_SUCCESS);
    MPI_Recv(data, 2, MPI_DOUBLE, from, 0, comm, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&address, &large);
    CHECK(address == room[0] && large == sizeof room[0]);

    /* As large as memory; a flush goes on while this rank waits for something else. */
    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
    for (int nth = 0; nth < 100000; nth++)
        data[nth] = rank + nth;
    MPI_Bsend(data, 100000, MPI_DOUBLE, to, 1, comm);
    MPI_Comm_iflush_buffer(comm, &request);
    MPI_Recv(data, 100000, MPI_DOUBLE, from, 1, comm, MPI_STATUS_IGNORE);
    CHECK(data[99999] == from + 99999);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_detach_buffer(comm, &address, &large);
    CHECK(address == MPI_BUFFER_AUTOMATIC && large == 0);
    MPI_Comm_free(&comm);

    /* A session's is that of the communicators that are made in it. */
    MPI_Session session;
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_attach_buffer(session, room[2], sizeof room[2]);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    CHECK(MPI_Bsend(&rank, 1, MPI_INT, to, 0, comm) == MPI_SUCCESS);
    CHECK(class_of(MPI_Bsend(&rank, 1, MPI_INT, to, 0, MPI_COMM_SELF)) == MPI_ERR_BUFFER);
    MPI_Recv(&got, 1, MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
    MPI_Session_iflush_buffer(session, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_detach_buffer(session, &address, &large);
    CHECK(address == room[2]);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    MPI_Finalize();
    free(data);
    return 0;
}
