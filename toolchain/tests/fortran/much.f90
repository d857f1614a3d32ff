! Much of the module mpi: handles, texts, logicals, statuses, indices, sentinels and functions of the
! program. Each check stops with a number of its own.
module callbacks
  use mpi
  implicit none
  integer :: deleted = 0, handled = 0, freed = 0
contains
  subroutine larger(invec, inoutvec, len, datatype)
    integer :: len, datatype
    integer :: invec(len), inoutvec(len)
    if (datatype /= MPI_INTEGER) call wrong(1)
    inoutvec = max(invec, inoutvec)
  end subroutine
  subroutine copy(oldcomm, keyval, extra_state, value_in, value_out, flag, ierror)
    integer :: oldcomm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    if (oldcomm /= MPI_COMM_WORLD .or. extra_state /= 77) call wrong(2)
    value_out = value_in + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete(comm, keyval, value, extra_state, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle(comm, code)
    integer :: comm, code, class, ierror
    call MPI_Error_class(code, class, ierror)
    if (comm /= MPI_COMM_WORLD .or. class /= MPI_ERR_RANK) call wrong(3)
    handled = handled + 1
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: status(MPI_STATUS_SIZE), ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, 5, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = int(extra_state)
    status(MPI_TAG) = 9
  end subroutine
  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
  subroutine wrong(number)
    integer, intent(in) :: number
    integer :: ierror
    print '(A, I0)', 'wrong: check ', number
    call MPI_Abort(MPI_COMM_WORLD, number, ierror)
  end subroutine
end module

program much
  use callbacks
  implicit none
  integer :: rank, size, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call messages
  call texts
  call grids
  call functions
  call types
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(A)', 'no errors'
  call MPI_Finalize(ierror)
contains
  subroutine messages
    integer :: requests(4), statuses(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE)
    integer :: indices(4), done, index, count, next, last, nth
    real(8) :: sent(10, 10), got(10)
    logical :: flag
    next = mod(rank + 1, size)
    last = mod(rank + size - 1, size)
    sent = rank
    call MPI_Irecv(got, 10, MPI_DOUBLE_PRECISION, last, 4, MPI_COMM_WORLD, requests(2), ierror)
    requests(1) = MPI_REQUEST_NULL
    call MPI_Send(sent(3, :), 10, MPI_DOUBLE_PRECISION, next, 4, MPI_COMM_WORLD, ierror)
    call MPI_Waitany(2, requests, index, status, ierror)
    if (index /= 2 .or. requests(2) /= MPI_REQUEST_NULL .or. any(got /= last)) call wrong(10)
    if (status(MPI_SOURCE) /= last .or. status(MPI_TAG) /= 4) call wrong(11)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierror)
    if (count /= 10) call wrong(12)
    call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE, ierror)
    if (index /= MPI_UNDEFINED) call wrong(13)
    do nth = 1, 4
      call MPI_Irecv(got(nth), 1, MPI_DOUBLE_PRECISION, last, 10 + nth, MPI_COMM_WORLD, requests(nth), ierror)
    end do
    do nth = 1, 4
      call MPI_Send(real(nth, 8), 1, MPI_DOUBLE_PRECISION, next, 10 + nth, MPI_COMM_WORLD, ierror)
    end do
    call MPI_Waitsome(4, requests, done, indices, statuses, ierror)
    if (done < 1 .or. any(indices(:done) < 1) .or. any(indices(:done) > 4)) call wrong(14)
    if (statuses(MPI_TAG, 1) /= 10 + indices(1)) call wrong(15)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    if (any(got(:4) /= [1d0, 2d0, 3d0, 4d0]) .or. any(requests /= MPI_REQUEST_NULL)) call wrong(16)
    call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag, status, ierror)
    if (flag) call wrong(17)
    call MPI_Testall(4, requests, flag, statuses, ierror)
    if (.not. flag) call wrong(18)
  end subroutine

  subroutine texts
    character(len=40) :: name, value
    integer :: length, info, keys
    logical :: flag
    integer :: comm
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_set_name(comm, 'a name   ', ierror)
    name = 'xxxxxxxxxxxxxxxxxxxxxxxxx'
    call MPI_Comm_get_name(comm, name, length, ierror)
    if (name /= 'a name' .or. length /= 6) call wrong(20)
    call MPI_Comm_free(comm, ierror)
    if (comm /= MPI_COMM_NULL) call wrong(21)
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, ' key ', ' the value ', ierror)
    call MPI_Info_get(info, 'key', 30, value, flag, ierror)
    if (.not. flag .or. value /= 'the value') call wrong(22)
    call MPI_Info_get(info, 'other', 30, value, flag, ierror)
    if (flag) call wrong(23)
    length = 3
    call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
    if (.not. flag .or. value /= 'the' .or. length /= 9) call wrong(24)
    call MPI_Info_get_valuelen(info, 'key', length, flag, ierror)
    call MPI_Info_get_nkeys(info, keys, ierror)
    call MPI_Info_get_nthkey(info, 0, name, ierror)
    if (length /= 9 .or. keys /= 1 .or. name /= 'key') call wrong(25)
    call MPI_Info_free(info, ierror)
    call MPI_Error_string(MPI_ERR_RANK, name, length, ierror)
    if (length < 1 .or. name == '') call wrong(26)
  end subroutine

  subroutine grids
    integer :: grid, row, dims(2), coords(2), sources(2), weights(2), graph, in, out
    logical :: periods(2), weighted
    dims = [size, 1]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., grid, ierror)
    call MPI_Cart_get(grid, 2, dims, periods, coords, ierror)
    if (.not. periods(1) .or. periods(2) .or. dims(1) /= size .or. coords(1) /= rank) call wrong(30)
    call MPI_Cart_sub(grid, [.false., .true.], row, ierror)
    call MPI_Comm_size(row, in, ierror)
    if (in /= 1) call wrong(31)
    call MPI_Comm_free(row, ierror)
    call MPI_Comm_free(grid, ierror)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [mod(rank + size - 1, size)], MPI_UNWEIGHTED, &
      1, [mod(rank + 1, size)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, ierror)
    call MPI_Dist_graph_neighbors_count(graph, in, out, weighted, ierror)
    if (in /= 1 .or. out /= 1 .or. weighted) call wrong(32)
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, sources, 1, MPI_INTEGER, graph, ierror)
    if (sources(1) /= mod(rank + size - 1, size)) call wrong(33)
    weights = 0
    call MPI_Comm_free(graph, ierror)
  end subroutine

  subroutine functions
    integer :: op, got, key, comm, handler, same_handler, request, status(MPI_STATUS_SIZE), count
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Op_create(larger, .true., op, ierror)
    call MPI_Allreduce(rank, got, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
    if (got /= size - 1) call wrong(40)
    call MPI_Op_free(op, ierror)
    call MPI_Comm_create_keyval(copy, delete, key, 77_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 12345678912345_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_attr(comm, key, value, flag, ierror)
    if (.not. flag .or. value /= 12345678912346_MPI_ADDRESS_KIND) call wrong(41)
    call MPI_Comm_free(comm, ierror)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
    if (deleted /= 2) call wrong(42)
    call MPI_Comm_free_keyval(key, ierror)
    if (key /= MPI_KEYVAL_INVALID) call wrong(43)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
    if (.not. flag .or. value < 32767) call wrong(44)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, -5_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_attr(comm, key, value, flag, ierror)
    if (.not. flag .or. value /= -5) call wrong(45)
    call MPI_Comm_free(comm, ierror)
    call MPI_Comm_create_errhandler(handle, handler, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, same_handler, ierror)
    if (same_handler /= handler) call wrong(98)
    call MPI_Errhandler_free(same_handler, ierror)
    call MPI_Send(rank, 1, MPI_INTEGER, size + 7, 1, MPI_COMM_WORLD, ierror)
    if (handled /= 1 .or. ierror == MPI_SUCCESS) call wrong(46)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Grequest_start(query, release, cancel, 3_MPI_ADDRESS_KIND, request, ierror)
    call MPI_Test(request, flag, status, ierror)
    if (flag) call wrong(47)
    call MPI_Grequest_complete(request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Get_elements(status, MPI_INTEGER, count, ierror)
    if (count /= 5 .or. status(MPI_SOURCE) /= 3 .or. freed /= 1) call wrong(48)
  end subroutine

  subroutine types
    integer :: made, integers(3), datatypes(1), n(3), combiner, bytes, all(size)
    integer(MPI_ADDRESS_KIND) :: addresses(1), first, second, lower, extent
    real :: matrix(4, 4), column(4)
    logical :: both
    call MPI_Type_vector(4, 1, 4, MPI_REAL, made, ierror)
    call MPI_Type_commit(made, ierror)
    call MPI_Type_get_envelope(made, n(1), n(2), n(3), combiner, ierror)
    if (any(n /= [3, 0, 1]) .or. combiner /= MPI_COMBINER_VECTOR) call wrong(50)
    call MPI_Type_get_contents(made, 3, 0, 1, integers, addresses, datatypes, ierror)
    if (any(integers /= [4, 1, 4]) .or. datatypes(1) /= MPI_REAL) call wrong(51)
    matrix = reshape([(real(bytes), bytes = 1, 16)], [4, 4])
    call MPI_Sendrecv(matrix(2, 1), 1, made, rank, 0, column, 4, MPI_REAL, rank, 0, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, ierror)
    if (any(column /= [2., 6., 10., 14.])) call wrong(52)
    call MPI_Type_free(made, ierror)
    call MPI_Get_address(matrix(1, 1), first, ierror)
    call MPI_Get_address(matrix(2, 1), second, ierror)
    if (MPI_Aint_diff(second, first) /= 4) call wrong(53)
    call MPI_Type_create_struct(1, [16], [first], [MPI_REAL], made, ierror)
    call MPI_Type_commit(made, ierror)
    if (rank == 0) matrix = 8
    call MPI_Bcast(MPI_BOTTOM, 1, made, 0, MPI_COMM_WORLD, ierror)
    if (any(matrix /= 8)) call wrong(54)
    call MPI_Type_free(made, ierror)
    call MPI_Type_create_f90_real(12, 100, made, ierror)
    call MPI_Type_size(made, bytes, ierror)
    call MPI_Type_get_extent(made, lower, extent, ierror)
    if (bytes /= 8 .or. extent /= 8) call wrong(55)
    call MPI_Sizeof(matrix, bytes, ierror)
    if (bytes /= 4) call wrong(56)
    all(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    if (any(all /= [(bytes, bytes = 0, size - 1)])) call wrong(57)
    both = rank == 0
    call MPI_Allreduce(MPI_IN_PLACE, both, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
    if (.not. both) call wrong(58)
    if (MPI_Wtime() <= 0 .or. MPI_Wtick() <= 0) call wrong(59)
    call old_markers
  end subroutine

  ! Markers of bounds, which only MPI_TYPE_STRUCT takes.
  subroutine old_markers
    integer :: made, length
    integer(MPI_ADDRESS_KIND) :: lower, extent
    character(len=MPI_MAX_OBJECT_NAME) :: name
    external :: MPI_TYPE_STRUCT
    call MPI_TYPE_STRUCT(3, [1, 2, 1], [-8, 0, 24], [MPI_LB, MPI_REAL, MPI_UB], made, ierror)
    call MPI_Type_get_extent(made, lower, extent, ierror)
    call MPI_Type_size(made, length, ierror)
    if (lower /= -8 .or. extent /= 32 .or. length /= 8) call wrong(70)
    call MPI_Type_free(made, ierror)
    call MPI_Type_get_name(MPI_UB, name, length, ierror)
    if (name /= 'MPI_UB' .or. length /= 6) call wrong(71)
    call MPI_Type_get_name(MPI_REAL, name, length, ierror)
    if (name /= 'MPI_REAL' .or. length /= 8) call wrong(72)
  end subroutine
end program
