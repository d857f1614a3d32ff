/* Procedures whose arguments differ from those of C by more than their form.
 *
 * FORTRAN(name) is the name of a procedure, and CALL(name) that of a function of C. The generator
 * writes them twice, for the MPI_ and the PMPI_ names.
 */

void FORTRAN(mpi_init)(int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Init)(NULL, NULL));
}

void FORTRAN(mpi_init_thread)(int *required, int *provided, int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Init_thread)(NULL, NULL, *required, provided));
}

void FORTRAN(mpi_info_create_env)(int *info, int *ierror)
{
    ENTER;
    MPI_Info info_c = MPI_INFO_NULL;
    char *none[] = {NULL};
    int code = CALL(MPI_Info_create_env)(0, none, &info_c);
    *info = of_Info(info_c);
    DONE(code);
}

void FORTRAN(mpi_pcontrol)(int *level)
{
    ENTER;
    CALL(MPI_Pcontrol)(*level);
}

double FORTRAN(mpi_wtime)(void)
{
    return CALL(MPI_Wtime)();
}

double FORTRAN(mpi_wtick)(void)
{
    return CALL(MPI_Wtick)();
}

MPI_Aint FORTRAN(mpi_aint_add)(MPI_Aint *base, MPI_Aint *disp)
{
    return CALL(MPI_Aint_add)(*base, *disp);
}

MPI_Aint FORTRAN(mpi_aint_diff)(MPI_Aint *addr1, MPI_Aint *addr2)
{
    return CALL(MPI_Aint_diff)(*addr1, *addr2);
}

void FORTRAN(mpi_f_sync_reg)(void *buf)
{
    (void)buf;
}

/* The two forms of a status have the same bytes. */
void FORTRAN(mpi_status_f2f08)(int *f_status, int *f08_status, int *ierror)
{
    memmove(f08_status, f_status, sizeof(MPI_Status));
    DONE(MPI_SUCCESS);
}

void FORTRAN(mpi_status_f082f)(int *f08_status, int *f_status, int *ierror)
{
    memmove(f_status, f08_status, sizeof(MPI_Status));
    DONE(MPI_SUCCESS);
}

/* Texts whose length is an argument: that of C counts the zero at its end. */
void FORTRAN(mpi_info_get)(int *info, char *key, int *valuelen, char *value, int *flag, int *ierror, size_t key_length, size_t value_length)
{
    ENTER;
    TEXT_IN(key);
    int room = *valuelen > 0 ? *valuelen : 0, flag_c = 0;
    if (room > MPI_MAX_INFO_VAL)
        room = MPI_MAX_INFO_VAL;
    char value_c[MPI_MAX_INFO_VAL + 1] = "";
    int code = CALL(MPI_Info_get)(Info_of(*info), key_c, room, value_c, &flag_c);
    if (code == MPI_SUCCESS && flag_c)
        give_text(value, value_length, value_c);
    *flag = logical_of(flag_c);
    DONE(code);
}

void FORTRAN(mpi_info_get_string)(int *info, char *key, int *buflen, char *value, int *flag, int *ierror, size_t key_length, size_t value_length)
{
    ENTER;
    TEXT_IN(key);
    char value_c[MPI_MAX_INFO_VAL + 1] = "";
    int is_asked = *buflen > 0, flag_c = 0;
    int room = *buflen < MPI_MAX_INFO_VAL ? *buflen + 1 : MPI_MAX_INFO_VAL + 1;
    if (!is_asked)
        room = 0;
    int code = CALL(MPI_Info_get_string)(Info_of(*info), key_c, &room, value_c, &flag_c);
    if (code == MPI_SUCCESS && flag_c) {
        if (is_asked)
            give_text(value, value_length, value_c);
        *buflen = room > 0 ? room - 1 : 0;
    }
    *flag = logical_of(flag_c);
    DONE(code);
}

