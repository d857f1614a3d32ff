/* Processes that processes start, and groups that connect. Each part of main is a role by argv[1]. */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int rank, size;

/* Both groups: sizes, messages, collectives, a merged communicator. */
static void talk(MPI_Comm other, int others, int high)
{
    int flag, all, sum, token = rank + 1, got = 0;
    MPI_Comm merged;
    MPI_Comm_test_inter(other, &flag);
    CHECK(flag);
    MPI_Comm_remote_size(other, &all);
    CHECK(all == others);
    MPI_Barrier(other);
    if (rank < others) {
        MPI_Status status;
        MPI_Sendrecv(&token, 1, MPI_INT, rank, 5, &got, 1, MPI_INT, MPI_ANY_SOURCE, 5, other, &status);
        CHECK(got == token && status.MPI_SOURCE == rank);
    }
    MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, other);
    CHECK(sum == others * (others + 1) / 2);
    /* Longer than what is eager, by both transports. */
    int *many = malloc(sizeof *many * 100000);
    for (int at = 0; at < 100000; at++)
        many[at] = at;
    MPI_Intercomm_merge(other, high, &merged);
    MPI_Bcast(many, 100000, MPI_INT, 0, merged);
    CHECK(many[99999] == 99999);
    MPI_Comm_size(merged, &all);
    MPI_Comm_rank(merged, &got);
    CHECK(all == size + others);
    MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, merged);
    CHECK(sum == all * (all - 1) / 2);
    int next = (got + 1) % all, before = (got + all - 1) % all, mark = -1;
    int *again = calloc(100000, sizeof *again);
    MPI_Sendrecv(many, 100000, MPI_INT, next, 6, again, 100000, MPI_INT, before, 6, merged, MPI_STATUS_IGNORE);
    CHECK(memcmp(many, again, sizeof *many * 100000) == 0);
    free(again);
    MPI_Sendrecv(&got, 1, MPI_INT, next, 7, &mark, 1, MPI_INT, before, 7, merged, MPI_STATUS_IGNORE);
    CHECK(mark == before);
    MPI_Comm_free(&merged);
    free(many);
}

static int attribute(int key)
{
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    CHECK(flag);
    return *value;
}

static int child(int argc, char **argv)
{
    MPI_Comm parent, again;
    MPI_Comm_get_parent(&parent);
    CHECK(parent != MPI_COMM_NULL);
    MPI_Comm_get_parent(&again);
    CHECK(again == parent);
    int others;
    MPI_Comm_remote_size(parent, &others);
    CHECK(argc == 4 && strcmp(argv[2], "two words") == 0 && strcmp(argv[3], "") == 0);
    CHECK(attribute(MPI_APPNUM) == 0);
    talk(parent, others, 1);
    MPI_Comm_disconnect(&parent);
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
    return 0;
}

/* One of the programs of MPI_Comm_spawn_multiple: says which. */
static int one_of_several(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    int said[2] = {attribute(MPI_APPNUM), argc};
    MPI_Gather(said, 2, MPI_INT, NULL, 0, MPI_INT, 0, parent);
    char here[4096];
    CHECK(said[0] == 0 || (getcwd(here, sizeof here) && strcmp(here, "/") == 0));
    CHECK(said[0] == 0 || strcmp(argv[1], "several") == 0);
    MPI_Comm_disconnect(&parent);
    return 0;
}

/* Connects to a port whose name its parents have published, and to them again. */
static int client(void)
{
    MPI_Comm parent, server;
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm_get_parent(&parent);
    MPI_Barrier(parent);
    if (rank == 0)
        CHECK(MPI_Lookup_name("spawning", MPI_INFO_NULL, port) == MPI_SUCCESS);
    for (int round = 0; round < 3; round++) {
        CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &server) == MPI_SUCCESS);
        int others;
        MPI_Comm_remote_size(server, &others);
        talk(server, others, 1);
        MPI_Comm_disconnect(&server);
    }
    MPI_Comm_disconnect(&parent);
    return 0;
}

static void spawn(char *program, int ranks)
{
    int codes[16], code;
    MPI_Comm children;
    char *argv[] = {"child", "two words", "", NULL};
    memset(codes, 77, sizeof codes);
    CHECK(MPI_Comm_spawn(program, rank ? NULL : argv, rank ? -1 : ranks, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                         codes) == MPI_SUCCESS);
    for (int at = 0; at < ranks; at++)
        CHECK(codes[at] == MPI_SUCCESS);
    talk(children, ranks, 0);
    MPI_Comm_disconnect(&children);
    CHECK(children == MPI_COMM_NULL);

    /* What cannot be started is an error at all parents, and the job goes on. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Comm_spawn("/nowhere/at/all", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes);
    CHECK(class_of(code) == MPI_ERR_SPAWN && children == MPI_COMM_NULL);
    CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN);
    code = MPI_Comm_spawn(program, MPI_ARGV_NULL, 10000, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                          MPI_ERRCODES_IGNORE);
    CHECK(class_of(code) == MPI_ERR_SPAWN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void several(char *program)
{
    char *programs[] = {program, program}, *one[] = {"several", NULL}, *two[] = {"several", "x", NULL};
    char **arguments[] = {one, two};
    int most[] = {1, 2}, codes[3] = {7, 7, 7}, said[6];
    MPI_Info hints[2];
    MPI_Comm children;
    hints[0] = MPI_INFO_NULL;
    MPI_Info_create(&hints[1]);
    MPI_Info_set(hints[1], "wdir", "/");
    CHECK(MPI_Comm_spawn_multiple(2, programs, arguments, most, hints, 0, MPI_COMM_WORLD, &children, codes) ==
          MPI_SUCCESS);
    CHECK(codes[0] == MPI_SUCCESS && codes[2] == MPI_SUCCESS);
    MPI_Gather(NULL, 0, MPI_INT, said, 2, MPI_INT, rank ? MPI_PROC_NULL : MPI_ROOT, children);
    if (rank == 0)
        CHECK(said[0] == 0 && said[1] == 2 && said[2] == 1 && said[3] == 3 && said[4] == 1 && said[5] == 3);
    MPI_Info_free(&hints[1]);
    MPI_Comm_disconnect(&children);

    /* As many as the hint allows. */
    int started;
    MPI_Info soft;
    char *child[] = {"child", "two words", "", NULL};
    MPI_Info_create(&soft);
    MPI_Info_set(soft, "soft", "1:2");
    CHECK(MPI_Comm_spawn(program, child, 3, soft, 0, MPI_COMM_WORLD, &children, codes) == MPI_SUCCESS);
    MPI_Comm_remote_size(children, &started);
    CHECK(started == 2 && codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && codes[2] == MPI_ERR_SPAWN);
    talk(children, 2, 0);
    MPI_Info_free(&soft);
    MPI_Comm_disconnect(&children);
}

