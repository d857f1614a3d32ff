/* Functions of the program are called with MPICH's handles and codes. */
#include <mpi.h>
#include <string.h>

#include "../c/check.h"

static MPI_Datatype expected_type;
static MPI_Comm expected_comm;
static int key, calls, code_given, own_code = 1234567;

static void larger(void *in, void *both, int *length, MPI_Datatype *type) {
    CHECK(*type == expected_type);
    for (int nth = 0; nth < *length; nth++)
        if (((int *)in)[nth] > ((int *)both)[nth]) ((int *)both)[nth] = ((int *)in)[nth];
    calls++;
}

#if MPI_VERSION >= 4
static void larger_c(void *in, void *both, MPI_Count *length, MPI_Datatype *type) {
    int few = (int)*length;
    larger(in, both, &few, type);
}
#endif

static void operations(int rank, int size) {
    MPI_Op op;
    int most = -1, commutes, one[2] = {rank, -rank}, both[2];
    MPI_Op_create(larger, 1, &op);
    expected_type = MPI_INT;
    MPI_Allreduce(&rank, &most, 1, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(most == size - 1 && (size == 1 || calls > 0));
    MPI_Op_commutative(op, &commutes);
    CHECK(commutes == 1);
    MPI_Type_contiguous(1, MPI_INT, &expected_type);
    MPI_Type_commit(&expected_type);
    MPI_Reduce_local(one, memset(both, 0, sizeof both), 2, expected_type, op);
    CHECK(both[0] == rank && both[1] == 0);
    MPI_Type_free(&expected_type);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
#if MPI_VERSION >= 4
    expected_type = MPI_INT32_T;
    MPI_Op_create_c(larger_c, 0, &op);
    MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT32_T, op, MPI_COMM_WORLD);
    CHECK(rank == size - 1);
    MPI_Op_free(&op);
#endif
}

static int copies(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
    CHECK(comm == expected_comm && keyval == key && extra == &key);
    if (in == &own_code) return own_code;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deletes(MPI_Comm comm, int keyval, void *value, void *extra) {
    CHECK(keyval == key && extra == &key && value != NULL);
    (void)comm;
    calls++;
    return MPI_SUCCESS;
}

static void attributes(void) {
    char place[2];
    void *found;
    int flag, by_value, none;
    MPI_Comm copy;
    calls = 0;
    expected_comm = MPI_COMM_SELF;
    MPI_Comm_create_keyval(copies, deletes, &key, &key);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &by_value, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &none, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, place);
    MPI_Comm_set_attr(MPI_COMM_SELF, by_value, place);
    MPI_Comm_set_attr(MPI_COMM_SELF, none, place);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_get_attr(copy, key, &found, &flag);
    CHECK(flag && found == place + 1);
    MPI_Comm_get_attr(copy, by_value, &found, &flag);
    CHECK(flag && found == place);
    MPI_Comm_get_attr(copy, none, &found, &flag);
    CHECK(!flag);
    MPI_Comm_free(&copy);
    CHECK(calls == 1);
    /* The code of a function comes back as it is. */
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &own_code);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &copy) == own_code);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_delete_attr(MPI_COMM_SELF, by_value);
    MPI_Comm_delete_attr(MPI_COMM_SELF, none);
    int freed = key;
    MPI_Comm_free_keyval(&freed);
    CHECK(freed == MPI_KEYVAL_INVALID);

    int *value;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag);
    CHECK(!flag || *value == MPI_PROC_NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
    CHECK(!flag || *value == MPI_ANY_SOURCE || *value == MPI_PROC_NULL || *value >= 0);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
    CHECK(flag && *value == MPI_ERR_LASTCODE);
}

static void handles_errors(MPI_Comm *comm, int *code, ...) {
    CHECK(*comm == expected_comm);
    code_given = *code;
    calls++;
}

