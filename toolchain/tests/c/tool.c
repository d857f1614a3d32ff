/* The tool information interface: which variables there are, what they say before MPI_Init, between and after it, what a
   session counts, and what is refused. */
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 100, ROOM = 200 };

static char names[2][MOST][ROOM];
static int numbers[2];

static void look_at_enumeration(MPI_T_enum of, int value)
{
    char name[ROOM];
    int count, length = ROOM, same;
    CHECK(MPI_T_enum_get_info(of, &count, name, &length) == MPI_SUCCESS);
    CHECK(count > 1 && (int)strlen(name) + 1 == length && value < count);
    for (int item = 0; item < count; item++) {
        length = ROOM;
        CHECK(MPI_T_enum_get_item(of, item, &same, name, &length) == MPI_SUCCESS && same == item);
        CHECK((int)strlen(name) + 1 == length);
    }
    CHECK(MPI_T_enum_get_item(of, count, &same, name, &length) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_enum_get_info(of, NULL, NULL, NULL) == MPI_SUCCESS);
}

/* Reads the control variable of an index: what came of it. */
static int read_control(int index, unsigned long long *value)
{
    MPI_Datatype type;
    MPI_T_enum of;
    MPI_T_cvar_handle handle;
    int count, one = 0, code;
    MPI_T_cvar_get_info(index, NULL, NULL, NULL, &type, &of, NULL, NULL, NULL, NULL);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS && count == 1);
    if (type == MPI_INT) {
        code = MPI_T_cvar_read(handle, &one);
        *value = one;
        look_at_enumeration(of, one);
    } else {
        CHECK(type == MPI_UNSIGNED_LONG_LONG && of == MPI_T_ENUM_NULL);
        code = MPI_T_cvar_read(handle, value);
    }
    CHECK(MPI_T_cvar_write(handle, value) == MPI_T_ERR_CVAR_SET_NEVER);
    MPI_T_cvar_handle stale = handle;
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL);
    CHECK(MPI_T_cvar_read(stale, value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_handle_free(&stale) == MPI_T_ERR_INVALID_HANDLE);
    return code;
}

static unsigned long long control(const char *name)
{
    int index;
    unsigned long long value;
    CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    CHECK(read_control(index, &value) == MPI_SUCCESS);
    return value;
}

