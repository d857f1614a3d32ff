/* Arguments for functions of MPI at random: handles that stand for something, that stood for something, that stand for
   something else, and that never stood for anything; numbers at the ends of their ranges; memory that is there, and none.
   What a program must not do at all is not done: a buffer has room for what it is said to have, and a callback is one. */
#include <limits.h>
#include <mpi.h>
#ifndef MPICH
#include <bcs.h>
#endif
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 24, ROOM = 1 << 22, LONGEST = 4096, LIST = 64 };

static uint64_t state;

/* splitmix64 */
static uint64_t next(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static unsigned below(unsigned end)
{
    return next() % end;
}

static int now_and_then(void)
{
    return below(16) == 0;
}

/* Memory: what data are sent from and received to, and what the program gives away. */
static char memory[2][ROOM], given[ROOM], text_room[65536];

static void *data(void)
{
    if (now_and_then())
        return below(2) ? NULL : below(2) ? MPI_IN_PLACE : MPI_BOTTOM;
    return &memory[below(2)][ROOM / 2];
}

static void *address(void)
{
    return now_and_then() ? NULL : &memory[0][8 * below(8)];
}

static void *attached(void)
{
    return below(4) ? given : NULL;
}

static void *bases[SLOTS];

static void *base_place(void)
{
    return now_and_then() ? NULL : &bases[below(SLOTS)];
}

static void *base(void)
{
    void **slot = &bases[below(SLOTS)], *is = *slot;
    *slot = NULL;
    return is;
}

static char *text_place(void)
{
    return now_and_then() ? NULL : text_room;
}

static const char *text(void)
{
    static char longer[5000];
    static const char *const texts[] = {"", "a", "mpi://WORLD", "mpi://SELF", "external32", "mpi_memory_alloc_kinds",
                                        "mpi_assert_no_any_tag", "\xff\xfe\x80 no text", "true", "bcs_slices",
                                        "bcs_strobe", "bcs_beat"};
    memset(longer, 'x', sizeof longer - 1);
    unsigned which = below(sizeof texts / sizeof *texts + 2);
    if (which < sizeof texts / sizeof *texts)
        return texts[which];
    return which % 2 ? longer : NULL;
}

/* Numbers. */
static int few(void)
{
    static const int some[] = {0, 1, 1, 1, 2, 3, 8, -1};
    return some[below(8)];
}

static int any(void)
{
    static const int some[] = {0, 0, 0, 0, 1, -1, -2, -3, INT_MAX, INT_MIN};
    return below(4) ? some[below(10)] : (int)next();
}

/* Indices of what a tool may look at. */
static int index_of_some(void)
{
    return now_and_then() ? any() : (int)below(40) - 1;
}

static int var_class(void)
{
    return below(2) ? MPI_T_PVAR_CLASS_COUNTER : (int)below(12);
}

static long distance(void)
{
    return (long)below(129) - 64;
}

static int *few_ints(void)
{
    static int lists[4][LIST];
    static unsigned turn;
    int *list = lists[turn++ % 4];
    if (now_and_then())
        return NULL;
    for (int i = 0; i < LIST; i++)
        list[i] = below(8) ? (int)below(3) : few();
    return list;
}

static MPI_Count *few_counts(void)
{
    static MPI_Count lists[4][LIST];
    static unsigned turn;
    MPI_Count *list = lists[turn++ % 4];
    if (now_and_then())
        return NULL;
    for (int i = 0; i < LIST; i++)
        list[i] = below(8) ? (MPI_Count)below(3) : few();
    return list;
}

static void *distances(void)
{
    static MPI_Aint lists[4][LIST];
    static unsigned turn;
    MPI_Aint *list = lists[turn++ % 4];
    if (now_and_then())
        return NULL;
    for (int i = 0; i < LIST; i++)
        list[i] = distance();
    return list;
}

static int *int_place(void)
{
    static int places[8];
    int *place = &places[below(8)];
    *place = few();
    return now_and_then() ? NULL : place;
}

static void *wide_place(void)
{
    static int64_t places[8];
    int64_t *place = &places[below(8)];
    *place = few();
    return now_and_then() ? NULL : place;
}

static int keyvals[SLOTS];

static int *keyval_place(void)
{
    return now_and_then() ? NULL : &keyvals[below(SLOTS)];
}

static int keyval(void)
{
    return below(4) ? keyvals[below(SLOTS)] : any();
}

static MPI_Status *statuses(void)
{
    static MPI_Status list[LIST];
    if (now_and_then())
        return MPI_STATUS_IGNORE;
    if (below(4) == 0)
        for (size_t i = 0; i < sizeof list / 8; i++)
            ((uint64_t *)list)[i] = next();
    return list;
}

/* Handles. */
static uintptr_t every_kind[15 * SLOTS];
static unsigned kinds;

/* One that stands for nothing of its kind, or for nothing. */
static uintptr_t odd(void)
{
    uintptr_t of = every_kind[below(kinds * SLOTS)];
    switch (below(5)) {
    case 0:
        return next();
    case 1:
        return below(0x400);
    case 2:
        return of ^ (uintptr_t)1 << below(64);
    case 3:
        return of + below(64) - 32;
    default:
        return of;
    }
}

/* One that stands for nothing whatever it is taken for. */
static uintptr_t nothing(void)
{
#ifdef MPICH /* A handle is an int, whose highest bits are those of no kind. */
    return (next() & 0x03ffffff) | 0x30000000;
#else
    return next() | (uintptr_t)1 << 63;
#endif
}

#define HANDLES(type, name, ...)                                                                                       \
    static type name##_pool[SLOTS];                                                                                    \
    static type name(void)                                                                                             \
    {                                                                                                                  \
        static const type predefined[] = {__VA_ARGS__};                                                                \
        if (now_and_then())                                                                                            \
            return (type)odd();                                                                                        \
        if (below(4) == 0)                                                                                             \
            return predefined[below(sizeof predefined / sizeof *predefined)];                                          \
        return name##_pool[below(SLOTS)];                                                                              \
    }                                                                                                                  \
    static type *name##_place(void)                                                                                    \
    {                                                                                                                  \
        type *place = &name##_pool[below(SLOTS)];                                                                      \
        if (now_and_then())                                                                                            \
            return NULL;                                                                                               \
        if (now_and_then())                                                                                            \
            *place = (type)odd();                                                                                      \
        return place;                                                                                                  \
    }                                                                                                                  \
    static type *name##_list(void)                                                                                     \
    {                                                                                                                  \
        static type list[LIST];                                                                                        \
        if (now_and_then())                                                                                            \
            return NULL;                                                                                               \
        for (int i = 0; i < LIST; i++)                                                                                 \
            list[i] = name();                                                                                          \
        return list;                                                                                                   \
    }                                                                                                                  \
    static type no_##name(void)                                                                                        \
    {                                                                                                                  \
        return (type)nothing();                                                                                        \
    }                                                                                                                  \
    static type *no_##name##_list(void)                                                                                \
    {                                                                                                                  \
        static type list[LIST];                                                                                        \
        for (int i = 0; i < LIST; i++)                                                                                 \
            list[i] = no_##name();                                                                                     \
        return list;                                                                                                   \
    }                                                                                                                  \
    static void remember_##name(void)                                                                                  \
    {                                                                                                                  \
        memcpy(&every_kind[kinds++ * SLOTS], name##_pool, sizeof name##_pool);                                         \
        (void)name##_list, (void)no_##name##_list, (void)no_##name, (void)name##_place;                                \
    }

HANDLES(MPI_Comm, comm, MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL)
HANDLES(MPI_Datatype, datatype, MPI_INT, MPI_DOUBLE, MPI_BYTE, MPI_LONG, MPI_DOUBLE_INT, MPI_C_BOOL, MPI_DATATYPE_NULL)
HANDLES(MPI_Group, group, MPI_GROUP_EMPTY, MPI_GROUP_NULL)
HANDLES(MPI_Info, info, MPI_INFO_NULL, MPI_INFO_ENV)
HANDLES(MPI_Message, message, MPI_MESSAGE_NULL, MPI_MESSAGE_NO_PROC)
HANDLES(MPI_Op, op, MPI_SUM, MPI_MAXLOC, MPI_BXOR, MPI_LAND, MPI_REPLACE, MPI_OP_NULL)
HANDLES(MPI_Request, request, MPI_REQUEST_NULL)
HANDLES(MPI_Session, session, MPI_SESSION_NULL)
HANDLES(MPI_Errhandler, raw_errhandler, MPI_ERRORS_RETURN, MPI_ERRHANDLER_NULL)
#ifndef MPICH
HANDLES(BCS_Request, posted, BCS_REQUEST_NULL)
#endif
HANDLES(MPI_Win, win, MPI_WIN_NULL)
HANDLES(MPI_File, file, MPI_FILE_NULL)
HANDLES(MPI_T_enum, t_enum, MPI_T_ENUM_NULL)
HANDLES(MPI_T_cvar_handle, t_cvar_handle, MPI_T_CVAR_HANDLE_NULL)
HANDLES(MPI_T_pvar_handle, t_pvar_handle, MPI_T_PVAR_HANDLE_NULL, (MPI_T_pvar_handle)1 /* all of them */)
HANDLES(MPI_T_pvar_session, t_pvar_session, MPI_T_PVAR_SESSION_NULL)
HANDLES(MPI_T_event_registration, t_event_registration, NULL)
HANDLES(MPI_T_event_instance, t_event_instance, NULL)

/* One that does not end the program. */
static MPI_Errhandler errhandler(void)
{
    MPI_Errhandler is = raw_errhandler();
    return is == MPI_ERRORS_ARE_FATAL || is == MPI_ERRORS_ABORT ? MPI_ERRORS_RETURN : is;
}

static MPI_Errhandler *errhandler_place(void)
{
    return raw_errhandler_place();
}

/* Callbacks. */
static int copies(MPI_Comm of, int key, void *extra, void *in, void *out, int *flag)
{
    (void)of, (void)key, (void)extra;
    *(void **)out = in;
    *flag = below(2);
    return below(4) ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int copies_of_type(MPI_Datatype of, int key, void *extra, void *in, void *out, int *flag)
{
    (void)of;
    return copies(MPI_COMM_NULL, key, extra, in, out, flag);
}

static int deletes(MPI_Comm of, int key, void *value, void *extra)
{
    (void)of, (void)key, (void)value, (void)extra;
    return below(8) ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int deletes_of_type(MPI_Datatype of, int key, void *value, void *extra)
{
    (void)of;
    return deletes(MPI_COMM_NULL, key, value, extra);
}

static void handles_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static void handles_session(MPI_Session *session, int *code, ...)
{
    (void)session, (void)code;
}

static void combines(void *in, void *inout, int *len, MPI_Datatype *of)
{
    (void)in, (void)inout, (void)len, (void)of;
}

static void combines_many(void *in, void *inout, MPI_Count *len, MPI_Datatype *of)
{
    (void)in, (void)inout, (void)len, (void)of;
}

static int asked(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, few());
    return MPI_SUCCESS;
}

static int freed(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancels(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void happens(MPI_T_event_instance event, MPI_T_event_registration of, MPI_T_cb_safety safety, void *data)
{
    (void)event, (void)of, (void)safety, (void)data;
}

static void is_freed(MPI_T_event_registration of, MPI_T_cb_safety safety, void *data)
{
    (void)of, (void)safety, (void)data;
}

static void is_dropped(MPI_Count count, MPI_T_event_registration of, int source, MPI_T_cb_safety safety, void *data)
{
    (void)count, (void)of, (void)source, (void)safety, (void)data;
}

#define PERHAPS(callback) (now_and_then() ? NULL : (callback))

/* Types that are too large for the memory here are given up. */
static void give_up_large_types(void)
{
    for (int i = 0; i < SLOTS; i++) {
        MPI_Count lower, extent, true_lower, true_extent;
        if (MPI_Type_get_extent_x(datatype_pool[i], &lower, &extent) != MPI_SUCCESS)
            continue;
        MPI_Type_get_true_extent_x(datatype_pool[i], &true_lower, &true_extent);
        MPI_Count furthest = true_lower < 0 ? -true_lower : true_lower + true_extent;
        if (furthest > LONGEST || extent > LONGEST || extent < -LONGEST)
            if (MPI_Type_free(&datatype_pool[i]) != MPI_SUCCESS)
                datatype_pool[i] = MPI_DATATYPE_NULL;
    }
}

/* A tool begins, and its handles with it. Now and then all that it had is over. */
static void renew_tool(void)
{
    int provided;
    if (now_and_then())
        while (MPI_T_finalize() == MPI_SUCCESS)
            ;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_pvar_session session = t_pvar_session_pool[0];
    int number, cvars, pvars;
    MPI_T_cvar_get_num(&cvars);
    MPI_T_pvar_get_num(&pvars);
    if (MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_T_ERR_INVALID_SESSION)
        MPI_T_pvar_session_create(&session);
    for (int i = 0; i < SLOTS; i++) {
        t_pvar_session_pool[i] = session;
        if (below(4))
            continue;
        MPI_T_pvar_handle_alloc(session, below(pvars), NULL, &t_pvar_handle_pool[i], &number);
        MPI_T_cvar_handle_alloc(below(cvars), NULL, &t_cvar_handle_pool[i], &number);
        MPI_T_cvar_get_info(below(cvars), NULL, NULL, NULL, NULL, &t_enum_pool[i], NULL, NULL, NULL, NULL);
    }
}

/* What a program has to begin with, and gets again now and then: random calls lose more than they make. */
static void renew(unsigned one_of)
{
    renew_tool();
    for (int i = 0; i < SLOTS; i++) {
        if (below(one_of))
            continue;
        comm_pool[i] = i % 2 ? MPI_COMM_WORLD : MPI_COMM_SELF;
        datatype_pool[i] = i % 4 ? MPI_INT : MPI_DOUBLE;
        op_pool[i] = MPI_SUM;
        request_pool[i] = MPI_REQUEST_NULL;
        raw_errhandler_pool[i] = MPI_ERRORS_RETURN;
        MPI_Comm_group(MPI_COMM_WORLD, &group_pool[i]);
    }
}

static void begin(void)
{
    renew(1);
    for (int i = 0; i < SLOTS; i++) {
        MPI_Info_create(&info_pool[i]);
        MPI_Comm_create_keyval(copies, deletes, &keyvals[i], NULL);
        message_pool[i] = MPI_MESSAGE_NULL;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session_pool[i]);
    }
}

static void remember_handles(void)
{
    kinds = 0;
    remember_comm();
    remember_datatype();
    remember_group();
    remember_info();
    remember_message();
    remember_op();
    remember_request();
    remember_session();
    remember_raw_errhandler();
#ifndef MPICH
    remember_posted();
#endif
    remember_t_enum();
    remember_t_cvar_handle();
    remember_t_pvar_handle();
    remember_t_pvar_session();
    (void)remember_win, (void)remember_file, (void)remember_t_event_registration, (void)remember_t_event_instance;
}