void FORTRAN(mpi_session_get_nth_pset)(int *session, int *info, int *n, int *pset_len, char *pset_name, int *ierror, size_t pset_name_length)
{
    ENTER;
    char name_c[MPI_MAX_PSET_NAME_LEN + 1] = "";
    int is_asked = *pset_len > 0;
    int room = *pset_len < MPI_MAX_PSET_NAME_LEN ? *pset_len + 1 : MPI_MAX_PSET_NAME_LEN;
    if (!is_asked)
        room = 0;
    int code = CALL(MPI_Session_get_nth_pset)(Session_of(*session), Info_of(*info), *n, &room, name_c);
    if (code == MPI_SUCCESS) {
        if (is_asked)
            give_text(pset_name, pset_name_length, name_c);
        *pset_len = room > 0 ? room - 1 : 0;
    }
    DONE(code);
}

/* Functions of the program. */
#define STOCKED(made, function, call)                                                          \
    int code = (made) ? (call)                                                                 \
                      : bcs_fortran_fail(MPI_ERR_OTHER, "more than 256 functions of Fortran"   \
                                         " are passed to " function "; pass fewer different ones")

void FORTRAN(mpi_op_create)(void (*user_fn)(void), int *commute, int *op, int *ierror)
{
    ENTER;
    MPI_Op op_c = MPI_OP_NULL;
    MPI_User_function *made = bcs_fortran_op(user_fn);
    STOCKED(made, "MPI_OP_CREATE", CALL(MPI_Op_create)(made, *commute != 0, &op_c));
    *op = of_Op(op_c);
    DONE(code);
}

void FORTRAN(mpi_op_create_c)(void (*user_fn)(void), int *commute, int *op, int *ierror)
{
    ENTER;
    MPI_Op op_c = MPI_OP_NULL;
    MPI_User_function_c *made = bcs_fortran_op_c(user_fn);
    STOCKED(made, "MPI_Op_create_c", CALL(MPI_Op_create_c)(made, *commute != 0, &op_c));
    *op = of_Op(op_c);
    DONE(code);
}

