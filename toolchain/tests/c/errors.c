/* Errors get to the right handler with the right class, and a handle that is none is an error and no crash. */
#include "check.h"

static int called, code_given;
static MPI_Comm comm_given;

static void handler(MPI_Comm *comm, int *code, ...)
{
    called++;
    comm_given = *comm;
    code_given = *code;
}

static void says(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && (int) strlen(text) == length);
    if (strstr(text, what) == NULL) {
        fprintf(stderr, "\"%s\" is not in \"%s\"\n", what, text);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    int rank, size, word = 0;
    MPI_Errhandler own;
    MPI_Comm copy;
    char text[MPI_MAX_ERROR_STRING];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(copy, own);
    /* A query gives the program's own handle, which is valid until it is freed as often as given. */
    MPI_Errhandler asked, again;
    MPI_Comm_get_errhandler(copy, &asked);
    CHECK(asked == own);
    MPI_Errhandler_free(&asked);
    MPI_Comm_set_errhandler(copy, own);
    MPI_Errhandler_free(&own);
    CHECK(own == MPI_ERRHANDLER_NULL);
    MPI_Comm_get_errhandler(copy, &again);
    MPI_Comm_set_errhandler(copy, again);
    MPI_Errhandler_free(&again);

    CHECK(class_of(MPI_Send(&word, 1, MPI_INT, size, 0, copy)) == MPI_ERR_RANK);
    CHECK(called == 1 && comm_given == copy && class_of(code_given) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Send(&word, -1, MPI_INT, 0, 0, copy)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Send(&word, 1, MPI_INT, 0, -5, copy)) == MPI_ERR_TAG);
    CHECK(class_of(MPI_Send(&word, 1, MPI_DATATYPE_NULL, 0, 0, copy)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Bcast(&word, 1, MPI_INT, -1, copy)) == MPI_ERR_ROOT);
    CHECK(class_of(MPI_Allreduce(&word, text, 1, MPI_INT, MPI_OP_NULL, copy)) == MPI_ERR_OP);
    CHECK(called == 6);
    MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER);
    CHECK(called == 7 && code_given == MPI_ERR_OTHER);

    /* A code names an instance: its sentence says which call, with what, and where. */
    int length, last, *last_used, is_set;
    code_given = MPI_SUCCESS;
    int code = MPI_Send(&word, 1, MPI_INT, size, 7, MPI_COMM_WORLD);
    says(code, "MPI_ERR_RANK: rank ");
    says(code, " failed to MPI_Send 4 bytes to rank ");
    says(code, " with tag 7 at ");
    says(code, "the communicator has no rank ");
#ifdef MPICH
    CHECK(code != MPI_ERR_RANK && code < MPI_ERR_LASTCODE && (code & 0x7f) == MPI_ERR_RANK);
#else
    CHECK(code != MPI_ERR_RANK && code > MPI_ERR_LASTCODE);
#endif
    last = MPI_Send(&word, -2, MPI_INT, 0, 7, MPI_COMM_WORLD);
    says(code, " failed to MPI_Send 4 bytes to rank ");
    says(last, "-2");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last_used, &is_set);
    CHECK(is_set && *last_used == MPI_ERR_LASTCODE);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    for (int nth = 0; nth < 5000; nth++)
        last = MPI_Send(&word, 1, MPI_INT, size, 7, copy);
    CHECK(class_of(code) == MPI_ERR_RANK && class_of(last) == MPI_ERR_RANK);
    MPI_Error_string(code, text, &length);
    CHECK(strncmp(text, "MPI_ERR_RANK: a rank that does not exist", 40) == 0);
    says(last, "failed to MPI_Send 4 bytes");

    /* A message that is too long: the status says what came. */
    MPI_Status statuses[2];
    MPI_Request requests[2];
    int two[2] = {1, 2}, to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Irecv(&word, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(two, 2, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[1]);
    CHECK(class_of(MPI_Waitall(2, requests, statuses)) == MPI_ERR_IN_STATUS);
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
    says(statuses[0].MPI_ERROR, "failed to MPI_Irecv 4 bytes from rank ");
    says(statuses[0].MPI_ERROR, "with tag 3");
    says(statuses[0].MPI_ERROR, "message truncated: 8 bytes arrived");
    CHECK(statuses[0].MPI_SOURCE == from && statuses[0].MPI_TAG == 3);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);

    /* Stale, foreign and random handles. */
    MPI_Comm stale = copy;
    MPI_Comm_free(&copy);
    CHECK(class_of(MPI_Barrier(stale)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Barrier((MPI_Comm) MPI_INT)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Barrier((MPI_Comm) 0x123456789abcdef)) == MPI_ERR_COMM);
    MPI_Request request = (MPI_Request) &word;
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
    MPI_Datatype type = (MPI_Datatype) MPI_COMM_WORLD;
    CHECK(class_of(MPI_Type_commit(&type)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Comm_rank(MPI_COMM_WORLD, NULL)) == MPI_ERR_ARG);

    /* A number that does not fit is not cut, and an address in the first page is none. */
    long many = 3000000000;
    MPI_Aint at = 0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int packed = MPI_Pack_external("external32", &many, 1, MPI_LONG, text, sizeof text, &at);
    CHECK(class_of(packed) == MPI_ERR_CONVERSION && at == 0);
    CHECK(class_of(MPI_Send((void *)49, 1, MPI_INT, to, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);

    int class;
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "the program's own");
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "the program's own") == 0 && length == 17 && class_of(code) == class);
    MPI_Finalize();
    return 0;
}
