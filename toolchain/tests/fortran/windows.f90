! A window of memory that the library allocates: a put between fences, attributes, and a lock.
program win
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, right, left
  integer(MPI_ADDRESS_KIND) :: bytes, disp, found
  logical :: flag
  integer, pointer :: base(:)
  type(c_ptr) :: memory
  type(MPI_Win) :: window
  integer :: word
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = modulo(rank + 1, ranks); left = modulo(rank - 1 + ranks, ranks)
  bytes = 16
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, window)
  call c_f_pointer(memory, base, [4])
  base = 0
  call MPI_Win_fence(0, window)
  disp = 2
  call MPI_Put(rank, 1, MPI_INTEGER, right, disp, 1, MPI_INTEGER, window)
  call MPI_Win_fence(0, window)
  if (base(3) /= left) error stop 'the put is not there'
  call MPI_Win_get_attr(window, MPI_WIN_SIZE, found, flag)
  if (.not. flag .or. found /= 16) error stop 'the size is wrong'
  call MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, found, flag)
  if (.not. flag .or. found /= 4) error stop 'the unit is wrong'
  call MPI_Win_get_attr(window, MPI_WIN_MODEL, found, flag)
  if (.not. flag .or. found /= MPI_WIN_UNIFIED) error stop 'the model is wrong'
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window)
  call MPI_Get(word, 1, MPI_INTEGER, 0, disp, 1, MPI_INTEGER, window)
  call MPI_Win_unlock(0, window)
  if (word /= ranks - 1) error stop 'the get is wrong'
  call MPI_Win_free(window)
  if (rank == 0) print '(a)', 'no errors'
  call MPI_Finalize()
end program
