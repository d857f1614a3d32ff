#!/bin/sh
# A compiler for programs of MPI in Fortran. -show prints what it would run, -compile_info and -link_info the two parts
# of it, and --showme:compile and --showme:link those without the compiler. -fc=COMPILER names the compiler.
set -f
name=$(basename "$0")
here=$(dirname "$(readlink -f "$0")") && prefix=$(dirname "$here") || exit 1
sources=$prefix/share/bcs-mpi/fortran
links=yes
show=no
chosen=
for word; do
    shift
    case $word in
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
        -fc=*) chosen=${word#-fc=}; continue ;;
        -c|-S|-E|-M|-MM|-fsyntax-only) links=no ;;
        -fdefault-integer-8|-i8|-integer-size=64)
            echo "$name: BCS-MPI has integers of 4 bytes; leave out $word, and declare long integers" >&2
            exit 1 ;;
    esac
    set -- "$@" "$word"
done
if [ $show = version ]; then
    echo "$name: BCS-MPI @VERSION@"
    exit
fi

# The compiler: what was asked for, or the first that is installed. FC may name this wrapper itself.
for compiler in "$chosen" "$BCS_FC" "$MPICH_FC" "$OMPI_FC" "$I_MPI_FC" "$FC"; do
    case $(basename "${compiler%% *}" 2>/dev/null) in
        ''|mpifort|mpif90|mpif77) compiler= ;;
        *) break ;;
    esac
done
for known in gfortran flang ifx nvfortran; do
    [ -z "$compiler" ] && command -v $known >/dev/null && compiler=$known
done
if [ -z "$compiler" ]; then
    echo "$name: no Fortran compiler is installed; install gfortran, or name a compiler by BCS_FC" >&2
    exit 1
fi
if ! command -v "${compiler%% *}" >/dev/null; then
    echo "$name: there is no ${compiler%% *} here: install a compiler, or name one by BCS_FC" >&2
    exit 127
fi
compiler_words=$(printf '%s' "$compiler" | tr ' ' '\n')
IFS='
'

# The modules, made by this very compiler: in the installation if it can be written, or in the user's cache.
version=$($compiler_words --version 2>/dev/null | grep . | head -n 1)
key=$(printf '%s-%s' "$compiler" "$version" | tr -c 'A-Za-z0-9.+\n' '_' | cut -c 1-120)
base=$prefix/lib/fortran
if ! { mkdir -p "$base" && [ -w "$base" ]; } 2>/dev/null; then
    base=${XDG_CACHE_HOME:-$HOME/.cache}/bcs-mpi/fortran
    mkdir -p "$base" || exit 1
fi
folder=$base/@SOURCES@-$key

# Makes all modules in the current folder. mpi_f08 needs descriptors of Fortran 2018.
make_modules() {
    for module in mpi_types mpi; do
        $compiler_words -c -O2 -fPIC "$sources/$module.f90" || return
    done
    true=$($compiler_words -o probe "$sources/probe.f90" -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -lbcs_fortran -lmpi_abi &&
        ./probe) && $compiler_words -c -O2 -fPIC "$sources/mpi_f08.f90" || {
        echo "$compiler ($version) has no descriptors of Fortran 2018 as BCS-MPI reads them: use mpi, not mpi_f08" >no_f08
        cat no_f08 >&2
    }
    [ "${true:-1}" = 1 ] || $compiler_words -c -fPIC "$sources/logical.f90" || return
    # Programs with mpif.h give one procedure data of several types. gfortran from 10 on takes that for an error.
    if $compiler_words -fallow-argument-mismatch -c -o probe.o "$sources/logical.f90" 2>probe.log && ! [ -s probe.log ]; then
        echo -fallow-argument-mismatch >flags
    fi
    rm -f probe.o probe.log
    set +f
    ar rcs libbcs_modules.a *.o && rm -f *.o probe
    set -f
}

if ! [ -e "$folder/libbcs_modules.a" ]; then
    # Others that need the modules wait. Where nothing locks, the first that is ready wins.
    exec 9>"$base/lock"
    flock 9 2>/dev/null
    if ! [ -e "$folder/libbcs_modules.a" ]; then
        work=$(mktemp -d "$base/new.XXXXXX") || exit 1
        if ! (cd "$work" && make_modules) >"$work.log" 2>&1; then
            cat "$work.log" >&2
            echo "$name: $compiler does not compile the modules of MPI, see above; name another one by BCS_FC" >&2
            rm -rf "$work" "$work.log"
            exit 1
        fi
        rm -f "$work.log"
        mv -T "$work" "$folder" 2>/dev/null || rm -rf "$work"
    fi
    exec 9>&-
fi

compile="-I$prefix/include
-I$folder"
if [ -e "$folder/flags" ]; then
    compile="$compile
$(cat "$folder/flags")"
fi
link="-L$prefix/lib
-Wl,-rpath,$prefix/lib
-L$folder
-lbcs_modules
-lbcs_fortran
-lmpi_abi"
case $show in
    all) shown="$compiler_words
$compile
$(printf '%s\n' "$@")
$link" ;;
    compile) shown="$compiler_words
$compile" ;;
    link) shown="$compiler_words
$link" ;;
    compile_flags) shown=$compile ;;
    link_flags) shown=$link ;;
    command) shown=$compiler_words ;;
    incdirs) shown="$prefix/include
$folder" ;;
    libdirs) shown="$prefix/lib
$folder" ;;
    libs) shown="bcs_modules bcs_fortran mpi_abi" ;;
esac
if [ $show != no ]; then
    IFS=' 
'
    echo $shown
    exit
fi
if [ $# = 0 ] || [ $links = no ]; then link=; fi
[ -e "$folder/no_f08" ] || exec $compiler_words $compile "$@" $link
$compiler_words $compile "$@" $link
code=$?
[ $code = 0 ] || cat "$folder/no_f08" >&2
exit $code
