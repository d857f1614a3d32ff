/* What all sources of the glue share: sentinels, handles, logicals and texts of Fortran.
 *
 * The glue is between the procedures that a Fortran program calls and the functions of mpi.h. It
 * knows nothing of BCS-MPI but one optional function, so it works over every library of the
 * standard ABI.
 */
#ifndef BCS_FORTRAN_GLUE_H
#define BCS_FORTRAN_GLUE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* Tells the library where the program called the glue. Without it, reports name the glue's own
 * functions. Another library of the ABI does not have it. */
__attribute__((weak)) void bcs_outer_caller(const void *address);

#define ENTER                                                    \
    do {                                                         \
        if (bcs_outer_caller)                                    \
            bcs_outer_caller(__builtin_return_address(0));       \
    } while (0)

/* Variables of Fortran that stand for a special argument, as they lie in their COMMON block. The
 * program's own block takes the place of the library's, because the names are the same. A compiler
 * may give the name one of three forms. */
struct sentinels {
    int bottom;
    int in_place;
    int buffer_automatic;
    int unweighted;
    int weights_empty;
    int errcodes_ignore;
    int status_ignore[MPI_F_STATUS_SIZE];
    int statuses_ignore[MPI_F_STATUS_SIZE];
};

struct texts {
    char argv_null;
    char argvs_null;
};

extern struct sentinels bcsmpisentinels_, bcsmpisentinels, BCSMPISENTINELS;
extern struct texts bcsmpitexts_, bcsmpitexts, BCSMPITEXTS;

/* A sentinel is known by its offset in the block. */
#define OFFSET(name) ((ptrdiff_t)offsetof(struct sentinels, name))

/* Returns the offset of a sentinel in its block, or -1. */
static inline ptrdiff_t sentinel(const void *place)
{
    const struct sentinels *blocks[] = {&bcsmpisentinels_, &bcsmpisentinels, &BCSMPISENTINELS};
    for (int form = 0; form < 3; form++) {
        uintptr_t offset = (uintptr_t)place - (uintptr_t)blocks[form];
        if (RARELY(offset < sizeof(struct sentinels)))
            return (ptrdiff_t)offset;
    }
    return -1;
}

static inline int is_no_text(const void *place)
{
    const struct texts *blocks[] = {&bcsmpitexts_, &bcsmpitexts, &BCSMPITEXTS};
    for (int form = 0; form < 3; form++)
        if ((uintptr_t)place - (uintptr_t)blocks[form] < sizeof(struct texts))
            return 1;
    return 0;
}

/* Returns the address that a buffer has in C. */
static inline void *address_of(void *place)
{
    ptrdiff_t offset = sentinel(place);
    if (!RARELY(offset >= 0))
        return place;
    if (offset == OFFSET(bottom))
        return MPI_BOTTOM;
    if (offset == OFFSET(in_place))
        return MPI_IN_PLACE;
    if (offset == OFFSET(buffer_automatic))
        return MPI_BUFFER_AUTOMATIC;
    return place;
}

static inline MPI_Status *status_of(int *place)
{
    return RARELY(sentinel(place) == OFFSET(status_ignore)) ? MPI_STATUS_IGNORE : (MPI_Status *)place;
}

static inline MPI_Status *statuses_of(int *place)
{
    return RARELY(sentinel(place) == OFFSET(statuses_ignore)) ? MPI_STATUSES_IGNORE : (MPI_Status *)place;
}

static inline int *weights_of(int *place)
{
    ptrdiff_t offset = sentinel(place);
    if (RARELY(offset == OFFSET(unweighted)))
        return MPI_UNWEIGHTED;
    return RARELY(offset == OFFSET(weights_empty)) ? MPI_WEIGHTS_EMPTY : place;
}

static inline int *codes_of(int *place)
{
    return RARELY(sentinel(place) == OFFSET(errcodes_ignore)) ? MPI_ERRCODES_IGNORE : place;
}

/* The integer of a predefined handle is its number (20.3.3), so no function is asked for it. */
#define FIRST_OWN 4096u

