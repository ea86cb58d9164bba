//! One error type. Every message reads `[operation] what is wrong: got …, expected …; what to do`.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;

/// Result of every fallible function of the crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, by class; bindings map each to one exception class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Shapes do not fit each other or the operation.
    Shape,
    /// An argument has a value that the operation cannot take.
    Value,
    /// A dtype, or the type of an argument, is not supported.
    Type,
    /// An index is out of range.
    Index,
    /// The graph cannot do what was asked (freed, modified, no gradient, …).
    Graph,
    /// The operation exists but not for these arguments.
    NotImplemented,
    /// Memory could not be had.
    Memory,
    /// A scope rule was broken.
    Scope,
    /// A scope was used after its end.
    ScopeClosed,
    /// A scope's limit was met.
    ScopeCap,
    /// A tensor was used after its scope released it.
    TensorClosed,
    /// A running backward pass was interrupted.
    Interrupted,
    /// An error of the host language that travels through the core unchanged.
    Foreign,
    /// A bug in rgrad: a panic was caught.
    Internal,
}

struct Inner {
    kind: Kind,
    op: Cow<'static, str>,
    message: String,
    payload: Option<Box<dyn Any + Send + Sync>>,
}

/// An error with its class, the operation that found it, and a message for people.
pub struct Error(Box<Inner>);

impl Error {
    /// An error of class `kind` found by operation `op`; an empty `op` leaves the prefix out.
    #[cold]
    pub fn new(kind: Kind, op: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, op: op.into(), message: message.into(), payload: None }))
    }

    /// Wraps an error of the host language, to be given back unchanged by [`Error::into_payload`].
    #[cold]
    pub fn foreign(message: impl Into<String>, payload: Box<dyn Any + Send + Sync>) -> Error {
        Error(Box::new(Inner {
            kind: Kind::Foreign,
            op: Cow::Borrowed(""),
            message: message.into(),
            payload: Some(payload),
        }))
    }

    /// The class of the error.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The operation that found it; empty when none did.
    pub fn op(&self) -> &str {
        &self.0.op
    }

    /// The message without the operation's name.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The host language's error, when this is one.
    pub fn into_payload(self) -> Option<Box<dyn Any + Send + Sync>> {
        self.0.payload
    }

    /// Names the operation that the user called, whatever inner one found the error.
    pub fn renamed(mut self, op: &'static str) -> Error {
        if self.0.kind != Kind::Foreign {
            self.0.op = Cow::Borrowed(op);
        }
        self
    }

    /// Names the operation when nothing has named one yet.
    pub fn in_op(mut self, op: &'static str) -> Error {
        if self.0.op.is_empty() && self.0.kind != Kind::Foreign {
            self.0.op = Cow::Borrowed(op);
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.op.is_empty() {
            f.write_str(&self.0.message)
        } else {
            write!(f, "[{}] {}", self.0.op, self.0.message)
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

/// Returns early with an [`Error`]: `bail!(Shape, "matmul", "got {a:?} and {b:?}")`.
#[macro_export]
macro_rules! bail {
    ($kind:ident, $op:expr, $($arg:tt)*) => {
        return Err($crate::Error::new($crate::Kind::$kind, $op, format!($($arg)*)))
    };
}

/// Returns early with an [`Error`] unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($cond:expr, $kind:ident, $op:expr, $($arg:tt)*) => {
        if !$cond {
            $crate::bail!($kind, $op, $($arg)*)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word_and_names_its_operation_once() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        let e = Error::new(Kind::Shape, "", "got [2], expected [3]").in_op("mm").in_op("other");
        assert_eq!(e.to_string(), "[mm] got [2], expected [3]");
    }
}
