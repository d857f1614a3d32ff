# BCS-MPI @VERSION@ for CMake. `find_package(bcs-mpi CONFIG)` gives two imported targets:
#
#   bcs-mpi::mpi      what programs of mpi.h and bcs.h are linked with, in C and C++
#   bcs-mpi::mpiexec  what runs them: add_test(NAME ring COMMAND bcs-mpi::mpiexec -n 4 $<TARGET_FILE:ring>)
#
# CMake's own `find_package(MPI)` finds this library, too, by the mpicc on PATH.

get_filename_component(_bcs_mpi_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)

if(NOT TARGET bcs-mpi::mpi)
  add_library(bcs-mpi::mpi SHARED IMPORTED)
  set_target_properties(bcs-mpi::mpi PROPERTIES
    IMPORTED_LOCATION "${_bcs_mpi_prefix}/lib/@SONAME@"
    IMPORTED_SONAME "@SONAME@"
    INTERFACE_INCLUDE_DIRECTORIES "${_bcs_mpi_prefix}/include"
    INTERFACE_COMPILE_DEFINITIONS "@DEFINE@")
endif()

if(NOT TARGET bcs-mpi::mpiexec)
  add_executable(bcs-mpi::mpiexec IMPORTED)
  set_target_properties(bcs-mpi::mpiexec PROPERTIES
    IMPORTED_LOCATION "${_bcs_mpi_prefix}/bin/mpiexec")
endif()

unset(_bcs_mpi_prefix)