static void serve(char *program)
{
    int code;
    MPI_Comm children, clients;
    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
    char *argv[] = {"client", NULL};
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        CHECK(class_of(MPI_Lookup_name("spawning", MPI_INFO_NULL, found)) == MPI_ERR_NAME);
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(MPI_Publish_name("spawning", MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(class_of(MPI_Publish_name("spawning", MPI_INFO_NULL, port)) == MPI_ERR_SERVICE);
        CHECK(MPI_Lookup_name("spawning", MPI_INFO_NULL, found) == MPI_SUCCESS && strcmp(found, port) == 0);
    }
    MPI_Comm_spawn(program, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Barrier(children);
    for (int round = 0; round < 3; round++) {
        CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &clients) == MPI_SUCCESS);
        talk(clients, 2, 0);
        MPI_Comm_disconnect(&clients);
    }
    MPI_Comm_disconnect(&children);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Comm_connect("nobody", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &clients);
    CHECK(class_of(code) == MPI_ERR_PORT && clients == MPI_COMM_NULL);
    code = MPI_Comm_connect("bcs-port:0000000000000001:0:0", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &clients);
    CHECK(class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION);
    if (rank == 0) {
        CHECK(MPI_Unpublish_name("spawning", MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(class_of(MPI_Unpublish_name("spawning", MPI_INFO_NULL, port)) == MPI_ERR_SERVICE);
        CHECK(MPI_Close_port(port) == MPI_SUCCESS);
        CHECK(class_of(MPI_Close_port(port)) == MPI_ERR_PORT);
    }
    code = MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &clients);
    CHECK(class_of(code) == MPI_ERR_PORT);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Connects to the other rank over a socket, if there are two. */
static void join(void)
{
    if (rank > 1 || size < 2)
        return;
    int ends[2], others, got = 0;
    MPI_Comm pair;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    /* The other end is this rank's own. */
    char words[64];
    CHECK(write(ends[1], words, 16) == 16);
    CHECK(MPI_Comm_join(ends[0], &pair) != MPI_SUCCESS && pair == MPI_COMM_NULL);
    close(ends[0]);
    close(ends[1]);

    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), socket_fd;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (rank == 0) {
        CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
        CHECK(getsockname(listener, (struct sockaddr *)&at, &length) == 0);
        MPI_Send(&at, sizeof at, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
        socket_fd = accept(listener, NULL, NULL);
    } else {
        MPI_Recv(&at, sizeof at, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        socket_fd = listener;
        CHECK(connect(socket_fd, (struct sockaddr *)&at, sizeof at) == 0);
    }
    CHECK(MPI_Comm_join(socket_fd, &pair) == MPI_SUCCESS);
    MPI_Comm_remote_size(pair, &others);
    CHECK(others == 1);
    MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, pair, MPI_STATUS_IGNORE);
    CHECK(got == 1 - rank);
    MPI_Comm_disconnect(&pair);
    close(socket_fd);
    if (rank == 0)
        close(listener);
}

/* Without a launcher nothing can be started, and the program goes on. */
static int is_alone(void)
{
    int *value, flag;
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm children;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag);
    if (flag)
        return 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                                  MPI_ERRCODES_IGNORE)) == MPI_ERR_SPAWN);
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS);
    CHECK(class_of(MPI_Publish_name("x", MPI_INFO_NULL, "y")) == MPI_ERR_SERVICE);
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        child(argc, argv);
    else if (argc > 1 && strcmp(argv[1], "several") == 0)
        one_of_several(argc, argv);
    else if (argc > 1 && strcmp(argv[1], "client") == 0)
        client();
    else {
        MPI_Comm_get_parent(&parent);
        CHECK(parent == MPI_COMM_NULL);
        if (is_alone()) {
            MPI_Finalize();
            return 0;
        }
        CHECK(attribute(MPI_APPNUM) == 0);
        spawn(argv[0], 1);
        spawn(argv[0], 3);
        several(argv[0]);
        serve(argv[0]);
        join();
        if (rank == 0)
            printf("spawned\n");
    }
    MPI_Finalize();
    return 0;
}