#define CREATE_ERRHANDLER(name, Kind)                                                                 \
    MPI_Errhandler errhandler_c = MPI_ERRHANDLER_NULL;                                                \
    MPI_##Kind##_errhandler_function *made = bcs_fortran_##name##_errhandler(name##_errhandler_fn);   \
    STOCKED(made, "MPI_" #Kind "_create_errhandler",                                                  \
            CALL(MPI_##Kind##_create_errhandler)(made, &errhandler_c));                               \
    *errhandler = of_Errhandler(errhandler_c);                                                        \
    DONE(code)

void FORTRAN(mpi_comm_create_errhandler)(void (*comm_errhandler_fn)(void), int *errhandler, int *ierror)
{
    ENTER;
    CREATE_ERRHANDLER(comm, Comm);
}

void FORTRAN(mpi_file_create_errhandler)(void (*file_errhandler_fn)(void), int *errhandler, int *ierror)
{
    ENTER;
    CREATE_ERRHANDLER(file, File);
}

void FORTRAN(mpi_win_create_errhandler)(void (*win_errhandler_fn)(void), int *errhandler, int *ierror)
{
    ENTER;
    CREATE_ERRHANDLER(win, Win);
}

void FORTRAN(mpi_session_create_errhandler)(void (*session_errhandler_fn)(void), int *errhandler, int *ierror)
{
    ENTER;
    CREATE_ERRHANDLER(session, Session);
}

void FORTRAN(mpi_grequest_start)(void (*query_fn)(void), void (*free_fn)(void), void (*cancel_fn)(void), intptr_t *extra_state, int *request, int *ierror)
{
    ENTER;
    MPI_Request request_c = MPI_REQUEST_NULL;
    struct generalized *made = bcs_fortran_generalized(query_fn, free_fn, cancel_fn, extra_state);
    int code = CALL(MPI_Grequest_start)(bcs_fortran_query, bcs_fortran_free, bcs_fortran_cancel, made, &request_c);
    if (code != MPI_SUCCESS)
        free(made);
    *request = of_Request(request_c);
    DONE(code);
}

/* The library has no representation of data but its own (14.5.3), and refuses all others. */
void FORTRAN(mpi_register_datarep)(char *datarep, void (*read_conversion_fn)(void), void (*write_conversion_fn)(void), void (*dtype_file_extent_fn)(void), intptr_t *extra_state, int *ierror, size_t datarep_length)
{
    ENTER;
    TEXT_IN(datarep);
    (void)read_conversion_fn;
    (void)write_conversion_fn;
    (void)dtype_file_extent_fn;
    (void)extra_state;
    DONE(bcs_fortran_fail(MPI_ERR_UNSUPPORTED_OPERATION, "functions of Fortran cannot convert files; use a predefined data representation"));
}

void FORTRAN(mpi_register_datarep_c)(char *datarep, void (*read_conversion_fn)(void), void (*write_conversion_fn)(void), void (*dtype_file_extent_fn)(void), intptr_t *extra_state, int *ierror, size_t datarep_length)
{
    FORTRAN(mpi_register_datarep)(datarep, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state, ierror, datarep_length);
}

/* Attributes. */
#define CREATE_KEY(name, Kind)                                                                         \
    struct key *key = bcs_fortran_key(name##_copy_attr_fn, name##_delete_attr_fn, *extra_state, 0);    \
    DONE(CALL(MPI_##Kind##_create_keyval)(bcs_fortran_##name##_copy, bcs_fortran_##name##_delete, name##_keyval, key))

void FORTRAN(mpi_comm_create_keyval)(void (*comm_copy_attr_fn)(void), void (*comm_delete_attr_fn)(void), int *comm_keyval, intptr_t *extra_state, int *ierror)
{
    ENTER;
    CREATE_KEY(comm, Comm);
}

void FORTRAN(mpi_type_create_keyval)(void (*type_copy_attr_fn)(void), void (*type_delete_attr_fn)(void), int *type_keyval, intptr_t *extra_state, int *ierror)
{
    ENTER;
    CREATE_KEY(type, Type);
}

void FORTRAN(mpi_win_create_keyval)(void (*win_copy_attr_fn)(void), void (*win_delete_attr_fn)(void), int *win_keyval, intptr_t *extra_state, int *ierror)
{
    ENTER;
    CREATE_KEY(win, Win);
}

void FORTRAN(mpi_keyval_create)(void (*copy_fn)(void), void (*delete_fn)(void), int *keyval, int *extra_state, int *ierror)
{
    ENTER;
    struct key *key = bcs_fortran_key(copy_fn, delete_fn, *extra_state, 1);
    DONE(CALL(MPI_Keyval_create)(bcs_fortran_comm_copy, bcs_fortran_comm_delete, keyval, key));
}

void FORTRAN(mpi_comm_set_attr)(int *comm, int *comm_keyval, intptr_t *attribute_val, int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Comm_set_attr)(Comm_of(*comm), *comm_keyval, bcs_fortran_keep(*attribute_val)));
}

void FORTRAN(mpi_type_set_attr)(int *datatype, int *type_keyval, intptr_t *attribute_val, int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Type_set_attr)(Datatype_of(*datatype), *type_keyval, bcs_fortran_keep(*attribute_val)));
}

void FORTRAN(mpi_win_set_attr)(int *win, int *win_keyval, intptr_t *attribute_val, int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Win_set_attr)(Win_of(*win), *win_keyval, bcs_fortran_keep(*attribute_val)));
}

void FORTRAN(mpi_attr_put)(int *comm, int *keyval, int *attribute_val, int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Attr_put)(Comm_of(*comm), *keyval, bcs_fortran_keep(*attribute_val)));
}

