! Long sections of arrays are sent, received and reduced right, and nothing as long as they are is
! allocated for it. Each check stops with a number of its own.
program sections
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_size_t) function bytes_allocated() bind(c)
      import
    end function
  end interface
  integer, parameter :: rows = 100000, columns = 3
  integer, parameter :: few = 64 * 1024
  integer :: rank, size, next, last, nth
  integer(c_size_t) :: before, allocated
  real(8) :: from(2 * rows, columns), to(2 * rows, columns), contiguous(rows, columns)
  type(MPI_Request) :: requests(2)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  last = mod(rank + size - 1, size)
  from = reshape([(real(mod(nth, 1000), 8), nth = 1, 2 * rows * columns)], [2 * rows, columns]) + rank
  call messages
  call reductions
  call short_ones
  call mixed
  call all_to_all
  if (rank == 0) print '(A)', 'no errors'
  call MPI_Finalize()
contains
  subroutine begin
    to = -1
    contiguous = -1
    before = bytes_allocated()
  end subroutine

  subroutine finish(number, expected)
    integer, intent(in) :: number
    real(8), intent(in) :: expected(:, :)
    if (allocated > few) call wrong(number)
    if (any(to(2::2, :) /= -1) .or. any(to(1::2, :) /= expected)) call wrong(number + 1)
  end subroutine

  subroutine messages
    call begin
    call MPI_Irecv(to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, last, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(from(2::2, :), rows * columns, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    allocated = bytes_allocated() - before
    call finish(10, from(2::2, :) - rank + last)
    call begin
    if (rank == 0) to(1::2, :) = from(2::2, :)
    call MPI_Bcast(to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
    allocated = bytes_allocated() - before
    call finish(20, from(2::2, :) - rank)
  end subroutine

  subroutine reductions
    real(8) :: total
    total = real(size * (size - 1) / 2, 8)
    call begin
    call MPI_Allreduce(from(2::2, :), to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    allocated = bytes_allocated() - before
    call finish(30, (from(2::2, :) - rank) * size + total)
    call begin
    to(1::2, :) = from(2::2, :)
    call MPI_Allreduce(MPI_IN_PLACE, to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    allocated = bytes_allocated() - before
    call finish(40, from(2::2, :) - rank + size - 1)
    call begin
    call MPI_Iallreduce(from(2::2, :), to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, MPI_SUM, &
      MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    allocated = bytes_allocated() - before
    call finish(50, (from(2::2, :) - rank) * size + total)
    call begin
    call MPI_Reduce(from(2::2, :), to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, MPI_SUM, size - 1, &
      MPI_COMM_WORLD)
    if (rank /= size - 1) to(1::2, :) = (from(2::2, :) - rank) * size + total
    allocated = bytes_allocated() - before
    call finish(60, (from(2::2, :) - rank) * size + total)
    call begin
    call MPI_Scan(from(2::2, :), to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    allocated = bytes_allocated() - before
    call finish(70, (from(2::2, :) - rank) * (rank + 1) + rank * (rank + 1) / 2)
    call begin
    if (rank == 0) to(1::2, :) = 0
    call MPI_Exscan(from(2::2, :), to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    allocated = bytes_allocated() - before
    call finish(80, (from(2::2, :) - rank) * rank + rank * (rank - 1) / 2)
    call begin
    to(1::2, :) = 1
    call MPI_Reduce_local(from(2::2, :), to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, MPI_SUM)
    allocated = bytes_allocated() - before
    call finish(90, from(2::2, :) + 1)
  end subroutine

  ! Sections of a few bytes, and of as many as the library packs in other ways.
  subroutine short_ones
    integer :: length
    length = 1
    do while (length <= rows)
      call begin
      call MPI_Allreduce(from(2:2 * length:2, 1), to(1:2 * length:2, 1), length, MPI_DOUBLE_PRECISION, MPI_MIN, &
        MPI_COMM_WORLD)
      if (any(to(1:2 * length:2, 1) /= from(2:2 * length:2, 1) - rank)) call wrong(100)
      if (any(to(2:2 * length:2, 1) /= -1) .or. any(to(2 * length + 1:, 1) /= -1)) call wrong(101)
      length = 3 * length
    end do
  end subroutine

  ! Some ranks have sections, and others do not: all take part in one reduction.
  subroutine mixed
    call begin
    if (mod(rank, 2) == 0) then
      call MPI_Allreduce(from(2::2, :), contiguous, rows * columns, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
      to(1::2, :) = contiguous
    else
      contiguous = from(2::2, :)
      before = bytes_allocated()
      call MPI_Allreduce(contiguous, to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    end if
    allocated = bytes_allocated() - before
    call finish(110, from(2::2, :) - rank + size - 1)
    call begin
    if (rank == 0) then
      contiguous = from(2::2, :)
      call MPI_Allreduce(MPI_IN_PLACE, contiguous, rows * columns, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD)
      to(1::2, :) = contiguous
    else
      call MPI_Allreduce(from(2::2, :), to(1::2, :), rows * columns, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD)
    end if
    allocated = bytes_allocated() - before
    call finish(120, from(2::2, :) - rank)
  end subroutine

  ! Blocks begin and end anywhere in a column.
  subroutine all_to_all
    integer :: counts(size), places(size), each
    type(MPI_Datatype) :: types(size)
    real(8), allocatable :: line(:), expected(:)
    each = rows * columns / size
    counts = each
    places = [(nth * each * 8, nth = 0, size - 1)]
    types = MPI_DOUBLE_PRECISION
    line = reshape(from(2::2, :), [rows * columns]) - rank
    allocate(expected(rows * columns))
    expected = -1
    do nth = 0, size - 1
      expected(nth * each + 1:(nth + 1) * each) = line(rank * each + 1:(rank + 1) * each) + nth
    end do
    call begin
    call MPI_Alltoallw(from(2::2, :), counts, places, types, to(1::2, :), counts, places, types, MPI_COMM_WORLD)
    allocated = bytes_allocated() - before
    call finish(130, reshape(expected, [rows, columns]))
    call begin
    call MPI_Ialltoallw(from(2::2, :), counts, places, types, to(1::2, :), counts, places, types, &
      MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    allocated = bytes_allocated() - before
    call finish(140, reshape(expected, [rows, columns]))
  end subroutine

  subroutine wrong(number)
    integer, intent(in) :: number
    print '(A, I0)', 'wrong: check ', number
    call MPI_Abort(MPI_COMM_WORLD, number)
  end subroutine
end program
