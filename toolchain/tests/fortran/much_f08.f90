! Much of the module mpi_f08: types of handles, missing ierror, sections of arrays, large counts and
! functions of the program. Each check stops with a number of its own.
module callbacks
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: deleted = 0, handled = 0, released = 0
contains
  subroutine larger(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    if (datatype /= MPI_INTEGER) call wrong(1)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = max(in, inout)
  end subroutine
  subroutine larger_c(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer :: short
    short = int(len)
    call larger(invec, inoutvec, short, datatype)
  end subroutine
  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    if (oldcomm /= MPI_COMM_WORLD .or. extra_state /= 77) call wrong(2)
    attribute_val_out = attribute_val_in + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code, class
    call MPI_Error_class(error_code, class)
    if (comm /= MPI_COMM_WORLD .or. class /= MPI_ERR_RANK) call wrong(3)
    handled = handled + 1
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, 5, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status%MPI_SOURCE = int(extra_state)
  end subroutine
  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    released = released + 1
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
    print '(A, I0)', 'wrong: check ', number
    call MPI_Abort(MPI_COMM_WORLD, number)
  end subroutine
end module

program much_f08
  use callbacks
  implicit none
  integer :: rank, size, next, last
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(comm=MPI_COMM_WORLD, size=size)
  next = mod(rank + 1, size)
  last = mod(rank + size - 1, size)
  call messages
  call sections
  call blocks
  call counts
  call texts
  call functions
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print '(A)', 'no errors'
  call MPI_Finalize()
contains
  subroutine messages
    type(MPI_Request) :: requests(4)
    type(MPI_Status) :: status, statuses(4)
    integer :: index, count, ierror, old(MPI_STATUS_SIZE)
    real(8) :: got(10)
    logical :: flag
    requests = MPI_REQUEST_NULL
    call MPI_Irecv(got, 10, MPI_DOUBLE_PRECISION, last, 4, MPI_COMM_WORLD, requests(2))
    call MPI_Send([(real(index, 8), index = 1, 10)], 10, MPI_DOUBLE_PRECISION, next, 4, MPI_COMM_WORLD)
    call MPI_Waitany(2, requests, index, status)
    if (index /= 2 .or. requests(2) /= MPI_REQUEST_NULL .or. got(10) /= 10) call wrong(10)
    if (status%MPI_SOURCE /= last .or. status%MPI_TAG /= 4) call wrong(11)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count)
    call MPI_Status_f082f(status, old)
    if (count /= 10 .or. old(MPI_SOURCE) /= last .or. old(MPI_TAG) /= 4) call wrong(12)
    call MPI_Testall(4, requests, flag, statuses, ierror)
    if (.not. flag .or. ierror /= MPI_SUCCESS) call wrong(13)
    call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE)
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, next, 1, index, 1, MPI_INTEGER, last, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    if (index /= last) call wrong(14)
    if (.not. MPI_SUBARRAYS_SUPPORTED) call wrong(15)
  end subroutine

  ! Sections go as they lie: strided, of several dimensions, reversed, and parts of them.
  subroutine sections
    type(MPI_Request) :: requests(2)
    real(8) :: from(6, 5, 4), to(6, 5, 4), expected(6, 5, 4)
    complex(8) :: row(8), other(8)
    integer :: nth
    from = reshape([(real(nth, 8), nth = 1, 120)], [6, 5, 4]) + 1000 * rank
    to = -1
    expected = -1
    expected(1:6:2, 2:5, 1:4:3) = from(2:6:2, 1:4, 2:3) + 1000 * (last - rank)
    call MPI_Irecv(to(1:6:2, 2:5, 1:4:3), 24, MPI_DOUBLE_PRECISION, last, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(from(2:6:2, 1:4, 2:3), 24, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    if (any(to /= expected)) call wrong(20)
    ! A part of a section, and one that runs backwards.
    to = -1
    call MPI_Sendrecv(from(:, 5:1:-1, 1), 9, MPI_DOUBLE_PRECISION, next, 2, to(1, :, :), 9, &
      MPI_DOUBLE_PRECISION, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    expected = -1
    expected(1, 1:5, 1) = [from(1:5, 5, 1)] + 1000 * (last - rank)
    expected(1, 1:4, 2) = [from(6, 5, 1), from(1:3, 4, 1)] + 1000 * (last - rank)
    if (any(to /= expected)) call wrong(21)
    ! Each element holds two of the datatype.
    row = [(cmplx(nth, -nth, 8), nth = 1, 8)]
    other = 0
    call MPI_Sendrecv(row(1:8:2), 8, MPI_DOUBLE_PRECISION, rank, 3, other(2:8:2), 8, MPI_DOUBLE_PRECISION, &
      rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (any(other(2:8:2) /= row(1:8:2)) .or. any(other(1:8:2) /= 0)) call wrong(22)
    to = 0
    if (rank == 0) to(2, :, :) = 7
    call MPI_Bcast(to(2, :, :), 20, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
    if (any(to(2, :, :) /= 7) .or. sum(to) /= 140) call wrong(23)
  end subroutine

  ! Collectives of several blocks, and reductions.
  subroutine blocks
    integer :: all(2, size), twice(2, 2 * size), table(2, 2, size), counts(size), places(size), nth
    type(MPI_Request) :: request
    all = -1
    call MPI_Allgather(rank, 1, MPI_INTEGER, all(1, :), 1, MPI_INTEGER, MPI_COMM_WORLD)
    if (any(all(1, :) /= [(nth, nth = 0, size - 1)]) .or. any(all(2, :) /= -1)) call wrong(30)
    call MPI_Iallgather(rank + 5, 1, MPI_INTEGER, all(2, :), 1, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (any(all(2, :) /= [(nth + 5, nth = 0, size - 1)])) call wrong(31)
    twice = 0
    twice(1, :) = 1
    call MPI_Allreduce(MPI_IN_PLACE, twice(1, :), 2 * size, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (any(twice(1, :) /= size) .or. any(twice(2, :) /= 0)) call wrong(32)
    table = -1
    call MPI_Allgather([rank, -rank], 2, MPI_INTEGER, table(2, 1:2, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    if (any(table(2, 1, :) /= [(nth, nth = 0, size - 1)]) .or. any(table(1, :, :) /= -1)) call wrong(33)
    counts = 1
    places = [(2 * nth, nth = 0, size - 1)]
    twice = -1
    call MPI_Allgatherv(rank, 1, MPI_INTEGER, twice(2, :), counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    if (any(twice(2, 1::2) /= [(nth, nth = 0, size - 1)]) .or. any(twice(2, 2::2) /= -1)) call wrong(34)
  end subroutine

  subroutine counts
    integer(MPI_COUNT_KIND) :: many, lower, extent
    type(MPI_Status) :: status
    type(MPI_Datatype) :: made
    type(MPI_Op) :: op
    integer :: got, small
    many = 1
    call MPI_Sendrecv(rank, many, MPI_INTEGER, next, 1, got, many, MPI_INTEGER, last, 1, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, many)
    call MPI_Get_count(status, MPI_INTEGER, small)
    if (got /= last .or. many /= 1 .or. small /= 1) call wrong(40)
    many = 3000000000_MPI_COUNT_KIND
    call MPI_Type_contiguous(many, MPI_INTEGER, made)
    call MPI_Type_size(made, many)
    call MPI_Type_get_extent(made, lower, extent)
    if (many /= 12000000000_MPI_COUNT_KIND .or. extent /= many .or. lower /= 0) call wrong(41)
    call MPI_Type_free(made)
    if (made /= MPI_DATATYPE_NULL) call wrong(42)
    call MPI_Op_create_c(larger_c, .true., op)
    call MPI_Allreduce(rank, got, 1_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD)
    if (got /= size - 1) call wrong(43)
    call MPI_Op_free(op)
  end subroutine

  subroutine texts
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=10) :: packed
    integer :: length
    integer(MPI_ADDRESS_KIND) :: position
    type(MPI_Comm) :: comm
    type(MPI_Info) :: info
    type(MPI_Request) :: request
    type(c_ptr) :: memory
    logical :: flag
    real, pointer :: reals(:)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_free(comm)
    ! A handle that exists before its communicator.
    call MPI_Comm_idup(MPI_COMM_WORLD, comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Comm_set_name(comm, 'a name')
    call MPI_Comm_get_name(comm, name, length)
    if (name /= 'a name' .or. length /= 6) call wrong(50)
    call MPI_Comm_free(comm)
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', 'the value')
    call MPI_Info_get(info, 'key', 30, name, flag)
    if (.not. flag .or. name /= 'the value') call wrong(51)
    call MPI_Info_free(info)
    position = 0
    call MPI_Pack_external('external32  ', rank, 1, MPI_INTEGER, packed, 10_MPI_ADDRESS_KIND, position)
    position = 0
    call MPI_Unpack_external('external32', packed, 10_MPI_ADDRESS_KIND, position, length, 1, MPI_INTEGER)
    if (length /= rank .or. position /= 4) call wrong(52)
    call MPI_Alloc_mem(400_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory)
    call c_f_pointer(memory, reals, [100])
    reals = 3
    call MPI_Free_mem(reals)
    call MPI_Sizeof(position, length)
    if (length /= 8) call wrong(53)
  end subroutine

  subroutine functions
    type(MPI_Op) :: op
    type(MPI_Comm) :: comm
    type(MPI_Errhandler) :: handler, same_handler
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: got, key, count, ierror
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Op_create(larger, .true., op)
    call MPI_Allreduce(rank, got, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    if (got /= size - 1) call wrong(60)
    call MPI_Op_commutative(op, flag)
    if (.not. flag) call wrong(61)
    call MPI_Op_free(op)
    call MPI_Comm_create_keyval(copy, delete, key, 77_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 12345678912345_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_get_attr(comm, key, value, flag)
    if (.not. flag .or. value /= 12345678912346_MPI_ADDRESS_KIND) call wrong(62)
    call MPI_Comm_free(comm)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key)
    if (deleted /= 2) call wrong(63)
    call MPI_Comm_free_keyval(key)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_free_keyval(key)
    call MPI_Comm_create_errhandler(handle, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, same_handler)
    if (same_handler /= handler) call wrong(98)
    call MPI_Errhandler_free(same_handler)
    call MPI_Send(rank, 1, MPI_INTEGER, size + 7, 1, MPI_COMM_WORLD, ierror)
    if (handled /= 1 .or. ierror == MPI_SUCCESS) call wrong(64)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(handler)
    call MPI_Grequest_start(query, release, cancel, 3_MPI_ADDRESS_KIND, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_elements(status, MPI_INTEGER, count)
    if (count /= 5 .or. status%MPI_SOURCE /= 3 .or. released /= 1) call wrong(65)
    if (MPI_Wtime() <= 0) call wrong(66)
  end subroutine
end program
