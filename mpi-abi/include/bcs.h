/* The BCS API: the twelve calls that BCS-MPI makes MPI of (Tables 4.1 and 4.2 of the paper "Achieving Predictable and
 * Scalable Performance with BCS-MPI").
 *
 * Beginning and end. The calls are in libmpi_abi.so.1, beside those of mpi.h. A program calls MPI_Init, or opens a
 * session, before the first of them, and MPI_Finalize after the last.
 *
 * Whom. A communicator is an MPI_Comm, and ranks, tags, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL, MPI_ROOT and
 * MPI_IN_PLACE mean what they mean there. MPI_Send is bcs_send: a message that one sends the receive of the other may
 * take, and a collective is one and the same whether a rank enters it by bcs_barrier or by MPI_Barrier.
 *
 * Data are bytes: an address, and a length in bytes. Only a reduction has to know what the bytes are.
 *
 * Blocking and not. A call that blocks returns when its operation is over. One that does not only posts it, and hands
 * out a request, which bcs_test and bcs_testall ask about. Until then the memory belongs to the operation: nobody
 * writes what is sent, and nobody uses what is received. Collectives block.
 *
 * Requests are spent when bcs_test or bcs_testall says that they are over: the handle stands for nothing from then on.
 *
 * Errors. Each call returns MPI_SUCCESS or an error class of mpi.h, for which MPI_Error_string has words. It asks no
 * error handler, and the program goes on:
 *
 *   MPI_ERR_ARG       an argument that selects something selects nothing, or a pointer that is needed is NULL
 *   MPI_ERR_COMM      the communicator is none
 *   MPI_ERR_RANK      the communicator has no such rank
 *   MPI_ERR_ROOT      the communicator has no such root
 *   MPI_ERR_TAG       the tag is below zero, and not MPI_ANY_TAG in a receive or probe
 *   MPI_ERR_BUFFER    the memory is not there, or what a rank gives lies where it gets something
 *   MPI_ERR_COUNT     a length is more than memory has, or not what another rank's is
 *   MPI_ERR_TYPE      the datatype is none (bcs_reduce)
 *   MPI_ERR_OP        the operation is none, or is not defined on the datatype (bcs_reduce)
 *   MPI_ERR_REQUEST   the request is none: it was spent, or never was one, or another thread waits for it
 *   MPI_ERR_TRUNCATE  the message is longer than the memory that receives it, which has its first bytes
 *   MPI_ERR_IN_STATUS requests have failed, and the statuses say which (bcs_testall)
 *   MPI_ERR_OTHER     nothing was initialised, or all has been finalized; too many requests are outstanding; another
 *                     rank has called another collective
 */
#ifndef BCS_H
#define BCS_H

#include <stddef.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a call waits. */
typedef enum { BCS_NON_BLOCKING = 0, BCS_BLOCKING = 1 } BCS_Blocking;

/* Whether all ranks get the result of a reduction, or only the root. */
typedef enum { BCS_NON_ALL = 0, BCS_ALL = 1 } BCS_All;

/* Whether blocks have a length and a place each, or are of one length and lie side by side in the order of ranks. */
typedef enum { BCS_NON_VECTORIAL = 0, BCS_VECTORIAL = 1 } BCS_Vectorial;

/* A send or receive that was posted. It is no address, and no MPI_Request. */
typedef struct BCS_Posted *BCS_Request;

/* No request: it is over, with a status of nothing. */
#define BCS_REQUEST_NULL ((BCS_Request)0)

/* What a receive got, or a probe found. That of a send has MPI_ANY_SOURCE, MPI_ANY_TAG and no bytes. Where one is
 * asked for, NULL says that nobody wants it. */
typedef struct {
    int source; /* the sender's rank in the communicator */
    int tag;
    int error;    /* what the call for this operation alone would return */
    size_t bytes; /* the length of the message; of one that was too long, the bytes that were received */
} BCS_Status;

