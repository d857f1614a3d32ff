//! Generates `mpi.h`.

use std::fmt::Write as _;

use crate::standard::{Constant, FUNCTIONS, constants};

/// The text before the constants.
const HEAD: &str = r#"/* MPI 5.0, standard ABI (chapter 20). Written by BCS-MPI of the standard's lists. */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;
typedef int MPI_Fint;

typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

"#;

/// The types of handles. Each is a pointer that is never dereferenced.
const HANDLES: [&str; 11] = [
    "Comm",
    "Datatype",
    "Errhandler",
    "File",
    "Group",
    "Info",
    "Message",
    "Op",
    "Request",
    "Session",
    "Win",
];

/// The types of handles of the tool information interface.
const TOOL_HANDLES: [&str; 6] = [
    "enum",
    "cvar_handle",
    "pvar_handle",
    "pvar_session",
    "event_registration",
    "event_instance",
];

/// Types of functions of the program that the library calls.
const CALLBACKS: &str = r"
typedef void MPI_User_function(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype);
typedef void MPI_User_function_c(void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype);
typedef int MPI_Comm_copy_attr_function(MPI_Comm oldcomm, int comm_keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int comm_keyval, void *attribute_val, void *extra_state);
typedef int MPI_Type_copy_attr_function(MPI_Datatype oldtype, int type_keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Type_delete_attr_function(MPI_Datatype datatype, int type_keyval, void *attribute_val, void *extra_state);
typedef int MPI_Win_copy_attr_function(MPI_Win oldwin, int win_keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Win_delete_attr_function(MPI_Win win, int win_keyval, void *attribute_val, void *extra_state);
typedef int MPI_Copy_function(MPI_Comm oldcomm, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Delete_function(MPI_Comm comm, int keyval, void *attribute_val, void *extra_state);
typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *error_code, ...);
typedef void MPI_File_errhandler_function(MPI_File *file, int *error_code, ...);
typedef void MPI_Win_errhandler_function(MPI_Win *win, int *error_code, ...);
typedef void MPI_Session_errhandler_function(MPI_Session *session, int *error_code, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;
typedef int MPI_Grequest_query_function(void *extra_state, MPI_Status *status);
typedef int MPI_Grequest_free_function(void *extra_state);
typedef int MPI_Grequest_cancel_function(void *extra_state, int complete);
typedef int MPI_Datarep_extent_function(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state);
typedef int MPI_Datarep_conversion_function(void *userbuf, MPI_Datatype datatype, int count, void *filebuf, MPI_Offset position, void *extra_state);
typedef int MPI_Datarep_conversion_function_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf, MPI_Offset position, void *extra_state);
typedef void MPI_T_event_cb_function(MPI_T_event_instance event_instance, MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, void *user_data);
typedef void MPI_T_event_free_cb_function(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, void *user_data);
typedef void MPI_T_event_dropped_cb_function(MPI_Count count, MPI_T_event_registration event_registration, int source_index, MPI_T_cb_safety cb_safety, void *user_data);

";

/// Names that programs use but the ABI lacks: handles as Fortran's integers under their older
/// names.
const FORTRAN: [(&str, &str); 11] = [
    ("Comm", "MPI_Comm"),
    ("Errhandler", "MPI_Errhandler"),
    ("File", "MPI_File"),
    ("Group", "MPI_Group"),
    ("Info", "MPI_Info"),
    ("Message", "MPI_Message"),
    ("Op", "MPI_Op"),
    ("Request", "MPI_Request"),
    ("Session", "MPI_Session"),
    ("Type", "MPI_Datatype"),
    ("Win", "MPI_Win"),
];

/// The status of `mpi_f08`, which has the bytes of C's (19.3.5). The ABI lacks its names.
const F08_STATUSES: &str = r"typedef MPI_Status MPI_F08_status;
static __inline__ int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    *f08_status = *c_status;
    return MPI_SUCCESS;
}
static __inline__ int MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    *c_status = *f08_status;
    return MPI_SUCCESS;
}
#define MPI_Status_f2f08(f_status, f08_status) MPI_Status_f2c(f_status, f08_status)
#define MPI_Status_f082f(f08_status, f_status) MPI_Status_c2f(f08_status, f_status)
#define PMPI_Status_c2f08(c_status, f08_status) MPI_Status_c2f08(c_status, f08_status)
#define PMPI_Status_f082c(f08_status, c_status) MPI_Status_f082c(f08_status, c_status)
#define PMPI_Status_f2f08(f_status, f08_status) PMPI_Status_f2c(f_status, f08_status)
#define PMPI_Status_f082f(f08_status, f_status) PMPI_Status_c2f(f08_status, f_status)
";

