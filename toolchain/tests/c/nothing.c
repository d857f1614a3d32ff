/* With counts of nothing no buffer is looked at: it may be null, never set, or happen to be MPI_IN_PLACE. */
#include "check.h"

#define FINE(call)                                                             \
    do {                                                                       \
        int code_ = (call);                                                    \
        if (code_ != MPI_SUCCESS) {                                            \
            char text_[MPI_MAX_ERROR_STRING];                                  \
            int length_;                                                       \
            MPI_Error_string(code_, text_, &length_);                          \
            fprintf(stderr, "%s with %p: %s\n", #call, wild, text_);           \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

enum { MOST = 64 };
static int none[MOST], rank, size;
static MPI_Aint far_none[MOST];
static MPI_Datatype types[MOST];

static void messages(void *wild, MPI_Comm comm)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, length, position = 0;
    MPI_Request requests[2], request;
    MPI_Status status;
    MPI_Message message;
    FINE(MPI_Recv(wild, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &status));
    FINE(MPI_Send(wild, 0, MPI_INT, MPI_PROC_NULL, 0, comm));
    FINE(MPI_Isend(wild, 0, MPI_INT, next, 0, comm, &requests[0]));
    FINE(MPI_Irecv(wild, 0, MPI_INT, last, 0, comm, &requests[1]));
    FINE(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    FINE(MPI_Issend(wild, 0, MPI_INT, next, 0, comm, &request));
    FINE(MPI_Recv(wild, 0, MPI_INT, last, 0, comm, &status));
    FINE(MPI_Wait(&request, &status));
    FINE(MPI_Irecv(wild, 0, MPI_INT, last, 0, comm, &request));
    FINE(MPI_Rsend(wild, 0, MPI_INT, MPI_PROC_NULL, 0, comm));
    FINE(MPI_Bsend(wild, 0, MPI_INT, MPI_PROC_NULL, 0, comm));
    FINE(MPI_Send(wild, 0, MPI_INT, next, 0, comm));
    FINE(MPI_Wait(&request, &status));
    FINE(MPI_Sendrecv(wild, 0, MPI_INT, next, 0, wild, 0, MPI_INT, last, 0, comm, &status));
    FINE(MPI_Sendrecv_replace(wild, 0, MPI_INT, next, 0, last, 0, comm, &status));
    FINE(MPI_Isendrecv(wild, 0, MPI_INT, next, 0, wild, 0, MPI_INT, last, 0, comm, &request));
    FINE(MPI_Wait(&request, &status));
    FINE(MPI_Isendrecv_replace(wild, 0, MPI_INT, next, 0, last, 0, comm, &request));
    FINE(MPI_Wait(&request, &status));
    FINE(MPI_Isend(wild, 0, MPI_INT, next, 0, comm, &request));
    FINE(MPI_Mprobe(last, 0, comm, &message, &status));
    FINE(MPI_Mrecv(wild, 0, MPI_INT, &message, &status));
    FINE(MPI_Wait(&request, &status));
    FINE(MPI_Send_init(wild, 0, MPI_INT, next, 0, comm, &requests[0]));
    FINE(MPI_Recv_init(wild, 0, MPI_INT, last, 0, comm, &requests[1]));
    FINE(MPI_Startall(2, requests));
    FINE(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    FINE(MPI_Request_free(&requests[0]));
    FINE(MPI_Request_free(&requests[1]));
    FINE(MPI_Psend_init(wild, 2, 0, MPI_INT, next, 0, comm, MPI_INFO_NULL, &requests[0]));
    FINE(MPI_Precv_init(wild, 2, 0, MPI_INT, last, 0, comm, MPI_INFO_NULL, &requests[1]));
    FINE(MPI_Startall(2, requests));
    FINE(MPI_Pready_range(0, 1, requests[0]));
    FINE(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    FINE(MPI_Request_free(&requests[0]));
    FINE(MPI_Request_free(&requests[1]));
    FINE(MPI_Pack(wild, 0, MPI_INT, wild, 0, &position, comm));
    FINE(MPI_Unpack(wild, 0, &position, wild, 0, MPI_INT, comm));
    FINE(MPI_Unpack(wild, 100, &position, wild, 0, MPI_INT, comm));
    FINE(MPI_Pack_size(0, MPI_INT, comm, &length));
    CHECK(position == 0);
    FINE(MPI_Reduce_local(wild, wild, 0, MPI_INT, MPI_SUM));
    FINE(MPI_Waitall(0, wild, wild));
    FINE(MPI_Startall(0, wild));
}

static void collectives(void *wild, MPI_Comm comm)
{
    for (int root = 0; root < size; root++) {
        FINE(MPI_Bcast(wild, 0, MPI_INT, root, comm));
        FINE(MPI_Gather(wild, 0, MPI_INT, wild, 0, MPI_INT, root, comm));
        FINE(MPI_Gatherv(none, 0, MPI_INT, wild, none, none, MPI_INT, root, comm));
        FINE(MPI_Gatherv(wild, 0, MPI_INT, none, none, none, MPI_INT, root, comm));
        FINE(MPI_Scatter(wild, 0, MPI_INT, wild, 0, MPI_INT, root, comm));
        FINE(MPI_Scatterv(wild, none, none, MPI_INT, none, 0, MPI_INT, root, comm));
        FINE(MPI_Scatterv(none, none, none, MPI_INT, wild, 0, MPI_INT, root, comm));
        FINE(MPI_Reduce(wild, wild, 0, MPI_INT, MPI_SUM, root, comm));
    }
    FINE(MPI_Allgather(none, 0, MPI_INT, wild, 0, MPI_INT, comm));
    FINE(MPI_Allgather(wild, 0, MPI_INT, none, 0, MPI_INT, comm));
    FINE(MPI_Allgatherv(none, 0, MPI_INT, wild, none, none, MPI_INT, comm));
    FINE(MPI_Allgatherv(wild, 0, MPI_INT, wild, none, none, MPI_INT, comm));
    FINE(MPI_Alltoall(none, 0, MPI_INT, wild, 0, MPI_INT, comm));
    FINE(MPI_Alltoall(wild, 0, MPI_INT, wild, 0, MPI_INT, comm));
    FINE(MPI_Alltoallv(none, none, none, MPI_INT, wild, none, none, MPI_INT, comm));
    FINE(MPI_Alltoallv(wild, none, none, MPI_INT, wild, none, none, MPI_INT, comm));
    FINE(MPI_Alltoallw(none, none, none, types, wild, none, none, types, comm));
    FINE(MPI_Allreduce(none, wild, 0, MPI_INT, MPI_SUM, comm));
    FINE(MPI_Allreduce(wild, wild, 0, MPI_INT, MPI_SUM, comm));
    FINE(MPI_Reduce_scatter_block(wild, wild, 0, MPI_INT, MPI_SUM, comm));
    FINE(MPI_Reduce_scatter(wild, wild, none, MPI_INT, MPI_SUM, comm));
    FINE(MPI_Scan(wild, wild, 0, MPI_INT, MPI_SUM, comm));
    FINE(MPI_Exscan(wild, wild, 0, MPI_INT, MPI_SUM, comm));

    /* Only one rank has a pointer like that, and the others have buffers. */
    void *mine = rank == size / 2 ? wild : none;
    FINE(MPI_Alltoallv(mine, none, none, MPI_INT, none, none, none, MPI_INT, comm));
    FINE(MPI_Allgather(mine, 0, MPI_INT, none, 0, MPI_INT, comm));
    FINE(MPI_Allreduce(mine, none, 0, MPI_INT, MPI_SUM, comm));
    FINE(MPI_Reduce_scatter_block(mine, none, 0, MPI_INT, MPI_SUM, comm));
    FINE(MPI_Scan(mine, none, 0, MPI_INT, MPI_SUM, comm));
    FINE(MPI_Bcast(mine, 0, MPI_INT, 0, comm));

    MPI_Request request;
    FINE(MPI_Ialltoallv(none, none, none, MPI_INT, wild, none, none, MPI_INT, comm, &request));
    FINE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FINE(MPI_Ibcast(wild, 0, MPI_INT, 0, comm, &request));
    FINE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FINE(MPI_Alltoallv_init(none, none, none, MPI_INT, wild, none, none, MPI_INT, comm, MPI_INFO_NULL, &request));
    FINE(MPI_Start(&request));
    FINE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FINE(MPI_Request_free(&request));
}

static void neighbours(void *wild, MPI_Comm comm)
{
    FINE(MPI_Neighbor_allgather(wild, 0, MPI_INT, wild, 0, MPI_INT, comm));
    FINE(MPI_Neighbor_allgatherv(wild, 0, MPI_INT, wild, none, none, MPI_INT, comm));
    FINE(MPI_Neighbor_alltoall(wild, 0, MPI_INT, wild, 0, MPI_INT, comm));
    FINE(MPI_Neighbor_alltoallv(wild, none, none, MPI_INT, wild, none, none, MPI_INT, comm));
    FINE(MPI_Neighbor_alltoallw(wild, none, far_none, types, wild, none, far_none, types, comm));
}

int main(int argc, char **argv)
{
    int dims[1], periods[1] = {1}, class, one[1] = {1};
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int at = 0; at < MOST; at++)
        types[at] = MPI_INT;
    dims[0] = size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    void *all[] = {NULL, (void *) 1, (void *) 2, (void *) 16, (void *) 4096, (void *) -1};
    for (unsigned at = 0; at < sizeof all / sizeof *all; at++) {
        messages(all[at], MPI_COMM_WORLD);
        collectives(all[at], MPI_COMM_WORLD);
        neighbours(all[at], ring);
    }
    /* With something MPI_IN_PLACE is no buffer. */
    MPI_Error_class(MPI_Send((void *) 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), &class);
    CHECK(class == MPI_ERR_BUFFER);
    MPI_Error_class(MPI_Reduce_local((void *) 1, one, 1, MPI_INT, MPI_SUM), &class);
    CHECK(class == MPI_ERR_BUFFER);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
