//! Terms, selectors and types.

use crate::error::Place;
use crate::syntax::ast::{Name, TableName};

/// What kind of literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `'...'` or `$$...$$`, without its quotes.
    String,
    /// Digits with an optional minus.
    Integer,
    /// With a point or an exponent; NaN and Infinity, signed or not.
    Float,
    /// true or false.
    Boolean,
    /// A UUID.
    Uuid,
    /// 0x...
    Hex,
    /// `1h30m`, `P1Y`, ...
    Duration,
}

/// A bind marker.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Its number in the statement, from 0: the order in the text.
    pub index: usize,
    /// `:name`; None for `?`.
    pub name: Option<String>,
}

/// Arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// +
    Add,
    /// -
    Subtract,
    /// *
    Multiply,
    /// /
    Divide,
    /// %
    Modulo,
}

/// The functions of a cell's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeFunction {
    /// writetime(c)
    Writetime,
    /// maxwritetime(c)
    MaxWritetime,
    /// ttl(c)
    Ttl,
}

/// A term or a selector.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// null
    Null,
    /// A literal as written (strings unescaped).
    Constant {
        /// Its kind.
        kind: Literal,
        /// Its text.
        text: String,
        /// Where.
        place: Place,
    },
    /// ? or :name
    Marker(Marker),
    /// `[a, b]`: a list, or a vector.
    List(Vec<Expr>),
    /// {a, b}
    Set(Vec<Expr>),
    /// {a: b}; `{}` is a Map without entries.
    Map(Vec<(Expr, Expr)>),
    /// {field: value}; in selectors a map whose keys are all columns looks the same, and the type decides.
    Udt(Vec<(Name, Expr)>),
    /// (a, b); of one element too: the grammar knows no other brackets.
    Tuple(Vec<Expr>),
    /// f(a, b); `count(*)` is `count` with the one argument [`Expr::Star`].
    Call {
        /// Keyspace of the function.
        keyspace: Option<Name>,
        /// Its name.
        name: Name,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// (type) term
    TypeHint(TypeName, Box<Expr>),
    /// CAST(e AS type)
    Cast(Box<Expr>, TypeName),
    /// a + b
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// -a
    Negate(Box<Expr>),
    /// A column, of selectors only.
    Column(Name),
    /// `*` as the argument of count.
    Star,
    /// writetime(c), ttl(c) ...: of a column, element, slice or field.
    Life(LifeFunction, Box<Expr>),
    /// `c[key]`
    Element(Box<Expr>, Box<Expr>),
    /// `c[from..to]`
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// c.field
    Field(Box<Expr>, Name),
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeName {
    /// int, text, ...; a user type; `ks.name`. Custom classes are `Custom`.
    Simple(TableName),
    /// list, set, map, tuple, frozen, vector with their parameters, by the name in lower case.
    Generic(String, Vec<TypeName>, Option<i32>, Place),
    /// A Java class in single quotes.
    Custom(String),
}
