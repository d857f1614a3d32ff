! Parts of MPI that the library does not have yet have names in Fortran, too, and return a code, as does a
! program to spawn that does not exist. A section of an array that no datatype describes is refused
! where the call would go on after it has returned, and one with fewer elements than the count says.
program missing
  use mpi_f08
  implicit none
  type(MPI_File) :: file
  type(MPI_Comm) :: children
  type(MPI_Request) :: request
  integer :: memory(4, 4), sums(4, 4), code, class
  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  memory = 1
  call MPI_File_open(MPI_COMM_WORLD, 'none', MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
  call expect(MPI_ERR_UNSUPPORTED_OPERATION, 2)
  call MPI_Comm_spawn('none', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, children, MPI_ERRCODES_IGNORE, code)
  call expect(MPI_ERR_SPAWN, 3)
  call MPI_Iallreduce(memory(1, :), sums(1, :), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, code)
  call expect(MPI_SUCCESS, 4)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Ireduce_scatter_block(memory(1, :), sums(1, :), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, code)
  call expect(MPI_ERR_BUFFER, 9)
  call MPI_Iallreduce(memory(:, 1), sums(:, 1), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, code)
  call expect(MPI_SUCCESS, 5)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  ! Nothing is between the elements of a section that has none.
  call MPI_Iallreduce(memory(1, 4:1), sums(1, 4:1), 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, code)
  call expect(MPI_SUCCESS, 6)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Send(memory(1, :), 5, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
  call expect(MPI_ERR_BUFFER, 7)
  call MPI_Recv(memory(1, :), 5, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  call expect(MPI_ERR_BUFFER, 8)
  print '(A)', 'no errors'
  call MPI_Finalize()
contains
  subroutine expect(wanted, number)
    integer, intent(in) :: wanted, number
    call MPI_Error_class(code, class)
    if (class /= wanted) then
      print *, 'check', number, 'has the class', class
      call MPI_Abort(MPI_COMM_WORLD, number)
    end if
  end subroutine
end program