/* Predefined attributes have C's integers behind their addresses (19.3.7). */
void FORTRAN(mpi_comm_get_attr)(int *comm, int *comm_keyval, intptr_t *attribute_val, int *flag, int *ierror)
{
    ENTER;
    void *value = NULL;
    int flag_c = 0;
    int code = CALL(MPI_Comm_get_attr)(Comm_of(*comm), *comm_keyval, &value, &flag_c);
    int is_predefined = *comm_keyval >= MPI_TAG_UB && *comm_keyval <= MPI_UNIVERSE_SIZE;
    if (code == MPI_SUCCESS && flag_c)
        *attribute_val = is_predefined ? *(int *)value : bcs_fortran_kept(value);
    *flag = logical_of(flag_c);
    DONE(code);
}

void FORTRAN(mpi_attr_get)(int *comm, int *keyval, int *attribute_val, int *flag, int *ierror)
{
    ENTER;
    void *value = NULL;
    int flag_c = 0;
    int code = CALL(MPI_Attr_get)(Comm_of(*comm), *keyval, &value, &flag_c);
    int is_predefined = *keyval >= MPI_TAG_UB && *keyval <= MPI_UNIVERSE_SIZE;
    if (code == MPI_SUCCESS && flag_c)
        *attribute_val = is_predefined ? *(int *)value : (int)bcs_fortran_kept(value);
    *flag = logical_of(flag_c);
    DONE(code);
}

void FORTRAN(mpi_type_get_attr)(int *datatype, int *type_keyval, intptr_t *attribute_val, int *flag, int *ierror)
{
    ENTER;
    void *value = NULL;
    int flag_c = 0;
    int code = CALL(MPI_Type_get_attr)(Datatype_of(*datatype), *type_keyval, &value, &flag_c);
    if (code == MPI_SUCCESS && flag_c)
        *attribute_val = bcs_fortran_kept(value);
    *flag = logical_of(flag_c);
    DONE(code);
}

void FORTRAN(mpi_win_get_attr)(int *win, int *win_keyval, intptr_t *attribute_val, int *flag, int *ierror)
{
    ENTER;
    void *value = NULL;
    int flag_c = 0;
    int code = CALL(MPI_Win_get_attr)(Win_of(*win), *win_keyval, &value, &flag_c);
    if (code == MPI_SUCCESS && flag_c) {
        switch (*win_keyval) {
        case MPI_WIN_BASE:
            *attribute_val = (intptr_t)value;
            break;
        case MPI_WIN_SIZE:
            *attribute_val = *(MPI_Aint *)value;
            break;
        case MPI_WIN_DISP_UNIT:
        case MPI_WIN_CREATE_FLAVOR:
        case MPI_WIN_MODEL:
            *attribute_val = *(int *)value;
            break;
        default:
            *attribute_val = bcs_fortran_kept(value);
        }
    }
    *flag = logical_of(flag_c);
    DONE(code);
}

/* Functions of keys that the standard has predefined. */
#define PREDEFINED(NULL_COPY, DUP, NULL_DELETE, value)                                                       \
    void NULL_COPY(int *object, int *keyval, value *extra, value *in, value *out, int *flag, int *ierror) \
    {                                                                                                        \
        (void)object, (void)keyval, (void)extra, (void)in, (void)out;                                        \
        *flag = 0;                                                                                           \
        *ierror = MPI_SUCCESS;                                                                               \
    }                                                                                                        \
    void DUP(int *object, int *keyval, value *extra, value *in, value *out, int *flag, int *ierror) \
    {                                                                                                        \
        (void)object, (void)keyval, (void)extra;                                                             \
        *out = *in;                                                                                          \
        *flag = bcs_fortran_true;                                                                            \
        *ierror = MPI_SUCCESS;                                                                               \
    }                                                                                                        \
    void NULL_DELETE(int *object, int *keyval, value *of, value *extra, int *ierror)                \
    {                                                                                                        \
        (void)object, (void)keyval, (void)of, (void)extra;                                                   \
        *ierror = MPI_SUCCESS;                                                                               \
    }

