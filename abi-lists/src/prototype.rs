//! A prototype of C.

/// A function of a list.
#[derive(Clone, Debug)]
pub struct Prototype<'a> {
    /// Its name.
    pub name: &'a str,
    /// The type of its result.
    pub returns: &'a str,
    /// Its parameters; those after an ellipsis are unknown.
    pub parameters: Vec<Parameter<'a>>,
}

impl<'a> Prototype<'a> {
    /// Parses a prototype without its semicolon.
    ///
    /// # Panics
    ///
    /// It is malformed.
    #[must_use]
    pub fn parse(line: &'a str) -> Self {
        let (head, rest) = line.split_once('(').expect("a prototype has a parenthesis");
        let (returns, name) = head.rsplit_once(' ').expect("a prototype has a type");
        let parameters = rest.trim_end_matches(')').split(", ");
        let parameters = parameters
            .filter(|of| !["void", "..."].contains(of))
            .map(Parameter)
            .collect();
        Self {
            name,
            returns,
            parameters,
        }
    }

    /// Returns the type of its result in Rust.
    #[must_use]
    pub fn result_in_rust(&self) -> String {
        word_in_rust(self.returns)
    }
}

/// A parameter as it is declared: `const int sendcounts[]`.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a>(pub &'a str);

impl<'a> Parameter<'a> {
    fn without_const(self) -> &'a str {
        self.0.trim_start_matches("const ")
    }

    /// Returns whether the pointed-to values are constant.
    #[must_use]
    pub fn is_const(self) -> bool {
        self.0.starts_with("const ")
    }

    /// Returns the type without pointers: `MPI_Datatype`.
    #[must_use]
    pub fn base(self) -> &'a str {
        let text = self.without_const();
        let end = text.find(|of: char| !(of.is_alphanumeric() || of == '_'));
        &text[..end.unwrap_or(text.len())]
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'a str {
        let text = self.without_const();
        let text = text.split('[').next().unwrap_or_default();
        let begin = text.rfind(|of: char| !(of.is_alphanumeric() || of == '_'));
        &text[begin.map_or(0, |at| at + 1)..]
    }

    /// Returns how often it is a pointer.
    #[must_use]
    pub fn depth(self) -> usize {
        self.0.matches('*').count() + self.0.matches('[').count()
    }

    /// Returns whether it is declared as an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.0.contains('[')
    }

    /// Returns whether it is a function of the program.
    #[must_use]
    pub fn is_function(self) -> bool {
        self.base().contains("_function")
    }

    /// Returns its type in Rust, with the types of the crate `mpi-abi`.
    #[must_use]
    pub fn in_rust(self) -> String {
        self.in_rust_of(&word_in_rust(self.base()))
    }

    /// Returns the same, where another type stands for its type without pointers.
    #[must_use]
    pub fn in_rust_of(self, base: &str) -> String {
        if self.is_function() {
            return base.to_owned();
        }
        if self.0.ends_with("[3]") {
            return format!("*mut [{base}; 3]");
        }
        let mut text = base.to_owned();
        for level in 0..self.depth() {
            let constant = self.is_const() && level == 0;
            text = format!("*{} {text}", if constant { "const" } else { "mut" });
        }
        text
    }
}

fn word_in_rust(word: &str) -> String {
    match word {
        "int" | "MPI_Fint" => "c_int",
        "char" => "c_char",
        "double" => "f64",
        "size_t" => "usize",
        "void" => "c_void",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_apart() {
        let line = "int MPI_X(const void *buf, const MPI_Aint displs[], int ranges[][3], \
                    char ***argv, MPI_Copy_function *copy_fn, MPI_Comm comm, ...)";
        let function = Prototype::parse(line);
        assert_eq!((function.name, function.returns), ("MPI_X", "int"));
        let parts: Vec<(&str, String)> = function
            .parameters
            .iter()
            .map(|of| (of.name(), of.in_rust()))
            .collect();
        let expected = [
            ("buf", "*const c_void"),
            ("displs", "*const MPI_Aint"),
            ("ranges", "*mut [c_int; 3]"),
            ("argv", "*mut *mut *mut c_char"),
            ("copy_fn", "MPI_Copy_function"),
            ("comm", "MPI_Comm"),
        ];
        assert_eq!(parts, expected.map(|(name, of)| (name, of.to_owned())));
    }
}