/// The macro that enables those names: `mpicc` defines it, `mpicc_abi` does not.
pub const FORTRAN_NAMES: &str = "BCS_MPI_FORTRAN_NAMES";

/// Returns the text of the header.
#[must_use]
pub fn text() -> String {
    let mut text = HEAD.to_owned();
    for name in HANDLES {
        let _ = writeln!(text, "typedef struct MPI_ABI_{name} *MPI_{name};");
    }
    for name in TOOL_HANDLES {
        let _ = writeln!(text, "typedef struct MPI_ABI_T_{name} *MPI_T_{name};");
    }
    for kind in ["MPI_T_cb_safety", "MPI_T_source_order"] {
        let of_kind: Vec<String> = constants()
            .filter(|constant| constant.kind == kind)
            .map(|Constant { name, value, .. }| format!("    {name} = {value}"))
            .collect();
        let _ = writeln!(text, "typedef enum {{\n{}\n}} {kind};", of_kind.join(",\n"));
    }
    text.push_str(CALLBACKS);
    let mut category = "";
    for constant in
        constants().filter(|of| !["MPI_T_cb_safety", "MPI_T_source_order"].contains(&of.kind))
    {
        if constant.category != category {
            category = constant.category;
            let _ = writeln!(text, "\n/* {} */", category.replace('_', " "));
        }
        text.push_str(&define(&constant));
    }
    text.push('\n');
    for prefix in ["MPI_", "PMPI_"] {
        for line in FUNCTIONS.lines() {
            let line = line.replacen(" MPI_", &format!(" {prefix}"), 1);
            let _ = writeln!(text, "{line};");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "#ifdef {FORTRAN_NAMES}");
    for (name, kind) in FORTRAN {
        let _ = writeln!(
            text,
            "#define MPI_{name}_c2f(handle) MPI_{name}_toint(handle)"
        );
        let _ = writeln!(
            text,
            "#define MPI_{name}_f2c(integer) MPI_{name}_fromint(integer)"
        );
        let _ = writeln!(
            text,
            "#define PMPI_{name}_c2f(handle) PMPI_{name}_toint(handle)"
        );
        let _ = writeln!(
            text,
            "#define PMPI_{name}_f2c(integer) PMPI_{name}_fromint(integer) /* {kind} */"
        );
    }
    text.push_str(F08_STATUSES);
    text.push_str("#endif\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

fn define(constant: &Constant) -> String {
    let Constant {
        name, kind, value, ..
    } = *constant;
    match kind {
        "int" => format!("#define {name} ({value})\n"),
        kind => format!(
            "#define {name} (({}){value:#x})\n",
            kind.replace('*', " *").trim()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_is_declared_twice_and_each_constant_once() {
        let text = text();
        assert!(text.contains("\nint MPI_Send(const void *buf, int count,"));
        assert!(text.contains("\nint PMPI_Send(const void *buf, int count,"));
        assert!(text.contains("#define MPI_COMM_WORLD ((MPI_Comm)0x101)\n"));
        assert!(text.contains("#define MPI_ANY_TAG (-2)\n"));
        let declared = text.lines().filter(|line| {
            line.ends_with(");") && line.contains("MPI_") && !line.starts_with("typedef")
        });
        assert_eq!(declared.count(), 2 * FUNCTIONS.lines().count());
    }
}
