/* Which predefined operation is defined on which predefined datatype: the table of MPI 5.0, 6.9.2, and no pair beside it. */
#include "check.h"

/* Groups of the table. Characters and packed data are in none. */
enum { NONE = 0, INTEGER = 1, FLOATING = 2, LOGICAL = 4, COMPLEX = 8, BYTE = 16, LOCATED = 32 };

static const struct {
    MPI_Datatype type;
    int group;
    const char *name;
} types[] = {
#define OF(group, type) {type, group, #type}
    OF(INTEGER, MPI_INT), OF(INTEGER, MPI_LONG), OF(INTEGER, MPI_SHORT), OF(INTEGER, MPI_UNSIGNED_SHORT),
    OF(INTEGER, MPI_UNSIGNED), OF(INTEGER, MPI_UNSIGNED_LONG), OF(INTEGER, MPI_LONG_LONG),
    OF(INTEGER, MPI_LONG_LONG_INT), OF(INTEGER, MPI_UNSIGNED_LONG_LONG), OF(INTEGER, MPI_SIGNED_CHAR),
    OF(INTEGER, MPI_UNSIGNED_CHAR), OF(INTEGER, MPI_INT8_T), OF(INTEGER, MPI_INT16_T), OF(INTEGER, MPI_INT32_T),
    OF(INTEGER, MPI_INT64_T), OF(INTEGER, MPI_UINT8_T), OF(INTEGER, MPI_UINT16_T), OF(INTEGER, MPI_UINT32_T),
    OF(INTEGER, MPI_UINT64_T),
    OF(INTEGER, MPI_INTEGER), OF(INTEGER, MPI_INTEGER1), OF(INTEGER, MPI_INTEGER2), OF(INTEGER, MPI_INTEGER4),
    OF(INTEGER, MPI_INTEGER8),
    OF(INTEGER, MPI_AINT), OF(INTEGER, MPI_COUNT), OF(INTEGER, MPI_OFFSET),
    OF(FLOATING, MPI_FLOAT), OF(FLOATING, MPI_DOUBLE), OF(FLOATING, MPI_LONG_DOUBLE), OF(FLOATING, MPI_REAL),
    OF(FLOATING, MPI_DOUBLE_PRECISION), OF(FLOATING, MPI_REAL2), OF(FLOATING, MPI_REAL4), OF(FLOATING, MPI_REAL8),
    OF(FLOATING, MPI_REAL16),
    OF(LOGICAL, MPI_C_BOOL), OF(LOGICAL, MPI_CXX_BOOL), OF(LOGICAL, MPI_LOGICAL), OF(LOGICAL, MPI_LOGICAL1),
    OF(LOGICAL, MPI_LOGICAL2), OF(LOGICAL, MPI_LOGICAL4), OF(LOGICAL, MPI_LOGICAL8),
    OF(COMPLEX, MPI_C_COMPLEX), OF(COMPLEX, MPI_C_FLOAT_COMPLEX), OF(COMPLEX, MPI_C_DOUBLE_COMPLEX),
    OF(COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX), OF(COMPLEX, MPI_CXX_FLOAT_COMPLEX),
    OF(COMPLEX, MPI_CXX_DOUBLE_COMPLEX), OF(COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX), OF(COMPLEX, MPI_COMPLEX),
    OF(COMPLEX, MPI_DOUBLE_COMPLEX), OF(COMPLEX, MPI_COMPLEX4), OF(COMPLEX, MPI_COMPLEX8),
    OF(COMPLEX, MPI_COMPLEX16), OF(COMPLEX, MPI_COMPLEX32),
    OF(BYTE, MPI_BYTE),
    OF(LOCATED, MPI_FLOAT_INT), OF(LOCATED, MPI_DOUBLE_INT), OF(LOCATED, MPI_LONG_INT), OF(LOCATED, MPI_2INT),
    OF(LOCATED, MPI_SHORT_INT), OF(LOCATED, MPI_LONG_DOUBLE_INT), OF(LOCATED, MPI_2REAL),
    OF(LOCATED, MPI_2DOUBLE_PRECISION), OF(LOCATED, MPI_2INTEGER),
    OF(NONE, MPI_CHAR), OF(NONE, MPI_WCHAR), OF(NONE, MPI_CHARACTER), OF(NONE, MPI_PACKED),
#undef OF
};

