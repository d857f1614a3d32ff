    subroutine MPI_User_function(invec, inoutvec, len, datatype)
      import :: c_ptr, MPI_Datatype
      type(c_ptr), value :: invec, inoutvec
      integer :: len
      type(MPI_Datatype) :: datatype
    end subroutine
    subroutine MPI_User_function_c(invec, inoutvec, len, datatype)
      import :: c_ptr, MPI_Datatype, MPI_COUNT_KIND
      type(c_ptr), value :: invec, inoutvec
      integer(MPI_COUNT_KIND) :: len
      type(MPI_Datatype) :: datatype
    end subroutine
    subroutine MPI_Grequest_query_function(extra_state, status, ierror)
      import :: MPI_ADDRESS_KIND, MPI_Status
      integer(MPI_ADDRESS_KIND) :: extra_state
      type(MPI_Status) :: status
      integer :: ierror
    end subroutine
    subroutine MPI_Grequest_free_function(extra_state, ierror)
      import :: MPI_ADDRESS_KIND
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_Grequest_cancel_function(extra_state, complete, ierror)
      import :: MPI_ADDRESS_KIND
      integer(MPI_ADDRESS_KIND) :: extra_state
      logical :: complete
      integer :: ierror
    end subroutine
    subroutine MPI_Datarep_extent_function(datatype, extent, extra_state, ierror)
      import :: MPI_ADDRESS_KIND, MPI_Datatype
      type(MPI_Datatype) :: datatype
      integer(MPI_ADDRESS_KIND) :: extent, extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_Datarep_conversion_function(userbuf, datatype, count, filebuf, position, &
        extra_state, ierror)
      import :: c_ptr, MPI_ADDRESS_KIND, MPI_Datatype, MPI_OFFSET_KIND
      type(c_ptr), value :: userbuf, filebuf
      type(MPI_Datatype) :: datatype
      integer :: count
      integer(MPI_OFFSET_KIND) :: position
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_Datarep_conversion_function_c(userbuf, datatype, count, filebuf, position, &
        extra_state, ierror)
      import :: c_ptr, MPI_ADDRESS_KIND, MPI_COUNT_KIND, MPI_Datatype, MPI_OFFSET_KIND
      type(c_ptr), value :: userbuf, filebuf
      type(MPI_Datatype) :: datatype
      integer(MPI_COUNT_KIND) :: count
      integer(MPI_OFFSET_KIND) :: position
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer :: ierror
    end subroutine
