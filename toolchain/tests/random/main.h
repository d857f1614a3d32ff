/* The loop over the calls that are above. */
static const char *volatile called = "nothing";
static unsigned long volatile nth;
static unsigned long long volatile seed;

static unsigned long succeeded[sizeof all / sizeof *all];

static void say_where(int signal, siginfo_t *info, void *context)
{
    char line[300];
    long from = (char *)info->si_addr - &memory[0][0];
    int len = snprintf(line, sizeof line, "signal %d in call %lu, %s, seed %llu; %p is %ld bytes from the memory\n",
                       signal, nth, called, seed, info->si_addr, from);
    (void)context;
    if (write(2, line, len) != len)
        _exit(3);
    _exit(2);
}

int main(int argc, char **argv)
{
    unsigned long calls = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000, failed = 0;
    seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    state = seed;
    MPI_Init(NULL, NULL);
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM};
    for (int i = 0; i < 6; i++) {
        struct sigaction action = {.sa_sigaction = say_where, .sa_flags = SA_SIGINFO};
        sigaction(signals[i], &action, NULL);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    begin();
    for (nth = 0; nth < calls; nth++) {
        unsigned which = below(sizeof all / sizeof *all);
        called = all[which].name;
        if (nth % 64 == 0) {
            alarm(20);
            give_up_large_types();
            renew(8);
            remember_handles();
        }
        if (all[which].call() != MPI_SUCCESS)
            failed++;
        else
            succeeded[which]++;
        if (all[which].makes_a_type)
            give_up_large_types();
    }
    called = "the end";
    int one = 1, sum = 0;
    if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS || sum != 1)
        return 1;
    for (unsigned which = 0; argc > 3 && which < sizeof all / sizeof *all; which++)
        printf("%s succeeded %lu times\n", all[which].name, succeeded[which]);
    printf("%lu calls, of which %lu failed\n", calls, failed);
    fflush(stdout);
    /* Messages are on their way that nobody will receive. */
    _exit(0);
}