static const struct {
    MPI_Op op;
    int groups;
    const char *name;
} ops[] = {
#define OF(groups, op) {op, groups, #op}
    OF(INTEGER | FLOATING, MPI_MAX), OF(INTEGER | FLOATING, MPI_MIN),
    OF(INTEGER | FLOATING | COMPLEX, MPI_SUM), OF(INTEGER | FLOATING | COMPLEX, MPI_PROD),
    OF(INTEGER | LOGICAL, MPI_LAND), OF(INTEGER | LOGICAL, MPI_LOR), OF(INTEGER | LOGICAL, MPI_LXOR),
    OF(INTEGER | BYTE, MPI_BAND), OF(INTEGER | BYTE, MPI_BOR), OF(INTEGER | BYTE, MPI_BXOR),
    OF(LOCATED, MPI_MINLOC), OF(LOCATED, MPI_MAXLOC),
    OF(NONE, MPI_REPLACE), OF(NONE, MPI_NO_OP),
#undef OF
};

static void is(int code, int defined, const char *call, unsigned op, unsigned type)
{
    int class;
    MPI_Error_class(code, &class);
    if (class != (defined ? MPI_SUCCESS : MPI_ERR_OP)) {
        fprintf(stderr, "%s: %s of %s: class %d\n", call, ops[op].name, types[type].name, class);
        exit(1);
    }
}

static void add(void *from, void *into, int *len, MPI_Datatype *type)
{
    CHECK(*type == MPI_CHAR || *type == MPI_WCHAR);
    for (int at = 0; at < *len; at++)
        if (*type == MPI_CHAR)
            ((char *) into)[at] += ((char *) from)[at];
}

int main(int argc, char **argv)
{
    static long double in[8], out[8];
    int size, class;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (unsigned op = 0; op < sizeof ops / sizeof *ops; op++) {
        for (unsigned type = 0; type < sizeof types / sizeof *types; type++) {
            int defined = (ops[op].groups & types[type].group) != 0;
            MPI_Request request;
            is(MPI_Reduce_local(in, out, 1, types[type].type, ops[op].op), defined, "MPI_Reduce_local", op, type);
            is(MPI_Allreduce(in, out, 1, types[type].type, ops[op].op, MPI_COMM_SELF), defined, "MPI_Allreduce", op, type);
            is(MPI_Scan(in, out, 1, types[type].type, ops[op].op, MPI_COMM_SELF), defined, "MPI_Scan", op, type);
            int code = MPI_Iallreduce(in, out, 1, types[type].type, ops[op].op, MPI_COMM_SELF, &request);
            is(code, defined, "MPI_Iallreduce", op, type);
            if (code == MPI_SUCCESS)
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (!defined)
                is(MPI_Reduce(in, out, 1, types[type].type, ops[op].op, 0, MPI_COMM_SELF), 0, "MPI_Reduce", op, type);
        }
    }
    /* At all ranks alike, and they are in step afterwards. */
    char mine = 1, sum = 0;
    MPI_Error_class(MPI_Allreduce(&mine, &sum, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD), &class);
    CHECK(class == MPI_ERR_OP);
    int one = 1, all = 0;
    CHECK(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && all == size);
    /* Functions of the program's get whatever it likes. */
    MPI_Op own;
    MPI_Op_create(add, 1, &own);
    CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_CHAR, own, MPI_COMM_WORLD) == MPI_SUCCESS && sum == size);
    MPI_Op_free(&own);
    /* A copy of a predefined datatype is a derived one. */
    MPI_Datatype copy;
    MPI_Type_dup(MPI_CHAR, &copy);
    MPI_Error_class(MPI_Reduce_local(in, out, 1, copy, MPI_SUM), &class);
    CHECK(class == MPI_ERR_OP || class == MPI_ERR_TYPE);
    MPI_Type_free(&copy);
    MPI_Finalize();
    return 0;
}