PREDEFINED(FORTRAN(mpi_comm_null_copy_fn), FORTRAN(mpi_comm_dup_fn), FORTRAN(mpi_comm_null_delete_fn), intptr_t)
PREDEFINED(FORTRAN(mpi_type_null_copy_fn), FORTRAN(mpi_type_dup_fn), FORTRAN(mpi_type_null_delete_fn), intptr_t)
PREDEFINED(FORTRAN(mpi_win_null_copy_fn), FORTRAN(mpi_win_dup_fn), FORTRAN(mpi_win_null_delete_fn), intptr_t)
PREDEFINED(FORTRAN(mpi_null_copy_fn), FORTRAN(mpi_dup_fn), FORTRAN(mpi_null_delete_fn), int)

void FORTRAN(mpi_conversion_fn_null)(void)
{
}

void FORTRAN(mpi_conversion_fn_null_c)(void)
{
}

/* A detached buffer is of no use to the two older bindings, so they do not take its address
 * (3.6.1). */
#define DETACH(call)                       \
    ENTER;                                 \
    void *address = NULL;                  \
    (void)buffer_addr;                     \
    DONE(call)

void FORTRAN(mpi_buffer_detach)(void *buffer_addr, int *size, int *ierror)
{
    DETACH(CALL(MPI_Buffer_detach)(&address, size));
}

void FORTRAN(mpi_comm_detach_buffer)(int *comm, void *buffer_addr, int *size, int *ierror)
{
    DETACH(CALL(MPI_Comm_detach_buffer)(Comm_of(*comm), &address, size));
}

void FORTRAN(mpi_session_detach_buffer)(int *session, void *buffer_addr, int *size, int *ierror)
{
    DETACH(CALL(MPI_Session_detach_buffer)(Session_of(*session), &address, size));
}

/* Those of mpi_f08 do. */
void FORTRAN(mpi_buffer_detach_f08)(void *buffer_addr, int *size, int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Buffer_detach)(buffer_addr, size));
}

void FORTRAN(mpi_comm_detach_buffer_f08)(int *comm, void *buffer_addr, int *size, int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Comm_detach_buffer)(Comm_of(*comm), buffer_addr, size));
}

void FORTRAN(mpi_session_detach_buffer_f08)(int *session, void *buffer_addr, int *size, int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Session_detach_buffer)(Session_of(*session), buffer_addr, size));
}

/* Procedures that MPI 3 removed, and that old programs call. Their addresses and extents are
 * integers of 4 bytes. */
#define SHORT(name, call)                                                                       \
    MPI_Aint lower = 0, extent = 0;                                                             \
    int code = CALL(MPI_Type_get_extent)(Datatype_of(*datatype), &lower, &extent);              \
    if (code == MPI_SUCCESS && (call) != (int)(call))                                           \
        code = bcs_fortran_fail(MPI_ERR_ARG, "the result of " name " has no room in an INTEGER" \
                                " of 4 bytes; call MPI_TYPE_GET_EXTENT");                       \
    if (code == MPI_SUCCESS)                                                                    \
        *result = (int)(call);                                                                  \
    DONE(code)

void FORTRAN(mpi_type_extent)(int *datatype, int *result, int *ierror)
{
    ENTER;
    SHORT("MPI_TYPE_EXTENT", extent);
}

void FORTRAN(mpi_type_lb)(int *datatype, int *result, int *ierror)
{
    ENTER;
    SHORT("MPI_TYPE_LB", lower);
}

void FORTRAN(mpi_type_ub)(int *datatype, int *result, int *ierror)
{
    ENTER;
    SHORT("MPI_TYPE_UB", lower + extent);
}

