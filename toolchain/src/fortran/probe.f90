! Tries whether this compiler's descriptors have the layout that the glue reads, and whether texts of
! procedures with a binding label come as descriptors, too. Prints the value of .true. in C.
program probe
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function is_known(section, first) bind(C, name="bcs_fortran_probe") result(answer)
      import :: c_int, c_double
      type(*), dimension(..), intent(in) :: section
      real(c_double), intent(in) :: first
      integer(c_int) :: answer
    end function
    function is_text(text) bind(C, name="bcs_fortran_probe_text") result(answer)
      import :: c_int
      character(len=*), intent(in) :: text
      integer(c_int) :: answer
    end function
  end interface
  real(c_double), target :: array(10, 7, 6)
  array = 0
  if (is_known(array(2:10:2, :, 1:6:2), array(2, 1, 1)) == 0) stop 1
  if (is_text("seven b") == 0) stop 2
  print '(I0)', transfer(.true., 0_c_int)
end program
