//! Whether a value of one type may stand where another type is wanted.
//!
//! The three answers decide which overload of a function is meant (`resolve`), and whether a term fits its column at all. They are
//! Cassandra's: a type takes what its bytes can be read as, so that a blob takes everything and a varint an int. Literals have rules of
//! their own (`function::literal`).

use crate::function::literal::Fit;
use skep_engine::CqlType;

/// How well a value of type `from` fits `to`. `frozen` makes no difference: a value is one whatever keeps it.
#[must_use]
pub fn of_type(from: &CqlType, to: &CqlType) -> Fit {
    if same(from, to) {
        Fit::Exact
    } else if reads(to, from) {
        Fit::Weak
    } else {
        Fit::No
    }
}

/// Whether two types have the same values: the same, but for `frozen`.
#[must_use]
pub fn same(left: &CqlType, right: &CqlType) -> bool {
    match (left.unfrozen(), right.unfrozen()) {
        (CqlType::List(a), CqlType::List(b)) | (CqlType::Set(a), CqlType::Set(b)) => same(a, b),
        (CqlType::Map(a, c), CqlType::Map(b, d)) => same(a, b) && same(c, d),
        (CqlType::Vector(a, n), CqlType::Vector(b, m)) => n == m && same(a, b),
        (CqlType::Tuple(a), CqlType::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (CqlType::Udt(a), CqlType::Udt(b)) => a.keyspace == b.keyspace && a.name == b.name,
        (a, b) => a == b,
    }
}

/// Whether the bytes of every value of `old` are a value of `new`.
fn reads(new: &CqlType, old: &CqlType) -> bool {
    use CqlType as T;
    match (new.unfrozen(), old.unfrozen()) {
        (T::Blob, _)
        | (T::Text, T::Ascii)
        | (T::Varint, T::Int | T::Bigint | T::Timestamp)
        | (T::Bigint, T::Timestamp)
        | (T::Timestamp | T::Time, T::Bigint)
        | (T::Date, T::Int)
        | (T::Uuid, T::Timeuuid) => true,
        (T::List(new), T::List(old)) | (T::Set(new), T::Set(old)) => same(new, old) || reads(new, old),
        (T::Map(key, new), T::Map(old_key, old)) => same(key, old_key) && (same(new, old) || reads(new, old)),
        (T::Vector(new, n), T::Vector(old, m)) => n == m && (same(new, old) || reads(new, old)),
        (T::Tuple(new), T::Tuple(old)) => {
            new.len() >= old.len() && new.iter().zip(old).all(|(new, old)| same(new, old) || reads(new, old))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_takes_what_its_bytes_can_be_read_as() {
        assert_eq!(of_type(&CqlType::Int, &CqlType::Int), Fit::Exact);
        assert_eq!(of_type(&CqlType::Int, &CqlType::Varint), Fit::Weak);
        assert_eq!(of_type(&CqlType::Varint, &CqlType::Int), Fit::No);
        assert_eq!(of_type(&CqlType::Int, &CqlType::Bigint), Fit::No);
        assert_eq!(of_type(&CqlType::Duration, &CqlType::Blob), Fit::Weak);
        let list = CqlType::List(Box::new(CqlType::Int));
        assert_eq!(of_type(&list.clone().freeze(), &list), Fit::Exact);
    }
}
