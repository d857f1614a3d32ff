/* A world of one with the standard ABI of MPI 5.0, for tests: as much of it as a program of one process asks for. */
#include <stdint.h>
#include <string.h>

typedef struct opaque *handle;

#define DOUBLE 0x214
#define ERROR 16

int MPI_Abi_get_version(int *major, int *minor) {
    *major = ABI_MAJOR;
    *minor = 0;
    return 0;
}

int MPI_Init(int *argc, char ***argv) {
    (void)argc, (void)argv;
    return 0;
}

int MPI_Finalize(void) { return 0; }

int MPI_Error_string(int code, char *text, int *length) {
    strcpy(text, code == ERROR ? "nobody is there" : "no such error");
    *length = (int)strlen(text);
    return 0;
}

int MPI_Comm_set_errhandler(handle comm, handle errhandler) {
    return (intptr_t)comm == 0x101 && (intptr_t)errhandler == 0x143 ? 0 : ERROR;
}

int MPI_Comm_rank(handle comm, int *rank) {
    (void)comm;
    *rank = 0;
    return 0;
}

int MPI_Comm_size(handle comm, int *size) {
    (void)comm;
    *size = 1;
    return 0;
}

int MPI_Send(const void *buf, int count, handle type, int to, int tag, handle comm) {
    (void)buf, (void)count, (void)type, (void)to, (void)tag, (void)comm;
    return ERROR;
}

int MPI_Recv(void *buf, int count, handle type, int from, int tag, handle comm, void *status) {
    (void)buf, (void)count, (void)type, (void)from, (void)tag, (void)comm, (void)status;
    return ERROR;
}

/* Of one message to itself: the send comes second. */
static void *receiving;

int MPI_Irecv(void *buf, int count, handle type, int from, int tag, handle comm, handle *request) {
    (void)count, (void)type, (void)from, (void)tag, (void)comm;
    receiving = buf;
    *request = (handle)0x1000;
    return 0;
}

int MPI_Isend(const void *buf, int count, handle type, int to, int tag, handle comm, handle *request) {
    (void)to, (void)tag, (void)comm;
    if ((intptr_t)type != DOUBLE) return ERROR;
    memcpy(receiving, buf, (size_t)count * 8);
    *request = (handle)0x2000;
    return 0;
}

int MPI_Wait(handle *request, void *status) {
    (void)status;
    *request = (handle)0x180;
    return 0;
}

int MPI_Waitall(int count, handle *requests, void *statuses) {
    (void)statuses;
    for (int at = 0; at < count; at++)
        requests[at] = (handle)0x180;
    return 0;
}

int MPI_Barrier(handle comm) {
    (void)comm;
    return 0;
}

int MPI_Bcast(void *buf, int count, handle type, int root, handle comm) {
    (void)buf, (void)count, (void)type, (void)comm;
    return root == 0 ? 0 : ERROR;
}

int MPI_Allreduce(const void *in, void *out, int count, handle type, handle op, handle comm) {
    (void)out, (void)count, (void)type, (void)op, (void)comm;
    return (intptr_t)in == 1 ? 0 : ERROR; /* MPI_IN_PLACE: the sum of one is there. */
}

/* Three doubles have come from oneself, and never are received: the status is as long as the ABI says. */
int MPI_Probe(int from, int tag, handle comm, void *status) {
    (void)tag, (void)comm;
    memset(status, 0, 32);
    ((int *)status)[3] = 24;
    return from == 0 ? 0 : ERROR;
}

int MPI_Get_count(const void *status, handle type, int *count) {
    *count = ((const int *)status)[3] / 8;
    return (intptr_t)type == DOUBLE ? 0 : ERROR;
}

int MPI_Allgather(const void *in, int count, handle type, void *out, int each, handle intype, handle comm) {
    (void)comm;
    if ((intptr_t)type != DOUBLE || (intptr_t)intype != DOUBLE || count != each) return ERROR;
    memcpy(out, in, (size_t)count * 8);
    return 0;
}

int MPI_Alltoall(const void *in, int count, handle type, void *out, int each, handle intype, handle comm) {
    return MPI_Allgather(in, count, type, out, each, intype, comm);
}