static void errors(int size) {
    int class, code, length, added, word = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &expected_comm);
    MPI_Comm_create_errhandler(handles_errors, &handler);
    MPI_Comm_set_errhandler(expected_comm, handler);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
    calls = 0;
    code = MPI_Send(&word, 1, MPI_INT, size, 7, expected_comm);
    MPI_Error_class(code, &class);
    CHECK(calls == 1 && code_given == code && class == MPI_ERR_RANK);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "has no rank") != NULL && (int)strlen(text) == length);
    code = MPI_Send(&word, 1, MPI_INT, 0, -2, expected_comm);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TAG);
    MPI_Comm_call_errhandler(expected_comm, MPI_ERR_OTHER);
    CHECK(code_given == MPI_ERR_OTHER);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &added);
    MPI_Add_error_string(added, "one of ours");
    CHECK(class > MPI_ERR_LASTCODE && added > class);
    MPI_Comm_call_errhandler(expected_comm, added);
    CHECK(code_given == added);
    MPI_Error_class(added, &code);
    MPI_Error_string(added, text, &length);
    CHECK(code == class && strcmp(text, "one of ours") == 0);
    MPI_Comm_free(&expected_comm);

    /* A handle of another kind, a random number and a null handle are no communicators. */
    MPI_Comm wrong[] = {(MPI_Comm)MPI_INT, (MPI_Comm)MPI_INFO_NULL, 12345, 257, -1, MPI_COMM_NULL};
    for (unsigned nth = 0; nth < sizeof wrong / sizeof *wrong; nth++) {
        MPI_Error_class(MPI_Comm_rank(wrong[nth], &word), &class);
        CHECK(class == MPI_ERR_COMM);
    }
    MPI_Error_class(MPI_Type_size((MPI_Datatype)MPI_COMM_WORLD, &word), &class);
    CHECK(class == MPI_ERR_TYPE);
}

static int freed, cancelled;

static int queries(void *extra, MPI_Status *status) {
    CHECK(extra == &freed);
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_PROC_NULL;
    status->MPI_TAG = 42;
    return MPI_SUCCESS;
}

static int frees(void *extra) {
    CHECK(extra == &freed);
    freed++;
    return MPI_SUCCESS;
}

static int cancels(void *extra, int complete) {
    CHECK(extra == &freed && !complete);
    cancelled++;
    return MPI_SUCCESS;
}

static void requests_of_the_program(void) {
    MPI_Request request, again;
    MPI_Status status;
    int count;
    MPI_Grequest_start(queries, frees, cancels, &freed, &request);
    again = request;
    MPI_Cancel(&request);
    MPI_Grequest_complete(again);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(cancelled == 1 && freed == 1 && count == 3 && status.MPI_TAG == 42 && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(request == MPI_REQUEST_NULL);
}

#if MPI_VERSION >= 4
static MPI_Session expected_session;

static void handles_session_errors(MPI_Session *session, int *code, ...) {
    CHECK(*session == expected_session);
    code_given = *code;
}

static void sessions(void) {
    MPI_Errhandler handler;
    MPI_Group group;
    int class;
    MPI_Session_create_errhandler(handles_session_errors, &handler);
    MPI_Session_init(MPI_INFO_NULL, handler, &expected_session);
    int code = MPI_Group_from_session_pset(expected_session, "mpi://nobody", &group);
    MPI_Error_class(code, &class);
    CHECK(class != MPI_SUCCESS && code_given == code);
    MPI_Group_from_session_pset(expected_session, "mpi://SELF", &group);
    MPI_Group_free(&group);
    MPI_Errhandler_free(&handler);
    MPI_Session_finalize(&expected_session);
    CHECK(expected_session == MPI_SESSION_NULL && group == MPI_GROUP_NULL);
}
#endif

int main(void) {
    int rank, size;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    operations(rank, size);
    attributes();
    errors(size);
    requests_of_the_program();
#if MPI_VERSION >= 4
    sessions();
#endif
    MPI_Finalize();
    return 0;
}