void FORTRAN(mpi_address)(void *location, int *address, int *ierror)
{
    ENTER;
    MPI_Aint full = 0;
    int code = CALL(MPI_Get_address)(address_of(location), &full);
    if (code == MPI_SUCCESS && full != (int)full)
        code = bcs_fortran_fail(MPI_ERR_ARG, "an address has no room in an INTEGER of 4 bytes; call MPI_GET_ADDRESS");
    *address = (int)full;
    DONE(code);
}

void FORTRAN(mpi_type_hvector)(int *count, int *blocklength, int *stride, int *oldtype, int *newtype, int *ierror)
{
    ENTER;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int code = CALL(MPI_Type_create_hvector)(*count, *blocklength, *stride, Datatype_of(*oldtype), &made);
    *newtype = of_Datatype(made);
    DONE(code);
}

void FORTRAN(mpi_type_hindexed)(int *count, int *blocklengths, int *displacements, int *oldtype, int *newtype, int *ierror)
{
    ENTER;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    ARRAY_OF(MPI_Aint, displacements, *count);
    for (int nth = 0; nth < displacements_count; nth++)
        displacements_c[nth] = displacements[nth];
    int code = CALL(MPI_Type_create_hindexed)(*count, blocklengths, displacements_c, Datatype_of(*oldtype), &made);
    FREE_ARRAY(displacements);
    *newtype = of_Datatype(made);
    DONE(code);
}

void FORTRAN(mpi_type_struct)(int *count, int *blocklengths, int *displacements, int *types, int *newtype, int *ierror)
{
    ENTER;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Aint lower = 0, extent = 0, ends[2] = {0, 0};
    int kept = 0, has[2] = {0, 0};
    ARRAY_OF(int, blocklengths, *count);
    ARRAY_OF(MPI_Aint, displacements, *count);
    ARRAY_OF(MPI_Datatype, types, *count);
    for (int nth = 0; nth < types_count; nth++) {
        int end = types[nth] == MARKER_UB;
        MPI_Aint place = displacements[nth];
        if (is_marker(types[nth])) {
            if (!has[end] || (end ? place > ends[end] : place < ends[end]))
                ends[end] = place;
            has[end] = 1;
            continue;
        }
        blocklengths_c[kept] = blocklengths[nth];
        displacements_c[kept] = place;
        types_c[kept++] = Datatype_of(types[nth]);
    }
    int code = CALL(MPI_Type_create_struct)(*count < 0 ? *count : kept, blocklengths_c, displacements_c, types_c, &made);
    if (code == MPI_SUCCESS && (has[0] || has[1])) {
        MPI_Datatype plain = made;
        PMPI_Type_get_extent(plain, &lower, &extent);
        MPI_Aint begin = has[0] ? ends[0] : lower, end = has[1] ? ends[1] : lower + extent;
        code = PMPI_Type_create_resized(plain, begin, end - begin, &made);
        PMPI_Type_free(&plain);
    }
    FREE_ARRAY(blocklengths);
    FREE_ARRAY(displacements);
    FREE_ARRAY(types);
    *newtype = of_Datatype(made);
    DONE(code);
}

void FORTRAN(mpi_type_get_name)(int *datatype, char *type_name, int *resultlen, int *ierror, size_t type_name_length)
{
    ENTER;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int code = MPI_SUCCESS;
    if (is_marker(*datatype)) {
        strcpy(name, *datatype == MARKER_LB ? "MPI_LB" : "MPI_UB");
        *resultlen = (int)strlen(name);
    } else {
        code = CALL(MPI_Type_get_name)(Datatype_of(*datatype), name, resultlen);
    }
    if (code == MPI_SUCCESS)
        give_text(type_name, type_name_length, name);
    DONE(code);
}

void FORTRAN(mpi_errhandler_create)(void (*comm_errhandler_fn)(void), int *errhandler, int *ierror)
{
    FORTRAN(mpi_comm_create_errhandler)(comm_errhandler_fn, errhandler, ierror);
}

