"""BCS-MPI for Spack: a provider of the virtual package `mpi`.

`docs/packages.md` says how to use this repository of packages.
"""

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class BcsMpi(Package):
    """MPI runtime after Buffered Coscheduling, with the MPI 5.0 standard ABI, deadlock detection
    and per-slice monitoring."""

    homepage = "https://example.invalid/bcs-mpi"
    git = "https://example.invalid/bcs-mpi.git"

    license("MIT OR Apache-2.0", checked_by="bcs-mpi")

    version("main", branch="main")

    variant("fortran", default=True, description="Compile the modules of Fortran at installation")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.95:", type="build")
    # `strip` removes the debug information of what is installed.
    depends_on("binutils", type="build")

    provides("mpi@:5.0")

    # The runtime uses calls of the kernel and instructions of these.
    requires("platform=linux", msg="BCS-MPI needs Linux")
    requires("target=x86_64:", msg="BCS-MPI needs a processor of the x86-64 family")

    def install(self, spec, prefix):
        words = ["xtask", "install", "--prefix", prefix]
        if spec.satisfies("+fortran"):
            # The compiler itself, and not Spack's wrapper: programs find its modules by its name.
            words += ["--fortran", spec["fortran"].package.fortran]
        which("cargo", required=True)(*words)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        """Run a program of C with three ranks on one node and on two."""
        source = join_path(self.stage.source_path, "toolchain", "tests", "c", "ring.c")
        with working_dir("spack-check", create=True):
            Executable(self.prefix.bin.mpicc)("-o", "ring", source)
            launch = Executable(self.prefix.bin.mpiexec)
            launch("-n", "3", "./ring")
            launch("-n", "3", "--nodes", "2", "./ring")

    def setup_run_environment(self, env):
        for variable, wrapper in (
            ("MPICC", "mpicc"),
            ("MPICXX", "mpicxx"),
            ("MPIF77", "mpif77"),
            ("MPIF90", "mpif90"),
        ):
            env.set(variable, join_path(self.prefix.bin, wrapper))

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # The wrappers call the compilers of the package that is built.
        module = dependent_spec.package.module
        compilers = (("BCS_CC", "spack_cc"), ("BCS_CXX", "spack_cxx"), ("BCS_FC", "spack_fc"))
        for variable, compiler in compilers:
            if hasattr(module, compiler):
                env.set(variable, getattr(module, compiler))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        self.spec.mpif77 = join_path(self.prefix.bin, "mpif77")
        self.spec.mpifc = join_path(self.prefix.bin, "mpif90")

    @property
    def headers(self):
        return find_headers("mpi", self.prefix.include, recursive=False)

    @property
    def libs(self):
        return find_libraries("libmpi_abi", self.prefix.lib, shared=True, recursive=False)
