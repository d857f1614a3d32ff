/* Constants among arguments and results, functions that MPI removed, and those of MPICH alone. */
#include <mpi.h>
#include <stddef.h>
#include <string.h>

#include "../c/check.h"

int MPI_Type_struct(int, int *, MPI_Aint *, MPI_Datatype *, MPI_Datatype *);
int MPI_Type_hvector(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *);
int MPI_Type_extent(MPI_Datatype, MPI_Aint *);
int MPI_Type_lb(MPI_Datatype, MPI_Aint *);
int MPI_Type_ub(MPI_Datatype, MPI_Aint *);
int MPI_Address(void *, MPI_Aint *);
int MPI_Errhandler_set(MPI_Comm, MPI_Errhandler);
int MPI_Errhandler_get(MPI_Comm, MPI_Errhandler *);
int MPIX_Query_cuda_support(void);

static void communicators(int rank, int size) {
    MPI_Comm copy, node, line, none;
    MPI_Group world, one;
    int result, ranks[3] = {0, MPI_PROC_NULL, size - 1}, there[3], dims = size, periods = 0, from, to;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(copy, copy, &result);
    CHECK(result == MPI_IDENT);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(copy)) == copy);
    MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &result);
    CHECK(result >= 1 && result <= size);
    MPI_Comm_split_type(copy, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none);
    CHECK(none == MPI_COMM_NULL);
    MPI_Comm_free(&node);
    MPI_Comm_group(copy, &world);
    MPI_Group_incl(world, 1, ranks, &one);
    MPI_Group_translate_ranks(world, 3, ranks, one, there);
    CHECK(there[0] == 0 && there[1] == MPI_PROC_NULL && there[2] == (size == 1 ? 0 : MPI_UNDEFINED));
    MPI_Group_compare(world, one, &result);
    CHECK(result == (size == 1 ? MPI_IDENT : MPI_UNEQUAL));
    MPI_Group_free(&world), MPI_Group_free(&one);
    MPI_Topo_test(copy, &result);
    CHECK(result == MPI_UNDEFINED);
    MPI_Cart_create(copy, 1, &dims, &periods, 0, &line);
    MPI_Topo_test(line, &result);
    CHECK(result == MPI_CART);
    MPI_Cart_shift(line, 0, 1, &from, &to);
    CHECK(from == (rank == 0 ? MPI_PROC_NULL : rank - 1) && to == (rank == size - 1 ? MPI_PROC_NULL : rank + 1));
    MPI_Comm_free(&line), MPI_Comm_free(&copy);
    MPI_Comm_get_parent(&copy);
    CHECK(copy == MPI_COMM_NULL);
    MPI_Query_thread(&result);
    CHECK(result == MPI_THREAD_MULTIPLE);
}

static void contents(void) {
    int sizes[2] = {4, 6}, parts[2] = {2, 3}, starts[2] = {1, 2}, counts[4], integers[16];
    int distributions[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    int grid[2] = {1, 1};
    MPI_Aint addresses[4];
    MPI_Datatype made, of[4];
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &made);
    MPI_Type_get_envelope(made, &counts[0], &counts[1], &counts[2], &counts[3]);
    CHECK(counts[0] == 8 && counts[2] == 1 && counts[3] == MPI_COMBINER_SUBARRAY);
    MPI_Type_get_contents(made, 16, 4, 4, integers, addresses, of);
    CHECK(integers[0] == 2 && integers[2] == 6 && integers[7] == MPI_ORDER_FORTRAN && of[0] == MPI_DOUBLE);
    MPI_Type_free(&made);
    MPI_Type_create_darray(1, 0, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT, &made);
    MPI_Type_get_envelope(made, &counts[0], &counts[1], &counts[2], &counts[3]);
    CHECK(counts[0] == 12 && counts[3] == MPI_COMBINER_DARRAY);
    MPI_Type_get_contents(made, 16, 4, 4, integers, addresses, of);
    CHECK(integers[5] == MPI_DISTRIBUTE_BLOCK && integers[6] == MPI_DISTRIBUTE_CYCLIC);
    CHECK(integers[7] == MPI_DISTRIBUTE_DFLT_DARG && integers[8] == 2 && integers[11] == MPI_ORDER_C);
    MPI_Type_free(&made);
    MPI_Type_get_envelope(MPI_FLOAT_INT, &counts[0], &counts[1], &counts[2], &counts[3]);
    CHECK(counts[3] == MPI_COMBINER_NAMED);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &made);
    CHECK(made == MPI_REAL8);
}

static void removed(void) {
    struct pair {
        double value;
        char letter;
    } pairs[2];
    int lengths[3] = {1, 1, 1};
    MPI_Aint places[3] = {0, offsetof(struct pair, letter), 64}, extent, low, high;
    MPI_Datatype kinds[3] = {MPI_DOUBLE, MPI_CHAR, (MPI_Datatype)0x4c000011 /* MPI_UB */}, made;
    MPI_Type_struct(3, lengths, places, kinds, &made);
    MPI_Type_extent(made, &extent);
    MPI_Type_lb(made, &low);
    MPI_Type_ub(made, &high);
    CHECK(extent == 64 && low == 0 && high == 64);
    MPI_Type_free(&made);
    MPI_Type_hvector(2, 1, 32, MPI_INT, &made);
    MPI_Type_extent(made, &extent);
    CHECK(extent == 36);
    MPI_Type_free(&made);
    MPI_Address(&pairs[0], &low);
    MPI_Address(&pairs[1], &high);
    CHECK(high - low == sizeof(struct pair));
    MPI_Errhandler handler;
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Errhandler_get(MPI_COMM_SELF, &handler);
    CHECK(handler == MPI_ERRORS_RETURN);
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    CHECK(MPIX_Query_cuda_support() == 0);
}

static void strings(void) {
    char name[MPI_MAX_PROCESSOR_NAME], key[MPI_MAX_INFO_KEY + 1], value[8], version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, flag;
    MPI_Info info, copy;
    MPI_Get_processor_name(name, &length);
    CHECK(length > 0 && (int)strlen(name) == length);
    MPI_Get_library_version(version, &length);
    CHECK(strncmp(version, "BCS-MPI", 7) == 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "a key", "value");
    MPI_Info_dup(info, &copy);
    MPI_Info_get_nthkey(copy, 0, key);
    MPI_Info_get(copy, key, 7, value, &flag);
    CHECK(flag && strcmp(key, "a key") == 0 && strcmp(value, "value") == 0);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(copy)) == copy);
    MPI_Info_free(&info), MPI_Info_free(&copy);
    CHECK(info == MPI_INFO_NULL);
}

static void tools(void) {
    int provided, count, verbosity, bind, scope, length = 64;
    char name[64];
    MPI_Datatype datatype;
    MPI_T_enum enumeration;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    MPI_T_cvar_get_num(&count);
    MPI_T_cvar_get_info(0, name, &length, &verbosity, &datatype, &enumeration, NULL, NULL, &bind, &scope);
    CHECK(count > 0 && bind == MPI_T_BIND_NO_OBJECT && scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
    CHECK(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    MPI_T_finalize();
}

int main(void) {
    int rank, size, provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    communicators(rank, size);
    contents();
    removed();
    strings();
    tools();
    MPI_Finalize();
    return 0;
}