void FORTRAN(mpi_errhandler_set)(int *comm, int *errhandler, int *ierror)
{
    ENTER;
    DONE(CALL(MPI_Comm_set_errhandler)(Comm_of(*comm), Errhandler_of(*errhandler)));
}

void FORTRAN(mpi_errhandler_get)(int *comm, int *errhandler, int *ierror)
{
    ENTER;
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    int code = CALL(MPI_Comm_get_errhandler)(Comm_of(*comm), &made);
    *errhandler = of_Errhandler(made);
    DONE(code);
}

/* Processes that are started. An array of arguments ends with a blank one, and blanks around each do
 * not count (11.8.2). */
static char *FORTRAN(text)(const char *text, size_t text_length)
{
    TEXT_IN(text);
    char *made = strdup(text_c);
    if (!made)
        abort();
    return made;
}

static char **FORTRAN(arguments)(const char *first, size_t length, size_t distance)
{
    size_t count = 0;
    while (trimmed(first + count * distance, length) > 0)
        count++;
    char **made = malloc((count + 1) * sizeof(*made));
    if (!made)
        abort();
    for (size_t nth = 0; nth < count; nth++)
        made[nth] = FORTRAN(text)(first + nth * distance, length);
    made[count] = NULL;
    return made;
}

static void FORTRAN(free_arguments)(char **arguments)
{
    for (char **nth = arguments; nth && *nth; nth++)
        free(*nth);
    free(arguments);
}

void FORTRAN(mpi_comm_spawn)(char *command, char *argv, int *maxprocs, int *info, int *root, int *comm, int *intercomm, int *array_of_errcodes, int *ierror, size_t command_length, size_t argv_length)
{
    ENTER;
    TEXT_IN(command);
    MPI_Comm intercomm_c = MPI_COMM_NULL;
    char **argv_c = is_no_text(argv) ? MPI_ARGV_NULL : FORTRAN(arguments)(argv, argv_length, argv_length);
    int code = CALL(MPI_Comm_spawn)(command_c, argv_c, *maxprocs, Info_of(*info), *root, Comm_of(*comm), &intercomm_c, codes_of(array_of_errcodes));
    FORTRAN(free_arguments)(argv_c);
    *intercomm = of_Comm(intercomm_c);
    DONE(code);
}

void FORTRAN(mpi_comm_spawn_multiple)(int *count, char *array_of_commands, char *array_of_argv, int *array_of_maxprocs, int *array_of_info, int *root, int *comm, int *intercomm, int *array_of_errcodes, int *ierror, size_t command_length, size_t argv_length)
{
    ENTER;
    MPI_Comm intercomm_c = MPI_COMM_NULL;
    size_t commands = *count > 0 ? (size_t)*count : 0;
    ARRAY_OF(MPI_Info, array_of_info, *count);
    Infos_of(array_of_info_c, array_of_info, array_of_info_count);
    char **commands_c = calloc(commands + 1, sizeof(*commands_c));
    char ***argv_c = is_no_text(array_of_argv) ? MPI_ARGVS_NULL : calloc(commands + 1, sizeof(*argv_c));
    for (size_t nth = 0; nth < commands; nth++) {
        commands_c[nth] = FORTRAN(text)(array_of_commands + nth * command_length, command_length);
        if (argv_c)
            argv_c[nth] = FORTRAN(arguments)(array_of_argv + nth * argv_length, argv_length, argv_length * commands);
    }
    int code = CALL(MPI_Comm_spawn_multiple)(*count, commands_c, argv_c, array_of_maxprocs, array_of_info_c, *root, Comm_of(*comm), &intercomm_c, codes_of(array_of_errcodes));
    FORTRAN(free_arguments)(commands_c);
    for (size_t nth = 0; argv_c && nth < commands; nth++)
        FORTRAN(free_arguments)(argv_c[nth]);
    free(argv_c);
    FREE_ARRAY(array_of_info);
    *intercomm = of_Comm(intercomm_c);
    DONE(code);
}
