/* Functions of the program, and variables that all of the glue needs.
 *
 * A function of Fortran gets handles as integers, so a function of C stands before each. An
 * operation and an error handler have no argument of their own by which it could find the
 * program's function. So there is a stock of functions of C, one for each function of Fortran that
 * the program passes. The same function of Fortran always has the same one: a stock of 256 ends
 * only if the program has more functions.
 */
#include "glue.h"

#include <pthread.h>

struct sentinels bcsmpisentinels_, bcsmpisentinels, BCSMPISENTINELS;
struct texts bcsmpitexts_, bcsmpitexts, BCSMPITEXTS;
int bcs_fortran_true = 1;

typedef void function(void);

int bcs_fortran_fail(int class, const char *sentence)
{
    int code = class, is_initialized = 0, is_finalized = 0;
    PMPI_Initialized(&is_initialized);
    PMPI_Finalized(&is_finalized);
    if (!is_initialized || is_finalized)
        return class;
    if (PMPI_Add_error_code(class, &code) == MPI_SUCCESS)
        PMPI_Add_error_string(code, sentence);
    PMPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    return code;
}

int bcs_fortran_dimensions(MPI_Comm comm)
{
    int dimensions = 0;
    int code = PMPI_Cartdim_get(comm, &dimensions);
    return code == MPI_SUCCESS ? dimensions : 0;
}

static int neighbors(MPI_Comm comm, int *sources, int *destinations)
{
    int topology = MPI_UNDEFINED, rank = 0, weighted = 0;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        *sources = *destinations = 2 * bcs_fortran_dimensions(comm);
    } else if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, sources);
        *destinations = *sources;
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, sources, destinations, &weighted);
    }
    return topology;
}

