/* Handles, statuses and addresses of MPICH's ABI, in messages and collectives. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "../c/check.h"

static int rank, size, next, before;

/* A call writes the fields of a status, and leaves MPI_ERROR of a single completion alone. */
static void statuses(void) {
    int out[3] = {rank, 2, 3}, in[3] = {0}, count, flag;
    MPI_Status status, all[2];
    MPI_Request requests[2];
    status.MPI_ERROR = 4711;
    MPI_Isend(out, 3, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv(in, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == before && status.MPI_TAG == 5 && status.MPI_ERROR == 4711);
    CHECK(status.count_lo == 12 && in[0] == before);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag == 0);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(requests[0] == MPI_REQUEST_NULL);

    MPI_Recv(in, 3, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Wait(&requests[0], &status);
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && status.MPI_ERROR == MPI_SUCCESS);

    MPI_Fint fortran[MPI_F_STATUS_SIZE];
    MPI_Irecv(in, 3, MPI_INT, before, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 2, MPI_INT, next, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, all);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    CHECK(all[0].MPI_SOURCE == before && all[0].MPI_TAG == 6);
    MPI_Status_c2f(&all[0], fortran);
    CHECK(fortran[MPI_F_SOURCE] == before && fortran[MPI_F_TAG] == 6);
    MPI_Status_f2c(fortran, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 2);

    MPI_Count large = 0;
    MPI_Status_set_elements_x(&status, MPI_BYTE, (MPI_Count)5 << 32);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Get_elements_x(&status, MPI_BYTE, &large);
    MPI_Test_cancelled(&status, &flag);
    CHECK(large == (MPI_Count)5 << 32 && flag == 1);
    CHECK(status.count_hi_and_cancelled == (5 << 1 | 1));
}

static void probes(void) {
    int word = rank, got = -1, flag = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(&word, 1, MPI_INT, next, 8, MPI_COMM_WORLD, &request);
    MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    CHECK(message != MPI_MESSAGE_NULL && status.MPI_TAG == 8);
    MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL && got == before && status.MPI_SOURCE == before);
    MPI_Wait(&request, &status);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, &status);
    CHECK(flag == 0);
}

/* Persistent requests keep their handle; those of several kinds are in one array. */
static void arrays(void) {
    enum { MOST = 40 };
    int words[MOST], got[MOST], done = 0, indices[MOST], count, flag;
    MPI_Request requests[2 * MOST];
    MPI_Status statuses[2 * MOST];
    for (int nth = 0; nth < MOST; nth++) {
        words[nth] = 100 * rank + nth;
        MPI_Send_init(&words[nth], 1, MPI_INT, next, nth, MPI_COMM_WORLD, &requests[nth]);
        MPI_Irecv(&got[nth], 1, MPI_INT, before, nth, MPI_COMM_WORLD, &requests[MOST + nth]);
    }
    MPI_Request first = requests[0];
    MPI_Startall(MOST, requests);
    while (done < MOST) {
        MPI_Waitsome(MOST, requests + MOST, &count, indices, statuses);
        for (int nth = 0; nth < count; nth++) {
            CHECK(statuses[nth].MPI_TAG == indices[nth] && got[indices[nth]] == 100 * before + indices[nth]);
            CHECK(requests[MOST + indices[nth]] == MPI_REQUEST_NULL);
        }
        done += count;
    }
    MPI_Waitsome(MOST, requests + MOST, &count, indices, MPI_STATUSES_IGNORE);
    CHECK(count == MPI_UNDEFINED);
    MPI_Waitall(MOST, requests, MPI_STATUSES_IGNORE);
    CHECK(requests[0] == first);
    MPI_Testall(MOST, requests, &flag, statuses);
    CHECK(flag == 1 && statuses[3].MPI_TAG == MPI_ANY_TAG);
    for (int nth = 0; nth < MOST; nth++) {
        MPI_Request_free(&requests[nth]);
        CHECK(requests[nth] == MPI_REQUEST_NULL);
    }
    MPI_Waitany(0, NULL, &count, MPI_STATUS_IGNORE);
    CHECK(count == MPI_UNDEFINED);
    MPI_Request canceled;
    MPI_Irecv(got, 1, MPI_INT, before, 99, MPI_COMM_WORLD, &canceled);
    MPI_Cancel(&canceled);
    MPI_Wait(&canceled, statuses);
    MPI_Test_cancelled(statuses, &flag);
    CHECK(flag == 1 && (statuses[0].count_hi_and_cancelled & 1) == 1);
}