/* All control variables. Those of the job are known from MPI_Init on. */
static void look_at_control(int knows_its_job)
{
    int count;
    CHECK(MPI_T_cvar_get_num(&count) == MPI_SUCCESS && count > 0 && count < MOST);
    CHECK(numbers[0] == 0 || numbers[0] == count);
    numbers[0] = count;
    for (int index = 0; index < count; index++) {
        char name[ROOM], about[ROOM];
        int name_len = ROOM, about_len = ROOM, verbosity, bind, scope, same;
        CHECK(MPI_T_cvar_get_info(index, name, &name_len, &verbosity, NULL, NULL, about, &about_len, &bind, &scope)
              == MPI_SUCCESS);
        CHECK((int)strlen(name) + 1 == name_len && (int)strlen(about) + 1 == about_len);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && verbosity >= MPI_T_VERBOSITY_USER_BASIC);
        CHECK(MPI_T_cvar_get_index(name, &same) == MPI_SUCCESS && same == index);
        CHECK(names[0][index][0] == 0 || strcmp(names[0][index], name) == 0);
        strcpy(names[0][index], name);
        unsigned long long value;
        int code = read_control(index, &value);
        int is_known = knows_its_job || scope == MPI_T_SCOPE_CONSTANT;
        CHECK(scope == MPI_T_SCOPE_CONSTANT || scope == MPI_T_SCOPE_READONLY);
        CHECK(code == (is_known ? MPI_SUCCESS : MPI_T_ERR_NOT_ACCESSIBLE));
        name_len = 4;
        MPI_T_cvar_get_info(index, name, &name_len, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        CHECK(strcmp(name, "bcs") == 0 && name_len == (int)strlen(names[0][index]) + 1);
    }
    CHECK(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
}

/* All performance variables, each in a session of its own. */
static void look_at_performance(void)
{
    int count;
    CHECK(MPI_T_pvar_get_num(&count) == MPI_SUCCESS && count > 0 && count < MOST);
    CHECK(numbers[1] == 0 || numbers[1] == count);
    numbers[1] = count;
    for (int index = 0; index < count; index++) {
        char name[ROOM];
        int length = ROOM, class, readonly, continuous, atomic, same, one;
        MPI_Datatype type;
        MPI_T_enum of;
        CHECK(MPI_T_pvar_get_info(index, name, &length, NULL, &class, &type, &of, NULL, NULL, NULL, &readonly,
                                  &continuous, &atomic) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_get_index(name, class, &same) == MPI_SUCCESS && same == index);
        CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_PERCENTAGE, &same) == MPI_T_ERR_INVALID_NAME);
        CHECK(names[1][index][0] == 0 || strcmp(names[1][index], name) == 0);
        strcpy(names[1][index], name);
        MPI_T_pvar_session session;
        MPI_T_pvar_handle handle;
        union {
            int one;
            unsigned long long number;
            double seconds;
        } value = {.number = 0};
        CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &one) == MPI_SUCCESS && one == 1);
        int code = MPI_T_pvar_read(session, handle, &value);
        /* What a job does not record is 0, and can be started. */
        CHECK(code == MPI_SUCCESS);
        if (type == MPI_INT)
            look_at_enumeration(of, value.one);
        else
            CHECK(type == (class == MPI_T_PVAR_CLASS_TIMER ? MPI_DOUBLE : MPI_UNSIGNED_LONG_LONG));
        if (continuous) {
            CHECK(readonly && !atomic);
            CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
            CHECK(MPI_T_pvar_stop(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
            CHECK(MPI_T_pvar_write(session, handle, &value) == MPI_T_ERR_PVAR_NO_WRITE);
            CHECK(MPI_T_pvar_reset(session, handle) == MPI_T_ERR_PVAR_NO_WRITE);
            CHECK(MPI_T_pvar_readreset(session, handle, &value) == MPI_T_ERR_PVAR_NO_ATOMIC);
        } else {
            CHECK(!readonly && atomic && value.number == 0);
            CHECK(MPI_T_pvar_start(session, handle) == code && MPI_T_pvar_stop(session, handle) == code);
            CHECK(MPI_T_pvar_readreset(session, handle, &value) == code);
            CHECK(MPI_T_pvar_read(session, handle, &value) == code);
            CHECK(value.number == 0);
        }
        /* All that count, of which there is one or none. */
        CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value) == MPI_T_ERR_INVALID_HANDLE);
        MPI_T_pvar_session over = session;
        CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
        CHECK(MPI_T_pvar_read(over, handle, &value) == MPI_T_ERR_INVALID_SESSION);
        CHECK(MPI_T_pvar_session_free(&over) == MPI_T_ERR_INVALID_SESSION);
    }
    CHECK(MPI_T_pvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
          == MPI_T_ERR_INVALID_INDEX);
}

/* Each variable is in one category, and each category but the first in that. */
static void look_at_categories(void)
{
    int count, stamp, seen[2] = {0, 0}, parts[MOST];
    CHECK(MPI_T_category_get_num(&count) == MPI_SUCCESS && count > 1);
    CHECK(MPI_T_category_changed(&stamp) == MPI_SUCCESS);
    for (int index = 0; index < count; index++) {
        char name[ROOM], about[ROOM];
        int name_len = ROOM, about_len = ROOM, cvars, pvars, categories, events, same;
        CHECK(MPI_T_category_get_info(index, name, &name_len, about, &about_len, &cvars, &pvars, &categories)
              == MPI_SUCCESS);
        CHECK(MPI_T_category_get_index(name, &same) == MPI_SUCCESS && same == index);
        CHECK(MPI_T_category_get_num_events(index, &events) == MPI_SUCCESS && events == 0);
        CHECK(categories == (index == 0 ? count - 1 : 0));
        parts[0] = -1;
        CHECK(MPI_T_category_get_categories(index, MOST, parts) == MPI_SUCCESS && parts[0] == (index == 0 ? 1 : -1));
        CHECK(MPI_T_category_get_cvars(index, MOST, parts) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_pvars(index, MOST, parts) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_events(index, MOST, parts) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_cvars(index, -1, parts) == MPI_T_ERR_INVALID);
        seen[0] += cvars;
        seen[1] += pvars;
    }
    CHECK(seen[0] == numbers[0] && seen[1] == numbers[1]);
    CHECK(MPI_T_category_get_index("none", &stamp) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_category_get_cvars(count, MOST, parts) == MPI_T_ERR_INVALID_INDEX);
}

