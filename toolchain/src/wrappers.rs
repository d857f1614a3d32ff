//! Compiler wrappers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::header::FORTRAN_NAMES;
use crate::write;

/// A wrapper: its name, the variable that names another compiler, the compiler, and flags.
#[derive(Debug)]
pub(crate) struct Wrapper {
    pub(crate) name: &'static str,
    variable: &'static str,
    compiler: &'static str,
    /// Whether it enables names that the ABI lacks.
    more_names: bool,
}

/// All wrappers. The first one has the manual page.
pub(crate) const WRAPPERS: [Wrapper; 4] = [
    Wrapper {
        name: "mpicc",
        variable: "BCS_CC",
        compiler: "cc",
        more_names: true,
    },
    Wrapper {
        name: "mpicc_abi",
        variable: "BCS_CC",
        compiler: "cc",
        more_names: false,
    },
    Wrapper {
        name: "mpicxx",
        variable: "BCS_CXX",
        compiler: "c++",
        more_names: true,
    },
    Wrapper {
        name: "mpicxx_abi",
        variable: "BCS_CXX",
        compiler: "c++",
        more_names: false,
    },
];

/// A wrapper finds its installation from its own path, also through symbolic links.
const SCRIPT: &str = r#"#!/bin/sh
# A compiler for programs of MPI. -show prints what it would run, -compile_info and -link_info the two parts of it, and
# --showme:compile and --showme:link those without the compiler.
set -f
here=$(dirname "$(readlink -f "$0")") && prefix=$(dirname "$here") || exit 1
compiler=${@VARIABLE@:-@COMPILER@}
compile="-I$prefix/include@DEFINE@"
link="-L$prefix/lib -Wl,-rpath,$prefix/lib -lmpi_abi"
links=yes
show=no
for word; do
    shift
    case $word in
        -show|--show|-showme|--showme) show=all; continue ;;
        -compile_info) show=compile; continue ;;
        -link_info) show=link; continue ;;
        --showme:compile|-showme:compile) show=compile_flags; continue ;;
        --showme:link|-showme:link) show=link_flags; continue ;;
        --showme:version|-showme:version) show=version; continue ;;
        -c|-S|-E|-M|-MM) links=no ;;
    esac
    set -- "$@" "$word"
done
case $show in
    all) echo $compiler $compile "$@" $link; exit ;;
    compile) echo $compiler $compile; exit ;;
    link) echo $compiler $link; exit ;;
    compile_flags) echo $compile; exit ;;
    link_flags) echo $link; exit ;;
    version) echo "$(basename "$0"): BCS-MPI @VERSION@"; exit ;;
esac
IFS='
'
compile="-I$prefix/include
@DEFINE_LINE@"
link="-L$prefix/lib
-Wl,-rpath,$prefix/lib
-lmpi_abi"
if [ $# = 0 ] || [ $links = no ]; then link=; fi
compiler_words=$(printf '%s' "$compiler" | tr ' ' '\n')
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
            .replace("@VARIABLE@", wrapper.variable)
            .replace("@COMPILER@", wrapper.compiler)
            .replace("@DEFINE@", &spaced)
            .replace("@DEFINE_LINE@", &define);
        let path = prefix.join("bin").join(wrapper.name);
        write(&path, &text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("failed to make {} executable", path.display()))?;
    }
    Ok(())
}