static int members(MPI_Comm comm)
{
    int is_inter = 0, size = 0;
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

int bcs_fortran_senders(MPI_Comm comm, int is_neighborhood)
{
    int sources = 0, destinations = 0;
    if (!is_neighborhood)
        return members(comm);
    neighbors(comm, &sources, &destinations);
    return destinations;
}

int bcs_fortran_receivers(MPI_Comm comm, int is_neighborhood)
{
    int sources = 0, destinations = 0;
    if (!is_neighborhood)
        return members(comm);
    neighbors(comm, &sources, &destinations);
    return sources;
}

/* The stock: a number of octal digits for each function. */
#define MOST 256
#define EIGHT(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
#define SIXTY_FOUR(f, n) \
    EIGHT(f, n##0) EIGHT(f, n##1) EIGHT(f, n##2) EIGHT(f, n##3) EIGHT(f, n##4) EIGHT(f, n##5) EIGHT(f, n##6) EIGHT(f, n##7)
#define EACH(f) SIXTY_FOUR(f, 00) SIXTY_FOUR(f, 01) SIXTY_FOUR(f, 02) SIXTY_FOUR(f, 03)

struct stock {
    function *functions[MOST];
    int count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the number of a function in a stock, or -1. Entries never change once they are there. */
static int number(struct stock *stock, function *wanted)
{
    pthread_mutex_lock(&lock);
    int nth = 0;
    while (nth < stock->count && stock->functions[nth] != wanted)
        nth++;
    if (nth == stock->count && nth < MOST)
        stock->functions[stock->count++] = wanted;
    pthread_mutex_unlock(&lock);
    return nth < MOST ? nth : -1;
}

#define STOCK(name, type)                                            \
    type *bcs_fortran_##name(function *wanted)                       \
    {                                                                \
        int nth = number(&name##_stock, wanted);                     \
        return nth < 0 ? NULL : name##_functions[nth];               \
    }

static struct stock op_stock, op_c_stock;

#define OP(n)                                                                             \
    static void op_##n(void *in, void *inout, int *length, MPI_Datatype *datatype)        \
    {                                                                                     \
        int integer = of_Datatype(*datatype);                                             \
        ((void (*)(void *, void *, int *, int *))op_stock.functions[n])(in, inout, length, &integer); \
    }
EACH(OP)
#define OP_C(n)                                                                           \
    static void op_c_##n(void *in, void *inout, MPI_Count *length, MPI_Datatype *datatype) \
    {                                                                                     \
        int integer = of_Datatype(*datatype);                                             \
        ((void (*)(void *, void *, MPI_Count *, int *))op_c_stock.functions[n])(in, inout, length, &integer); \
    }
EACH(OP_C)

#define NAME(n) op_##n,
static MPI_User_function *const op_functions[MOST] = {EACH(NAME)};
#undef NAME
#define NAME(n) op_c_##n,
static MPI_User_function_c *const op_c_functions[MOST] = {EACH(NAME)};
#undef NAME

STOCK(op, MPI_User_function)
STOCK(op_c, MPI_User_function_c)

#define HANDLER(name, Kind, n)                                                            \
    static void name##_##n(MPI_##Kind *handle, int *code, ...)                            \
    {                                                                                     \
        int integer = of_##Kind(*handle);                                                 \
        ((void (*)(int *, int *))name##_stock.functions[n])(&integer, code);              \
    }

static struct stock comm_errhandler_stock, file_errhandler_stock, win_errhandler_stock, session_errhandler_stock;

#define COMM(n) HANDLER(comm_errhandler, Comm, n)
#define FILE_(n) HANDLER(file_errhandler, File, n)
#define WIN(n) HANDLER(win_errhandler, Win, n)
#define SESSION(n) HANDLER(session_errhandler, Session, n)
EACH(COMM)
EACH(FILE_)
EACH(WIN)
EACH(SESSION)

#define NAME(n) comm_errhandler_##n,
static MPI_Comm_errhandler_function *const comm_errhandler_functions[MOST] = {EACH(NAME)};
#undef NAME
#define NAME(n) file_errhandler_##n,
static MPI_File_errhandler_function *const file_errhandler_functions[MOST] = {EACH(NAME)};
#undef NAME
#define NAME(n) win_errhandler_##n,
static MPI_Win_errhandler_function *const win_errhandler_functions[MOST] = {EACH(NAME)};
#undef NAME
#define NAME(n) session_errhandler_##n,
static MPI_Session_errhandler_function *const session_errhandler_functions[MOST] = {EACH(NAME)};
#undef NAME

STOCK(comm_errhandler, MPI_Comm_errhandler_function)
STOCK(file_errhandler, MPI_File_errhandler_function)
STOCK(win_errhandler, MPI_Win_errhandler_function)
STOCK(session_errhandler, MPI_Session_errhandler_function)

/* A value that Fortran has attached. C gets its address. An address in no list is a value of C. */
struct cell {
    intptr_t value;
    struct cell *next;
};

#define LISTS 256
static struct cell *cells[LISTS];

static struct cell **list_of(const void *cell)
{
    return &cells[(uintptr_t)cell / sizeof(struct cell) % LISTS];
}

static struct cell **find(void *value)
{
    struct cell **at = list_of(value);
    while (*at && (void *)*at != value)
        at = &(*at)->next;
    return at;
}

void *bcs_fortran_keep(intptr_t value)
{
    struct cell *cell = malloc(sizeof(*cell));
    if (!cell)
        abort();
    cell->value = value;
    pthread_mutex_lock(&lock);
    struct cell **list = list_of(cell);
    cell->next = *list;
    *list = cell;
    pthread_mutex_unlock(&lock);
    return cell;
}

static int look(void *value, intptr_t *kept, int remove)
{
    pthread_mutex_lock(&lock);
    struct cell **at = find(value), *cell = *at;
    if (cell) {
        *kept = cell->value;
        if (remove)
            *at = cell->next;
    }
    pthread_mutex_unlock(&lock);
    if (cell && remove)
        free(cell);
    return cell != NULL;
}

intptr_t bcs_fortran_kept(void *value)
{
    intptr_t kept = (intptr_t)value;
    look(value, &kept, 0);
    return kept;
}

/* The functions of a key. They are kept for ever: a key exists as long as something is attached by
 * it. Keys that are made alike share them. */
struct key {
    function *copy;
    function *delete;
    intptr_t extra_state;
    int is_old;
    struct key *next;
};

static struct key *keys;

struct key *bcs_fortran_key(function *copy, function *delete, intptr_t extra_state, int is_old)
{
    pthread_mutex_lock(&lock);
    struct key *key = keys;
    while (key && !(key->copy == copy && key->delete == delete && key->extra_state == extra_state && key->is_old == is_old))
        key = key->next;
    if (!key) {
        key = malloc(sizeof(*key));
        if (!key)
            abort();
        *key = (struct key){copy, delete, extra_state, is_old, keys};
        keys = key;
    }
    pthread_mutex_unlock(&lock);
    return key;
}

typedef void copy_function(int *object, int *keyval, intptr_t *extra, intptr_t *in, intptr_t *out, int *flag, int *ierror);
typedef void old_copy_function(int *object, int *keyval, int *extra, int *in, int *out, int *flag, int *ierror);
typedef void delete_function(int *object, int *keyval, intptr_t *value, intptr_t *extra, int *ierror);
typedef void old_delete_function(int *object, int *keyval, int *value, int *extra, int *ierror);

static int copy_attribute(int object, int keyval, struct key *key, void *value, void *copied, int *flag)
{
    intptr_t in = (intptr_t)value, out = 0, extra = key->extra_state;
    int is_ours = look(value, &in, 0), code = MPI_SUCCESS, logical = 0;
    if (key->is_old) {
        int old_in = (int)in, old_out = 0, old_extra = (int)extra;
        ((old_copy_function *)key->copy)(&object, &keyval, &old_extra, &old_in, &old_out, &logical, &code);
        out = old_out;
    } else {
        ((copy_function *)key->copy)(&object, &keyval, &extra, &in, &out, &logical, &code);
    }
    *flag = logical != 0;
    if (code == MPI_SUCCESS && logical)
        *(void **)copied = is_ours ? bcs_fortran_keep(out) : (void *)out;
    return code;
}

static int delete_attribute(int object, int keyval, void *value, struct key *key)
{
    intptr_t kept = (intptr_t)value, extra = key->extra_state;
    int code = MPI_SUCCESS;
    look(value, &kept, 0);
    if (key->is_old) {
        int old_value = (int)kept, old_extra = (int)extra;
        ((old_delete_function *)key->delete)(&object, &keyval, &old_value, &old_extra, &code);
    } else {
        ((delete_function *)key->delete)(&object, &keyval, &kept, &extra, &code);
    }
    if (code == MPI_SUCCESS)
        look(value, &kept, 1);
    return code;
}

#define ATTRIBUTES(name, Kind)                                                                     \
    int bcs_fortran_##name##_copy(MPI_##Kind object, int keyval, void *extra, void *in, void *out, int *flag) \
    {                                                                                              \
        return copy_attribute(of_##Kind(object), keyval, extra, in, out, flag);                    \
    }                                                                                              \
    int bcs_fortran_##name##_delete(MPI_##Kind object, int keyval, void *value, void *extra)       \
    {                                                                                              \
        return delete_attribute(of_##Kind(object), keyval, value, extra);                          \
    }
ATTRIBUTES(comm, Comm)
ATTRIBUTES(type, Datatype)
ATTRIBUTES(win, Win)

/* A generalized request, until its free_fn is called. Its functions get the program's own variable,
 * as with other implementations: programs let free_fn change it. */
struct generalized {
    function *query;
    function *free;
    function *cancel;
    intptr_t *extra_state;
};

struct generalized *bcs_fortran_generalized(function *query, function *free, function *cancel, intptr_t *extra_state)
{
    struct generalized *request = malloc(sizeof(*request));
    if (!request)
        abort();
    *request = (struct generalized){query, free, cancel, extra_state};
    return request;
}

int bcs_fortran_query(void *extra, MPI_Status *status)
{
    struct generalized *request = extra;
    int code = MPI_SUCCESS;
    ((void (*)(intptr_t *, int *, int *))request->query)(request->extra_state, (int *)status, &code);
    return code;
}

int bcs_fortran_free(void *extra)
{
    struct generalized *request = extra;
    int code = MPI_SUCCESS;
    ((void (*)(intptr_t *, int *))request->free)(request->extra_state, &code);
    free(request);
    return code;
}

int bcs_fortran_cancel(void *extra, int complete)
{
    struct generalized *request = extra;
    int code = MPI_SUCCESS, logical = logical_of(complete);
    ((void (*)(intptr_t *, int *, int *))request->cancel)(request->extra_state, &logical, &code);
    return code;
}