/* There are no events, and one clock. */
static void look_at_events(void)
{
    int count;
    MPI_Count before, after, ticks, most;
    MPI_T_source_order ordering;
    MPI_Info info;
    CHECK(MPI_T_event_get_num(&count) == MPI_SUCCESS && count == 0);
    CHECK(MPI_T_event_get_index("none", &count) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_handle_free((MPI_T_event_registration) &count, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_copy(NULL, &count) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_source_get_num(&count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, &ordering, &ticks, &most, &info) == MPI_SUCCESS);
    CHECK(ordering == MPI_T_SOURCE_ORDERED && ticks == 1000000000 && MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_T_source_get_timestamp(0, &before) == MPI_SUCCESS);
    CHECK(MPI_T_source_get_timestamp(0, &after) == MPI_SUCCESS && before <= after && after <= most);
    CHECK(MPI_T_source_get_timestamp(1, &after) == MPI_T_ERR_INVALID_INDEX);
}

static MPI_T_pvar_handle bound(MPI_T_pvar_session session, const char *name, int class)
{
    int index, count;
    MPI_T_pvar_handle handle;
    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    return handle;
}

static unsigned long long value_of(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value;
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    return value;
}

/* A message of this rank to itself that nobody has asked for. */
static void send_to_myself(int rank)
{
    int flag = 0;
    CHECK(MPI_Send(&rank, 1, MPI_INT, rank, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
    while (!flag)
        MPI_Iprobe(rank, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void receive_from_myself(int rank)
{
    int came = -1;
    MPI_Recv(&came, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(came == rank);
}

static void count_messages(int rank)
{
    MPI_T_pvar_session first, second;
    MPI_T_pvar_session_create(&first);
    MPI_T_pvar_session_create(&second);
    MPI_T_pvar_handle early = bound(first, "bcs_unexpected_so_far", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle also = bound(second, "bcs_unexpected_so_far", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle kept = bound(first, "bcs_unexpected", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle open = bound(first, "bcs_request_handles", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle requests = bound(first, "bcs_requests", MPI_T_PVAR_CLASS_LEVEL);

    CHECK(MPI_T_pvar_start(first, early) == MPI_SUCCESS);
    send_to_myself(rank);
    CHECK(value_of(first, early) == 1 && value_of(first, kept) == 1 && value_of(second, also) == 0);
    receive_from_myself(rank);
    CHECK(value_of(first, early) == 1 && value_of(first, kept) == 0);
    CHECK(MPI_T_pvar_start(second, also) == MPI_SUCCESS && MPI_T_pvar_stop(first, early) == MPI_SUCCESS);
    send_to_myself(rank);
    receive_from_myself(rank);
    CHECK(value_of(first, early) == 1 && value_of(second, also) == 1);
    unsigned long long value = 40;
    CHECK(MPI_T_pvar_write(second, also, &value) == MPI_SUCCESS && value_of(second, also) == 40);
    CHECK(MPI_T_pvar_readreset(second, also, &value) == MPI_SUCCESS && value == 40 && value_of(second, also) == 0);
    CHECK(MPI_T_pvar_reset(first, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS && value_of(first, early) == 0);

    MPI_Request request;
    unsigned long long idle = value_of(first, requests);
    MPI_Irecv(&value, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &request);
    CHECK(value_of(first, open) == 1 && value_of(first, requests) == idle + 1);
    MPI_Send(&rank, 1, MPI_INT, rank, 8, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(value_of(first, open) == 0 && value_of(first, requests) == idle);

    /* A handle is its session's. */
    CHECK(MPI_T_pvar_read(second, early, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read(first, (MPI_T_pvar_handle) first, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read((MPI_T_pvar_session) MPI_COMM_WORLD, early, &value) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_read(first, early, NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_pvar_handle_free(second, &early) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(first, &early) == MPI_SUCCESS && early == MPI_T_PVAR_HANDLE_NULL);
    CHECK(MPI_T_pvar_read(first, early, &value) == MPI_T_ERR_INVALID_HANDLE);
    MPI_T_pvar_session_free(&first);
    MPI_T_pvar_session_free(&second);
}

/* What is recorded, where the job records. */
static void count_calls(int rank)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle calls = bound(session, "bcs_calls", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle sent = bound(session, "bcs_sent_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle received = bound(session, "bcs_received_messages", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle inside = bound(session, "bcs_communication_time", MPI_T_PVAR_CLASS_TIMER);
    MPI_T_pvar_handle between = bound(session, "bcs_computation_time", MPI_T_PVAR_CLASS_TIMER);
    double seconds[2];
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    send_to_myself(rank);
    receive_from_myself(rank);
    CHECK(value_of(session, calls) >= 3 && value_of(session, received) == 1);
    CHECK(value_of(session, sent) == sizeof rank);
    CHECK(MPI_T_pvar_read(session, inside, &seconds[0]) == MPI_SUCCESS && seconds[0] > 0 && seconds[0] < 60);
    CHECK(MPI_T_pvar_read(session, between, &seconds[1]) == MPI_SUCCESS && seconds[1] > 0 && seconds[1] < 60);
    MPI_T_pvar_session_free(&session);
}

static void *watch(void *rank)
{
    MPI_T_pvar_session session;
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    MPI_T_pvar_handle kept = bound(session, "bcs_unexpected", MPI_T_PVAR_CLASS_LEVEL);
    for (int look = 0; look < 500; look++)
        CHECK(value_of(session, kept) <= 1);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    return rank;
}

/* A forked child is no rank, and says nothing of one. */
static void look_from_a_child(void)
{
    int status;
    unsigned long long value;
    MPI_T_pvar_session session;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle requests = bound(session, "bcs_requests", MPI_T_PVAR_CLASS_LEVEL);
    pid_t child = fork();
    if (child == 0)
        _exit(MPI_T_pvar_read(session, requests, &value) == MPI_T_ERR_NOT_ACCESSIBLE ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int rank, provided, number;
    pthread_t watcher;

    CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_event_copy(NULL, NULL) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    look_at_control(0);
    look_at_performance();
    look_at_categories();
    look_at_events();

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    count_messages(rank);
    look_at_control(1);
    CHECK(control("bcs_eager_limit") <= control("bcs_most_eager_limit") && control("bcs_time_slice") > 0);
    /* What the job was started with, if the caller says so. */
    CHECK(argc < 2 || control("bcs_eager_limit") == strtoull(argv[1], NULL, 10));
    int records = control("bcs_mds");
    look_at_performance();
    if (records)
        count_calls(rank);
    look_from_a_child();
    CHECK(pthread_create(&watcher, NULL, watch, NULL) == 0);
    for (int message = 0; message < 500; message++) {
        send_to_myself(rank);
        receive_from_myself(rank);
    }
    pthread_join(watcher, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();

    look_at_control(1);
    look_at_performance();
    MPI_T_pvar_session session;
    MPI_T_cvar_handle handle;
    MPI_T_pvar_session_create(&session);
    MPI_T_cvar_handle_alloc(0, NULL, &handle, &number);
    CHECK(MPI_T_finalize() == MPI_SUCCESS && MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    /* It begins anew, and knows nothing of what was before. */
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE);
    MPI_T_finalize();
    return 0;
}