static void collectives(void) {
    int sum = rank + 1, expected = size * (size + 1) / 2;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == expected);
    int *all = malloc(sizeof *all * size), *lengths = malloc(sizeof *all * size), *places = malloc(sizeof *all * size);
    MPI_Datatype *types = malloc(sizeof *types * size), pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int *in = malloc(2 * sizeof *in * size), *out = malloc(2 * sizeof *out * size);
    for (int nth = 0; nth < size; nth++) {
        lengths[nth] = nth % 2 ? 2 : 1;
        types[nth] = nth % 2 ? MPI_INT : pair;
        places[nth] = 2 * (int)sizeof(int) * nth;
        out[2 * nth] = rank, out[2 * nth + 1] = nth;
    }
    /* What a rank sends as a pair, others take as two integers. */
    int mine = rank % 2 ? 2 : 1;
    MPI_Datatype my_type = rank % 2 ? MPI_INT : pair;
    int *same = malloc(sizeof *same * size);
    MPI_Datatype *same_types = malloc(sizeof *same_types * size);
    for (int nth = 0; nth < size; nth++) same[nth] = mine, same_types[nth] = my_type;
    MPI_Alltoallw(out, lengths, places, types, in, same, places, same_types, MPI_COMM_WORLD);
    for (int nth = 0; nth < size; nth++) CHECK(in[2 * nth] == nth && in[2 * nth + 1] == rank);
    MPI_Request request;
    MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, in, same, places, same_types, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int nth = 0; nth < size; nth++) CHECK(in[2 * nth] == rank && in[2 * nth + 1] == nth);
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    CHECK(rank != size - 1 || all[0] == 0);
    MPI_Type_free(&pair);
    CHECK(pair == MPI_DATATYPE_NULL);

    MPI_Comm ring;
    int neighbors[2] = {before, next}, got[2], weights[2], degrees[3];
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &ring);
    MPI_Dist_graph_neighbors_count(ring, &degrees[0], &degrees[1], &degrees[2]);
    CHECK(degrees[0] == 1 && degrees[1] == 1 && degrees[2] == 0);
    MPI_Dist_graph_neighbors(ring, 1, got, MPI_UNWEIGHTED, 1, weights, MPI_UNWEIGHTED);
    CHECK(got[0] == neighbors[0] && weights[0] == neighbors[1]);
    int one = 1, from = -1;
    MPI_Aint zero = 0;
    MPI_Datatype word = MPI_INT;
    MPI_Neighbor_alltoallw(&rank, &one, &zero, &word, &from, &one, &zero, &word, ring);
    CHECK(from == before);
    MPI_Comm_free(&ring);
    CHECK(ring == MPI_COMM_NULL);
    free(all), free(lengths), free(places), free(types), free(in), free(out), free(same), free(same_types);
}

static void buffers(void) {
    void *place;
    int bytes;
    char room[4 * (MPI_BSEND_OVERHEAD + 64)];
    MPI_Buffer_attach(room, sizeof room);
    int word = 1, got = 0;
    MPI_Bsend(&word, 1, MPI_INT, next, 11, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, before, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&place, &bytes);
    CHECK(place == room && bytes == (int)sizeof room && got == 1);
#ifdef MPI_BUFFER_AUTOMATIC
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    MPI_Buffer_detach(&place, &bytes);
    CHECK(place == MPI_BUFFER_AUTOMATIC);
#endif
}

int main(void) {
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    statuses();
    probes();
    arrays();
    collectives();
    buffers();
    MPI_Finalize();
    return 0;
}
