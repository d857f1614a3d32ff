//! Compiler wrappers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::header::FORTRAN_NAMES;
use crate::installed_files::{link, write};

/// A wrapper: its names, its language, and flags.
#[derive(Debug)]
pub(crate) struct Wrapper {
    pub(crate) name: &'static str,
    /// Other names of it, which programs expect.
    also: &'static [&'static str],
    language: Language,
    /// Whether it enables names that the ABI lacks.
    more_names: bool,
}

/// The language of a wrapper's compiler.
#[derive(Debug, Clone, Copy)]
enum Language {
    C,
    Cxx,
}

impl Language {
    /// The compiler, in the syntax of the shell: the one that our variable names, or that of
    /// another MPI, or the machine's. People who change MPI keep their scripts.
    fn compiler(self) -> &'static str {
        match self {
            Self::C => "${BCS_CC:-${MPICH_CC:-${OMPI_CC:-${I_MPI_CC:-cc}}}}",
            Self::Cxx => "${BCS_CXX:-${MPICH_CXX:-${OMPI_CXX:-${I_MPI_CXX:-c++}}}}",
        }
    }

    /// The variable that names another compiler.
    fn variable(self) -> &'static str {
        match self {
            Self::C => "BCS_CC",
            Self::Cxx => "BCS_CXX",
        }
    }

    /// The options that name another compiler, as patterns of the shell.
    fn options(self) -> &'static str {
        match self {
            Self::C => "-cc=*",
            Self::Cxx => "-cxx=*|-CC=*",
        }
    }
}

/// All wrappers. The first one has the manual page.
pub(crate) const WRAPPERS: [Wrapper; 4] = [
    Wrapper {
        name: "mpicc",
        also: &[],
        language: Language::C,
        more_names: true,
    },
    Wrapper {
        name: "mpicc_abi",
        also: &[],
        language: Language::C,
        more_names: false,
    },
    Wrapper {
        name: "mpicxx",
        also: &["mpic++", "mpiCC"],
        language: Language::Cxx,
        more_names: true,
    },
    Wrapper {
        name: "mpicxx_abi",
        also: &[],
        language: Language::Cxx,
        more_names: false,
    },
];

impl Wrapper {
    /// Returns all names, the first one first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.also.iter().copied())
    }
}

/// A wrapper finds its installation from its own path, also through symbolic links.
const SCRIPT: &str = r#"#!/bin/sh
# A compiler for programs of MPI. -show prints what it would run, -compile_info and -link_info the two parts of it, and
# --showme:compile and --showme:link those without the compiler.
set -f
here=$(dirname "$(readlink -f "$0")") && prefix=$(dirname "$here") || exit 1
compiler=@COMPILER@
compile="-I$prefix/include@DEFINE@"
link="-L$prefix/lib -Wl,-rpath,$prefix/lib -lmpi_abi"
links=no
show=no
for word; do
    shift
    case $word in
        @OPTIONS@) compiler=${word#*=}; continue ;;
        -show|--show|-showme|--showme) show=all; continue ;;
        -compile_info) show=compile; continue ;;
        -link_info) show=link; continue ;;
        --showme:compile|-showme:compile) show=compile_flags; continue ;;
        --showme:link|-showme:link) show=link_flags; continue ;;
        --showme:command|-showme:command) show=command; continue ;;
        --showme:incdirs|-showme:incdirs) show=incdirs; continue ;;
        --showme:libdirs|-showme:libdirs) show=libdirs; continue ;;
        --showme:libs|-showme:libs) show=libs; continue ;;
        --showme:version|-showme:version) show=version; continue ;;
        -c|-S|-E|-M|-MM) links=never ;;
        -v) echo "$(basename "$0") for BCS-MPI version @VERSION@" >&2 ;;
        *) [ $links = never ] || links=yes ;;
    esac
    set -- "$@" "$word"
done
case $show in
    all) echo $compiler $compile "$@" $link; exit ;;
    compile) echo $compiler $compile; exit ;;
    link) echo $compiler $link; exit ;;
    compile_flags) echo $compile; exit ;;
    link_flags) echo $link; exit ;;
    command) echo $compiler; exit ;;
    incdirs) echo "$prefix/include"; exit ;;
    libdirs) echo "$prefix/lib"; exit ;;
    libs) echo mpi_abi; exit ;;
    version) echo "$(basename "$0"): BCS-MPI @VERSION@"; exit ;;
esac
IFS='
'
compile="-I$prefix/include
@DEFINE_LINE@"
link="-L$prefix/lib
-Wl,-rpath,$prefix/lib
-lmpi_abi"
if [ $links != yes ]; then link=; fi
compiler_words=$(printf '%s' "$compiler" | tr ' ' '\n')
if ! command -v "${compiler%% *}" >/dev/null; then
    echo "$(basename "$0"): there is no ${compiler%% *} here: install a compiler, or name one by @VARIABLE@" >&2
    exit 127
fi
exec $compiler_words $compile "$@" $link
"#;

/// Writes all wrappers.
///
/// # Errors
///
/// A file cannot be written.
pub fn write_all(prefix: &Path) -> Result<()> {
    for wrapper in WRAPPERS {
        let define = match wrapper.more_names {
            true => format!("-D{FORTRAN_NAMES}"),
            false => String::new(),
        };
        let spaced = match define.is_empty() {
            true => String::new(),
            false => format!(" {define}"),
        };
        let text = SCRIPT
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .replace("@COMPILER@", wrapper.language.compiler())
            .replace("@VARIABLE@", wrapper.language.variable())
            .replace("@OPTIONS@", wrapper.language.options())
            .replace("@DEFINE@", &spaced)
            .replace("@DEFINE_LINE@", &define);
        let path = prefix.join("bin").join(wrapper.name);
        write(&path, &text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("failed to make {} executable", path.display()))?;
        for other in wrapper.also {
            link(wrapper.name, &path.with_file_name(other))?;
        }
    }
    Ok(())
}
