/* What messages and collectives take, in any MPI: the loops, options, statistics and rows of
 * `bcs bench` (apps/src/bench), in standard C. What is true of one must be made true of the other.
 *
 *     mpicc -O3 -o bench bench.c && mpiexec -n 2 ./bench --ops latency,bcast --sizes 8,64K
 *
 * Options: --ops LIST --sizes LIST --mode LIST --row-ms N --samples N. Rank 0 prints a line of JSON
 * for each row. Exit codes: 0, 2 if the arguments or the number of processes are wrong; a failure of
 * the MPI ends the job by its own error handler. */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 64, TAG = 1, ACKNOWLEDGED = 2, PAGE = 4096, FIRST = 0x30 };
enum { MOST_BYTES = 1 << 30, MOST_ITEMS = 64 };

/* Messages of `fresh` lie as far apart as the lines of caches. They take at most so many bytes together, but for those
 * of a window, each of which has a place of its own whatever that takes. */
enum { LINE = 64, FRESH_BYTES = 16 << 20 };

/* No row needs more operations in a sample. */
static const double MOST_ITERATIONS = 1e8;

/* How long rank 0 computes in `lag`, in seconds of its own processor. */
static const double LAG_S = 0.01;

enum op { LATENCY, BANDWIDTH, RATE, EXCHANGE, SENDRECV, BARRIER, BCAST, REDUCE, ALLREDUCE, ALLTOALL, LAG, OPS };

static const char *const OP_NAMES[OPS] = {"latency", "bandwidth", "rate",      "exchange", "sendrecv", "barrier",
                                          "bcast",   "reduce",    "allreduce", "alltoall", "lag"};

/* Turns: untouched, and roots take turns. Fresh: the same, and each message has the next buffer of several. */
enum mode { UNTOUCHED, TOUCHED, TURNS, FRESH, MODES };
static const char *const MODE_NAMES[MODES] = {"untouched", "touched", "turns", "fresh"};

static struct {
    int ops[MOST_ITEMS], op_count;
    size_t sizes[MOST_ITEMS];
    int size_count;
    int modes[MODES], mode_count;
    double row_ms;
    int samples;
} options = {
    .ops = {LATENCY, BANDWIDTH, RATE, EXCHANGE, SENDRECV, BARRIER, BCAST, REDUCE, ALLREDUCE, ALLTOALL},
    .op_count = OPS - 1,
    .sizes = {0, 1, 4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20},
    .size_count = 13,
    .modes = {UNTOUCHED},
    .mode_count = 1,
    .row_ms = 100,
    .samples = 9,
};

static int rank, ranks;

/* --- the command line ------------------------------------------------------------------------- */

