! The value of .true. of a compiler whose value is not 1. It takes the place of the library's.
module bcs_logical
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  integer(c_int), bind(C, name="bcs_fortran_true") :: true = transfer(.true., 0_c_int)
end module