/* Sends `bytes` bytes to a rank. Blocking: returns when the memory may be used again. Non-blocking: `*request` is set.
 * (MPI_Send, MPI_Isend) */
int bcs_send(BCS_Blocking blocking, const void *data, size_t bytes, int destination, int tag, MPI_Comm comm,
             BCS_Request *request);

/* Receives at most `bytes` bytes. Blocking: returns when they are there, and `*status` says what came. Non-blocking:
 * `*request` is set, and bcs_test gives the status. (MPI_Recv, MPI_Irecv) */
int bcs_recv(BCS_Blocking blocking, void *data, size_t bytes, int source, int tag, MPI_Comm comm, BCS_Status *status,
             BCS_Request *request);

/* Looks for a message that such a receive would take, and leaves it where it is. Blocking: waits for one. `*found` is
 * 1 if there is one, which `*status` then tells of, and else 0. (MPI_Probe, MPI_Iprobe) */
int bcs_probe(BCS_Blocking blocking, int source, int tag, MPI_Comm comm, int *found, BCS_Status *status);

/* Asks whether a send or receive is over. Blocking: waits until it is. `*done` is 1 if it is, and else 0. It returns
 * what the operation came to. (MPI_Test, MPI_Wait) */
int bcs_test(BCS_Blocking blocking, BCS_Request request, int *done, BCS_Status *status);

/* The same of several. Unless all are over, none is spent and no status is set. `statuses` has as many places as there
 * are requests. (MPI_Testall, MPI_Waitall) */
int bcs_testall(BCS_Blocking blocking, size_t count, const BCS_Request requests[], int *done, BCS_Status statuses[]);

/* Returns when all ranks of the communicator have called it. (MPI_Barrier) */
int bcs_barrier(MPI_Comm comm);

/* Gives all ranks what is in the memory of the root. (MPI_Bcast) */
int bcs_bcast(void *data, size_t bytes, int root, MPI_Comm comm);

/* Combines `count` elements of each rank into as many. With BCS_NON_ALL the root has them in `result`, which others may
 * leave out; with BCS_ALL all have them, and `root` says nothing. (MPI_Reduce, MPI_Allreduce) */
int bcs_reduce(BCS_All all, const void *data, void *result, size_t count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm);

/* In the four calls below, `bytes` is the length of a block that a rank itself gives, or gets. What is indexed by rank
 * lies in `data`, or in `result`: with BCS_NON_VECTORIAL as blocks of `bytes` bytes, and the lists are not looked at;
 * with BCS_VECTORIAL that of rank r has `lengths[r]` bytes, and begins `places[r]` bytes from the start. */

/* Each rank gets its block of the root's. `data` and the lists are the root's alone. (MPI_Scatter, MPI_Scatterv) */
int bcs_scatter(BCS_Vectorial vectorial, const void *data, const size_t lengths[], const size_t places[], void *result,
                size_t bytes, int root, MPI_Comm comm);

/* The root gets a block of each rank. `result` and the lists are the root's alone. (MPI_Gather, MPI_Gatherv) */
int bcs_gather(BCS_Vectorial vectorial, const void *data, size_t bytes, void *result, const size_t lengths[],
               const size_t places[], int root, MPI_Comm comm);

/* All ranks get a block of each. (MPI_Allgather, MPI_Allgatherv) */
int bcs_allgather(BCS_Vectorial vectorial, const void *data, size_t bytes, void *result, const size_t lengths[],
                  const size_t places[], MPI_Comm comm);

/* Each rank gets a block of each. With BCS_VECTORIAL both sides have lists, and `bytes` says nothing.
 * (MPI_Alltoall, MPI_Alltoallv) */
int bcs_alltoall(BCS_Vectorial vectorial, const void *data, const size_t lengths[], const size_t places[], void *result,
                 const size_t result_lengths[], const size_t result_places[], size_t bytes, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