/* All processes have the same command line, so all come here and only rank 0 says it. */
static void refuse(const char *format, ...) {
    if (rank == 0) {
        va_list arguments;
        va_start(arguments, format);
        fputs("bench: ", stderr);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
    MPI_Finalize();
    exit(2);
}

static int place_of(const char *word, const char *const *names, int count) {
    for (int place = 0; place < count; place++)
        if (strcmp(word, names[place]) == 0) return place;
    return -1;
}

/* A whole number of at least 0 at the start of `text`; *end is what follows it. */
static unsigned long long number(const char *text, char **end) {
    if (*text < '0' || *text > '9') {
        *end = (char *)text;
        return 0;
    }
    errno = 0;
    unsigned long long found = strtoull(text, end, 10);
    if (errno != 0) *end = (char *)text;
    return found;
}

static bool size_of_word(const char *word, size_t *bytes) {
    char *end;
    unsigned long long found = number(word, &end), unit = 0;
    if (end == word) return false;
    if (strcmp(end, "") == 0 || strcmp(end, "B") == 0) unit = 1;
    if (strcmp(end, "K") == 0 || strcmp(end, "KiB") == 0) unit = 1 << 10;
    if (strcmp(end, "M") == 0 || strcmp(end, "MiB") == 0) unit = 1 << 20;
    if (unit == 0 || found > MOST_BYTES / unit) return false;
    *bytes = (size_t)(found * unit);
    return true;
}

static int count_of_word(const char *name, const char *word, unsigned long long most) {
    char *end;
    unsigned long long found = number(word, &end);
    if (end == word || *end != '\0' || found < 1 || found > most)
        refuse("%s is %s: give a whole number from 1 to %llu", name, word, most);
    return (int)found;
}

static void list_item(const char *name, const char *word) {
    if (strcmp(name, "--ops") == 0) {
        int op = place_of(word, OP_NAMES, OPS);
        if (op < 0) refuse("there is no operation %s", word);
        if (options.op_count == MOST_ITEMS) refuse("--ops has more than %d items", MOST_ITEMS);
        options.ops[options.op_count++] = op;
    } else if (strcmp(name, "--sizes") == 0) {
        if (options.size_count == MOST_ITEMS) refuse("--sizes has more than %d items", MOST_ITEMS);
        if (!size_of_word(word, &options.sizes[options.size_count++]))
            refuse("%s is no size: give bytes as in 8, 64K or 4M, at most %dM", word, MOST_BYTES >> 20);
    } else {
        int mode = place_of(word, MODE_NAMES, MODES);
        if (mode < 0) refuse("there is no mode %s: give untouched, touched, turns, fresh, or several with commas", word);
        if (options.mode_count == MODES) refuse("--mode has more than %d items", MODES);
        options.modes[options.mode_count++] = mode;
    }
}

static void parse(int count, char **words) {
    for (int place = 1; place < count; place += 2) {
        const char *name = words[place];
        if (place + 1 == count) refuse("%s wants a value", name);
        char *value = words[place + 1];
        if (strcmp(name, "--row-ms") == 0) {
            options.row_ms = count_of_word(name, value, 3600000);
        } else if (strcmp(name, "--samples") == 0) {
            options.samples = count_of_word(name, value, 10000);
        } else {
            if (strcmp(name, "--ops") == 0) options.op_count = 0;
            else if (strcmp(name, "--sizes") == 0) options.size_count = 0;
            else if (strcmp(name, "--mode") == 0) options.mode_count = 0;
            else refuse("unexpected argument %s; there are --ops, --sizes, --mode, --row-ms, --samples", name);
            for (char *word = strtok(value, ","); word != NULL; word = strtok(NULL, ",")) list_item(name, word);
        }
    }
}

/* --- buffers and clocks ----------------------------------------------------------------------- */

struct row {
    int op;
    size_t bytes;
    int mode;
};

static char *out, *into;

/* How the messages of a row lie in each of the two buffers: all in one place, or in places of their own. */
static struct {
    size_t count; /* a power of two */
    size_t bytes, stride;
} window;

static void lay_out(struct row row) {
    window.bytes = row.op == ALLTOALL ? row.bytes * (size_t)ranks : row.bytes;
    window.stride = row.mode == FRESH ? (window.bytes + LINE - 1) / LINE * LINE : 0;
    window.count = WINDOW;
    if (row.op == BANDWIDTH || row.op == RATE) return;
    while (window.count > 1 && window.count * window.stride > FRESH_BYTES) window.count /= 2;
}

/* Where the message of an iteration lies: messages of `fresh` have all places in turn. */
static char *message_at(char *buffer, uint64_t iteration) {
    return buffer + (iteration & (window.count - 1)) * window.stride;
}

/* Whose turn it is to be the root. */
static int root_of(struct row row, uint64_t iteration) {
    return row.mode == TURNS || row.mode == FRESH ? (int)(iteration % (uint64_t)ranks) : 0;
}

static char *buffer(size_t bytes) {
    size_t pages = bytes / PAGE + (bytes % PAGE != 0);
    void *memory = NULL;
    if (pages == 0) pages = 1;
    if (posix_memalign(&memory, PAGE, pages * PAGE) != 0) {
        fprintf(stderr, "bench: rank %d has no memory for %zu bytes\n", rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(memory, FIRST, pages * PAGE);
    return memory;
}

static volatile uint64_t sink;

/* Writes all of it, with something else in each iteration, if the row is a touched one. */
static void write_out(struct row row, uint64_t iteration) {
    if (row.mode == TOUCHED) memset(out, FIRST | (int)(iteration & 0xf), window.bytes);
}

/* Reads all of it, if the row is a touched one. */
static void read_in(struct row row) {
    uint64_t sum = 0, word;
    size_t at = 0;
    if (row.mode != TOUCHED) return;
    for (; at + sizeof word <= window.bytes; at += sizeof word) {
        memcpy(&word, into + at, sizeof word);
        sum += word;
    }
    for (; at < window.bytes; at++) sum += (unsigned char)into[at];
    sink = sum;
}

static double clock_s(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Computes until this thread has used so much of its processor, however long that takes. */
static void compute(double seconds) {
    uint64_t value = 1;
    double end = clock_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (clock_s(CLOCK_THREAD_CPUTIME_ID) < end) {
        for (int step = 0; step < 1000; step++) value = value * 6364136223846793005u ^ (value >> 29);
        sink = value;
    }
}

/* --- the loops -------------------------------------------------------------------------------- */

#define WORLD MPI_COMM_WORLD
#define NOTHING MPI_STATUS_IGNORE

static void latency(struct row row, uint64_t iterations) {
    int bytes = (int)row.bytes;
    for (uint64_t iteration = 0; iteration < iterations; iteration++) {
        if (rank == 0) {
            write_out(row, iteration);
            MPI_Send(message_at(out, iteration), bytes, MPI_BYTE, 1, TAG, WORLD);
            MPI_Recv(message_at(into, iteration), bytes, MPI_BYTE, 1, TAG, WORLD, NOTHING);
            read_in(row);
        } else if (rank == 1) {
            MPI_Recv(message_at(into, iteration), bytes, MPI_BYTE, 0, TAG, WORLD, NOTHING);
            read_in(row);
            write_out(row, iteration);
            MPI_Send(message_at(out, iteration), bytes, MPI_BYTE, 0, TAG, WORLD);
        } else {
            return;
        }
    }
}

/* The receives of a window share one buffer, as in the usual benchmarks: their messages are the same. In `fresh` each
 * has its own. What is under way must not be touched, so the program writes and reads once a window. */
static void windows(struct row row, uint64_t iterations) {
    MPI_Request requests[WINDOW];
    char acknowledged[4] = {0};
    int bytes = (int)row.bytes;
    for (uint64_t iteration = 0; iteration < iterations; iteration++) {
        if (rank == 0) {
            write_out(row, iteration);
            for (int message = 0; message < WINDOW; message++)
                MPI_Isend(message_at(out, message), bytes, MPI_BYTE, 1, TAG, WORLD, &requests[message]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(acknowledged, 4, MPI_BYTE, 1, ACKNOWLEDGED, WORLD, NOTHING);
        } else if (rank == 1) {
            for (int message = 0; message < WINDOW; message++)
                MPI_Irecv(message_at(into, message), bytes, MPI_BYTE, 0, TAG, WORLD, &requests[message]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            read_in(row);
            MPI_Send(acknowledged, 4, MPI_BYTE, 0, ACKNOWLEDGED, WORLD);
        } else {
            return;
        }
    }
}

static void exchange(struct row row, uint64_t iterations) {
    MPI_Request requests[2];
    int bytes = (int)row.bytes;
    if (rank > 1) return;
    for (uint64_t iteration = 0; iteration < iterations; iteration++) {
        write_out(row, iteration);
        MPI_Irecv(message_at(into, iteration), bytes, MPI_BYTE, 1 - rank, TAG, WORLD, &requests[0]);
        MPI_Isend(message_at(out, iteration), bytes, MPI_BYTE, 1 - rank, TAG, WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        read_in(row);
    }
}

static void in_a_ring(struct row row, uint64_t iterations) {
    int bytes = (int)row.bytes, next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    for (uint64_t iteration = 0; iteration < iterations; iteration++) {
        write_out(row, iteration);
        MPI_Sendrecv(message_at(out, iteration), bytes, MPI_BYTE, next, TAG, message_at(into, iteration), bytes, MPI_BYTE,
                     previous, TAG, WORLD, NOTHING);
        read_in(row);
    }
}

static void collective(struct row row, uint64_t iterations) {
    int bytes = (int)row.bytes, doubles = bytes / (int)sizeof(double);
    for (uint64_t iteration = 0; iteration < iterations; iteration++) {
        char *data = message_at(out, iteration), *result = message_at(into, iteration);
        int root = root_of(row, iteration);
        switch (row.op) {
        case BARRIER:
            MPI_Barrier(WORLD);
            break;
        case BCAST:
            if (rank == root) write_out(row, iteration);
            MPI_Bcast(rank == root ? data : result, bytes, MPI_BYTE, root, WORLD);
            if (rank != root) read_in(row);
            break;
        case REDUCE:
            write_out(row, iteration);
            MPI_Reduce(data, result, doubles, MPI_DOUBLE, MPI_SUM, root, WORLD);
            if (rank == root) read_in(row);
            break;
        case ALLREDUCE:
            write_out(row, iteration);
            MPI_Allreduce(data, result, doubles, MPI_DOUBLE, MPI_SUM, WORLD);
            read_in(row);
            break;
        case ALLTOALL:
            write_out(row, iteration);
            MPI_Alltoall(data, bytes, MPI_BYTE, result, bytes, MPI_BYTE, WORLD);
            read_in(row);
            break;
        case LAG:
            if (rank == 0) compute(LAG_S);
            MPI_Allreduce(data, result, doubles, MPI_DOUBLE, MPI_SUM, WORLD);
            break;
        }
    }
}

/* --- measuring -------------------------------------------------------------------------------- */

/* How many times the time of an operation one iteration of its loop takes. */
static double operations(int op) {
    if (op == LATENCY) return 2;
    return op == BANDWIDTH || op == RATE ? WINDOW : 1;
}

/* Goes through the loop so many times; all begin together, and the slowest counts. taken[0] is the time of an
 * operation in microseconds, taken[1] the processor time of a rank that waited in `lag`, in per cent. */
static void sample(struct row row, uint64_t iterations, double taken[2]) {
    MPI_Barrier(WORLD);
    bool all_count = row.op > EXCHANGE;
    double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID), start = clock_s(CLOCK_MONOTONIC);
    switch (row.op) {
    case LATENCY: latency(row, iterations); break;
    case BANDWIDTH:
    case RATE: windows(row, iterations); break;
    case EXCHANGE: exchange(row, iterations); break;
    case SENDRECV: in_a_ring(row, iterations); break;
    default: collective(row, iterations);
    }
    double wall_us = 1e6 * (clock_s(CLOCK_MONOTONIC) - start);
    double cpu_us = 1e6 * (clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    double mine[2] = {0, 0};
    if (rank == 0 || all_count) mine[0] = wall_us / (double)iterations / operations(row.op);
    if (row.op == LAG && rank > 0) mine[1] = 100 * cpu_us / wall_us;
    MPI_Allreduce(mine, taken, 2, MPI_DOUBLE, MPI_MAX, WORLD);
}

/* Goes through the loop twice as often each time until that lasts as long as a sample should, twice in a row: once
 * may be chance. Gives how often that is, as rank 0 decides. */
static uint64_t warm_up(struct row row, double sample_us) {
    double best_us = HUGE_VAL;
    bool was_enough = false;
    for (uint64_t iterations = 1;; iterations *= 2) {
        double taken[2], decision[2];
        sample(row, iterations, taken);
        if (taken[0] < best_us) best_us = taken[0];
        double wanted = sample_us / (best_us * operations(row.op));
        if (!(wanted <= MOST_ITERATIONS)) wanted = MOST_ITERATIONS;
        if (wanted < 1) wanted = 1;
        bool enough = wanted <= (double)iterations;
        decision[0] = (enough && was_enough) || (double)iterations >= MOST_ITERATIONS;
        decision[1] = wanted;
        was_enough = enough;
        MPI_Bcast(decision, 2, MPI_DOUBLE, 0, WORLD);
        if (decision[0] > 0) return (uint64_t)decision[1];
    }
}

static int ascending(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The sample, of `count` sorted ones, below which so many quarters of them lie. */
static double quartile(const double *sorted, int count, int quarters) {
    int place = (count - 1) * quarters, low = place / 4, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + 0.25 * (place % 4) * (sorted[high] - sorted[low]);
}

static void measure(struct row row) {
    lay_out(row);
    size_t extent = (window.count - 1) * window.stride + window.bytes;
    out = buffer(extent);
    into = buffer(extent);
    uint64_t iterations = warm_up(row, 1e3 * options.row_ms / options.samples);
    double *us = malloc(sizeof(double) * options.samples), *cpu = malloc(sizeof(double) * options.samples);
    if (us == NULL || cpu == NULL) MPI_Abort(WORLD, 1);
    for (int place = 0; place < options.samples; place++) {
        double taken[2];
        sample(row, iterations, taken);
        us[place] = taken[0];
        cpu[place] = taken[1];
    }
    qsort(us, options.samples, sizeof(double), ascending);
    qsort(cpu, options.samples, sizeof(double), ascending);
    if (rank == 0) {
        printf("{\"op\":\"%s\",\"bytes\":%zu,\"mode\":\"%s\",\"ranks\":%d,\"us\":%.6f,\"q1\":%.6f,\"q3\":%.6f,"
               "\"iterations\":%llu",
               OP_NAMES[row.op], row.bytes, MODE_NAMES[row.mode], ranks, quartile(us, options.samples, 2),
               quartile(us, options.samples, 1), quartile(us, options.samples, 3), (unsigned long long)iterations);
        if (row.op == LAG) printf(",\"cpu_percent\":%.6f", quartile(cpu, options.samples, 2));
        printf("}\n");
        fflush(stdout);
    }
    free(us);
    free(cpu);
    free(out);
    free(into);
}

/* --- all rows --------------------------------------------------------------------------------- */

/* Reductions take whole doubles, and moving nothing is measured where it takes a message. */
static bool takes(int op, size_t bytes) {
    if (op == LATENCY || op == EXCHANGE || op == SENDRECV) return true;
    if (op == REDUCE || op == ALLREDUCE) return bytes > 0 && bytes % sizeof(double) == 0;
    return bytes > 0;
}

static int measure_all_modes(int op, size_t bytes) {
    if (bytes == 0 || op == LAG) {
        measure((struct row){op, bytes, UNTOUCHED});
        return 1;
    }
    for (int place = 0; place < options.mode_count; place++)
        measure((struct row){op, bytes, options.modes[place]});
    return options.mode_count;
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &ranks);
    parse(count, words);
    if (ranks < 2) refuse("%d process is too few: start 2 or more", ranks);
    int measured = 0;
    for (int place = 0; place < options.op_count; place++) {
        int op = options.ops[place];
        if (op == BARRIER) measured += measure_all_modes(op, 0);
        else if (op == RATE || op == LAG) measured += measure_all_modes(op, 8);
        else
            for (int size = 0; size < options.size_count; size++)
                if (takes(op, options.sizes[size])) measured += measure_all_modes(op, options.sizes[size]);
    }
    if (measured == 0) refuse("nothing to measure: none of --ops takes one of --sizes");
    MPI_Finalize();
    return 0;
}
