/* The calls of the BCS API with arguments at random. Those that would wait for a message get nothing that stands for
   something. */

static BCS_Blocking mode(void)
{
    return (BCS_Blocking)(below(8) ? (int)below(2) : any());
}

static BCS_Status *bcs_statuses(void)
{
    static BCS_Status list[LIST];
    return now_and_then() ? NULL : list;
}

static size_t *lengths(void)
{
    return (size_t *)few_counts();
}

static size_t *places(void)
{
    return (size_t *)distances();
}

static int call_bcs_send(void)
{
    BCS_Blocking waits = mode();
    MPI_Comm on = waits == BCS_BLOCKING ? no_comm() : comm();
    return bcs_send(waits, data(), (size_t)few(), any(), any(), on, posted_place());
}

static int call_bcs_recv(void)
{
    BCS_Blocking waits = mode();
    MPI_Comm on = waits == BCS_BLOCKING ? no_comm() : comm();
    return bcs_recv(waits, data(), (size_t)few(), any(), any(), on, bcs_statuses(), posted_place());
}

static int call_bcs_probe(void)
{
    BCS_Blocking waits = mode();
    MPI_Comm on = waits == BCS_BLOCKING ? no_comm() : comm();
    return bcs_probe(waits, any(), any(), on, int_place(), bcs_statuses());
}

static int call_bcs_test(void)
{
    BCS_Blocking waits = mode();
    return bcs_test(waits, waits == BCS_BLOCKING ? no_posted() : posted(), int_place(), bcs_statuses());
}

static int call_bcs_testall(void)
{
    BCS_Blocking waits = mode();
    const BCS_Request *requests = waits == BCS_BLOCKING ? no_posted_list() : posted_list();
    return bcs_testall(waits, (size_t)few(), requests, int_place(), bcs_statuses());
}

static int call_bcs_barrier(void)
{
    return bcs_barrier(comm());
}

static int call_bcs_bcast(void)
{
    return bcs_bcast(data(), (size_t)few(), any(), comm());
}

static int call_bcs_reduce(void)
{
    return bcs_reduce((BCS_All)mode(), data(), data(), (size_t)few(), datatype(), op(), any(), comm());
}

static int call_bcs_scatter(void)
{
    return bcs_scatter((BCS_Vectorial)mode(), data(), lengths(), places(), data(), (size_t)few(), any(), comm());
}

static int call_bcs_gather(void)
{
    return bcs_gather((BCS_Vectorial)mode(), data(), (size_t)few(), data(), lengths(), places(), any(), comm());
}

static int call_bcs_allgather(void)
{
    return bcs_allgather((BCS_Vectorial)mode(), data(), (size_t)few(), data(), lengths(), places(), comm());
}

static int call_bcs_alltoall(void)
{
    size_t *out = lengths(), *in = lengths(), *from = places(), *to = places();
    return bcs_alltoall((BCS_Vectorial)mode(), data(), out, from, data(), in, to, (size_t)few(), comm());
}