#define HANDLE(Kind, Name)                                                                   \
    static inline MPI_##Kind Kind##_of(int integer)                                          \
    {                                                                                        \
        return (unsigned)integer < FIRST_OWN ? (MPI_##Kind)(intptr_t)integer                 \
                                             : PMPI_##Name##_fromint(integer);               \
    }                                                                                        \
    static inline int of_##Kind(MPI_##Kind handle)                                           \
    {                                                                                        \
        return (uintptr_t)handle < FIRST_OWN ? (int)(intptr_t)handle : PMPI_##Name##_toint(handle); \
    }                                                                                        \
    static inline void Kind##s_of(MPI_##Kind *handles, const int *integers, int count)       \
    {                                                                                        \
        for (int nth = 0; nth < count; nth++)                                                \
            handles[nth] = Kind##_of(integers[nth]);                                         \
    }                                                                                        \
    static inline void of_##Kind##s(int *integers, const MPI_##Kind *handles, int count)     \
    {                                                                                        \
        for (int nth = 0; nth < count; nth++)                                                \
            integers[nth] = of_##Kind(handles[nth]);                                         \
    }

HANDLE(Comm, Comm)
HANDLE(Datatype, Type)
HANDLE(Errhandler, Errhandler)
HANDLE(File, File)
HANDLE(Group, Group)
HANDLE(Info, Info)
HANDLE(Message, Message)
HANDLE(Op, Op)
HANDLE(Request, Request)
HANDLE(Session, Session)
HANDLE(Win, Win)

/* Markers of the bounds of a datatype, which MPI 3 removed (constants.rs). The library knows
 * nothing of them. */
enum { MARKER_LB = -1, MARKER_UB = -2 };

static inline int is_marker(int datatype)
{
    return datatype == MARKER_LB || datatype == MARKER_UB;
}

/* An array of this many handles needs no memory of the heap. */
#define FEW 64

#define ARRAY_OF(type, name, count)                                                          \
    int name##_count = (count) > 0 ? (int)(count) : 0;                                       \
    type name##_few[FEW];                                                                    \
    type *name##_c = name##_count <= FEW ? name##_few                                        \
                                         : malloc(sizeof(type) * (size_t)name##_count);      \
    if (RARELY(!name##_c))                                                                   \
        abort()

#define FREE_ARRAY(name)            \
    do {                            \
        if (name##_c != name##_few) \
            free(name##_c);         \
    } while (0)

/* The value of .true.; .false. is 0. The modules of each compiler have its own value. */
extern int bcs_fortran_true;

static inline int logical_of(int flag)
{
    return flag ? bcs_fortran_true : 0;
}

/* Returns the length of a text without the blanks at its end. */
static inline size_t trimmed(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return length;
}

/* Makes a text of C of one of Fortran, without the blanks around it. */
#define TEXT_IN(name)                                                            \
    size_t name##_end = trimmed(name, name##_length), name##_start = 0;          \
    while (name##_start < name##_end && name[name##_start] == ' ')               \
        name##_start++;                                                          \
    char name##_c[name##_end - name##_start + 1];                                \
    memcpy(name##_c, name + name##_start, name##_end - name##_start);            \
    name##_c[name##_end - name##_start] = 0

/* Gives a text of C to Fortran: cut off, or filled with blanks. */
static inline void give_text(char *to, size_t length, const char *text)
{
    size_t has = strlen(text);
    if (has > length)
        has = length;
    memcpy(to, text, has);
    memset(to + has, ' ', length - has);
}

/* Gives a procedure another name. */
#define ALIAS(procedure, name) extern __typeof(procedure) name __attribute__((alias(#procedure)));

/* Returns a code, if it is wanted. The code may be a call. */
#define DONE(code)            \
    do {                      \
        int done = (code);    \
        if (ierror)           \
            *ierror = done;   \
    } while (0)

/* Fails with a sentence, by the handler of MPI_COMM_SELF. */
int bcs_fortran_fail(int class, const char *sentence);

/* Lengths of arrays that depend on a communicator. */
int bcs_fortran_dimensions(MPI_Comm comm);
int bcs_fortran_senders(MPI_Comm comm, int is_neighborhood);
int bcs_fortran_receivers(MPI_Comm comm, int is_neighborhood);

/* Functions of the program behind functions of C. They are NULL if too many exist. */
MPI_User_function *bcs_fortran_op(void (*function)(void));
MPI_User_function_c *bcs_fortran_op_c(void (*function)(void));
MPI_Comm_errhandler_function *bcs_fortran_comm_errhandler(void (*function)(void));
MPI_File_errhandler_function *bcs_fortran_file_errhandler(void (*function)(void));
MPI_Win_errhandler_function *bcs_fortran_win_errhandler(void (*function)(void));
MPI_Session_errhandler_function *bcs_fortran_session_errhandler(void (*function)(void));

/* Attributes that Fortran sets (19.3.7): C gets the address of the value. */
void *bcs_fortran_keep(intptr_t value);
intptr_t bcs_fortran_kept(void *value);

/* What the functions of a key, and of a generalized request, get. */
struct key;
struct key *bcs_fortran_key(void (*copy)(void), void (*delete)(void), intptr_t extra_state, int is_old);
MPI_Comm_copy_attr_function bcs_fortran_comm_copy;
MPI_Comm_delete_attr_function bcs_fortran_comm_delete;
MPI_Type_copy_attr_function bcs_fortran_type_copy;
MPI_Type_delete_attr_function bcs_fortran_type_delete;
MPI_Win_copy_attr_function bcs_fortran_win_copy;
MPI_Win_delete_attr_function bcs_fortran_win_delete;

struct generalized;
struct generalized *bcs_fortran_generalized(void (*query)(void), void (*free)(void), void (*cancel)(void), intptr_t *extra_state);
MPI_Grequest_query_function bcs_fortran_query;
MPI_Grequest_free_function bcs_fortran_free;
MPI_Grequest_cancel_function bcs_fortran_cancel;

#endif
