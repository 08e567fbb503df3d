//! Whether bytes are a value of a type, without building the value; and the one walk over containers.
//!
//! The write path calls [`validate`] on every value that a client sent as bytes. `codec` and `encoding::order` walk
//! collections, tuples and vectors with `Container`, so that the rules for counts, lengths and rests stand here once.
//!
//! # Not here
//! Cassandra lets UTF-8-encoded surrogates and code points beyond U+10FFFF pass as text; here they are refused. It
//! also takes a decimal of a scale without digits, which it cannot read afterwards, and ignores bytes after a duration.

use crate::error::{Error, Result};
use crate::model::types::CqlType;
use crate::model::uuid::Timeuuid;
use crate::model::wire;

/// Checks that `bytes` are a value of `ty`.
///
/// # Errors
/// `Invalid`, in Cassandra's words where clients know them.
pub fn validate(bytes: &[u8], ty: &CqlType) -> Result<()> {
    let ty = ty.unfrozen();
    validate_scalar(bytes, ty)?;
    match ty {
        CqlType::List(_)
        | CqlType::Set(_)
        | CqlType::Map(..)
        | CqlType::Tuple(_)
        | CqlType::Udt(_)
        | CqlType::Vector(..) => Container::of(bytes, ty)?.each(&mut |part, inner| match part {
            Some(part) => validate(part, inner),
            None => Ok(()),
        }),
        _ => Ok(()),
    }
}

/// Checks bytes of a type without parts; those of any other type pass.
pub(crate) fn validate_scalar(bytes: &[u8], ty: &CqlType) -> Result<()> {
    let length = bytes.len();
    let fits = |lengths: &[usize], wanted: &str| match lengths.contains(&length) {
        true => Ok(()),
        false => Err(Error::invalid(format!("Expected {wanted} ({length})"))),
    };
    match ty {
        CqlType::Ascii => match bytes.iter().find(|byte| !byte.is_ascii()) {
            Some(byte) => Err(Error::invalid(format!("Invalid byte for ascii: {}", byte.cast_signed()))),
            None => Ok(()),
        },
        CqlType::Text => match std::str::from_utf8(bytes) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::invalid("String didn't validate.")),
        },
        CqlType::Bigint | CqlType::Counter => fits(&[0, 8], "8 or 0 byte long"),
        CqlType::Boolean => fits(&[0, 1], "1 or 0 byte value"),
        CqlType::Date => fits(&[4], "4 byte long for date"),
        CqlType::Decimal if length == 0 || length > 4 => Ok(()),
        CqlType::Decimal => {
            fits(&[], if length < 4 { "0 or at least 4 bytes" } else { "0 or at least 5 bytes" })
        }
        CqlType::Double => fits(&[0, 8], "8 or 0 byte value for a double"),
        CqlType::Duration => validate_duration(bytes),
        CqlType::Float => fits(&[0, 4], "4 or 0 byte value for a float"),
        CqlType::Inet if matches!(length, 0 | 4 | 16) => Ok(()),
        CqlType::Inet => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Err(Error::invalid(format!("Expected 4 or 16 byte inetaddress; got {digits}")))
        }
        CqlType::Int => fits(&[0, 4], "4 or 0 byte int"),
        CqlType::Smallint => fits(&[2], "2 bytes for a smallint"),
        CqlType::Time => fits(&[8], "8 byte long for time"),
        CqlType::Timestamp => fits(&[0, 8], "8 or 0 byte long for date"),
        CqlType::Tinyint => fits(&[1], "1 byte for a tinyint"),
        CqlType::Uuid if matches!(length, 0 | 16) => Ok(()),
        CqlType::Uuid => Err(Error::invalid(format!("UUID should be 16 or 0 bytes ({length})"))),
        CqlType::Timeuuid => match <[u8; 16]>::try_from(bytes) {
            Ok(bytes) => Timeuuid::from_bytes(bytes).map(|_| ()),
            Err(_) if length == 0 => Ok(()),
            Err(_) => Err(Error::invalid(format!("UUID should be 16 or 0 bytes ({length})"))),
        },
        _ => Ok(()),
    }
}

fn validate_duration(bytes: &[u8]) -> Result<()> {
    if bytes.len() < 3 {
        return Err(Error::invalid(format!("Expected at least 3 bytes for a duration ({})", bytes.len())));
    }
    let mut rest = bytes;
    let mut part =
        || wire::take_vint(&mut rest).ok_or_else(|| Error::invalid("Not enough bytes to read a duration"));
    let (months, days, nanos) = (part()?, part()?, part()?);
    for (number, name) in [(months, "months"), (days, "days")] {
        if i32::try_from(number).is_err() {
            return Err(Error::invalid(format!(
                "The duration {name} must be a 32 bits integer but was: {number}"
            )));
        }
    }
    let signs = [months.signum(), days.signum(), nanos.signum()];
    if signs.contains(&1) && signs.contains(&-1) {
        return Err(Error::invalid(format!(
            "The duration months, days and nanoseconds must be all of the same sign ({months}, {days}, {nanos})"
        )));
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(Error::invalid("Unexpected extraneous bytes after duration value"))
    }
}

/// Bytes of a type are cut short or otherwise not what a validated value would be.
pub(crate) fn malformed(ty: &CqlType) -> Error {
    match ty.unfrozen() {
        vector @ CqlType::Vector(..) => Error::invalid(format!("Not enough bytes to read a {vector}")),
        other => Error::invalid(format!("Not enough bytes to read a {}", family(other))),
    }
}

fn family(ty: &CqlType) -> &'static str {
    match ty.unfrozen() {
        CqlType::List(_) => "list",
        CqlType::Set(_) => "set",
        CqlType::Map(..) => "map",
        CqlType::Tuple(_) => "tuple",
        CqlType::Udt(_) => "UDT",
        CqlType::Vector(..) => "vector",
        CqlType::Decimal => "decimal",
        CqlType::Duration => "duration",
        _ => "value",
    }
}

/// The serialised value of a list, set, map, tuple, user type or vector, about to be walked.
pub(crate) struct Container<'a> {
    rest: &'a [u8],
    ty: &'a CqlType,
    /// Elements that the value claims to have (keys and values of a map both count), or fields that it may have.
    count: usize,
}

impl<'a> Container<'a> {
    /// The container of type `ty` (not frozen) in `bytes`.
    pub(crate) fn of(bytes: &'a [u8], ty: &'a CqlType) -> Result<Self> {
        let mut rest = bytes;
        let count = match ty {
            CqlType::List(_) | CqlType::Set(_) => wire::take_count(&mut rest, 4),
            CqlType::Map(..) => wire::take_count(&mut rest, 8).map(|count| count * 2),
            CqlType::Tuple(fields) => Some(fields.len()),
            CqlType::Udt(udt) => Some(udt.fields.len()),
            // A vector says nothing of its count: the type does, and the elements take a byte each at least.
            CqlType::Vector(_, dimension) => Some(*dimension as usize).filter(|count| *count <= bytes.len()),
            _ => None,
        };
        let count = count.ok_or_else(|| match (ty, bytes.first()) {
            (CqlType::Vector(..), None) => Error::invalid("Invalid empty vector value"),
            (CqlType::List(_) | CqlType::Set(_) | CqlType::Map(..), Some(0x80..)) => {
                Error::invalid(format!("The data cannot be deserialized as a {}", family(ty)))
            }
            _ => malformed(ty),
        })?;
        Ok(Self { rest, ty, count })
    }

    /// Calls `visit` for every element or field there is, in order, with its type: `None` for a null field. The fields that a
    /// tuple or user type ends without are left out. Ends with an error where bytes are missing or left.
    pub(crate) fn each(
        mut self,
        visit: &mut dyn FnMut(Option<&'a [u8]>, &'a CqlType) -> Result<()>,
    ) -> Result<()> {
        for index in 0..self.count {
            let (part, inner) = match self.ty {
                CqlType::List(inner) | CqlType::Set(inner) => (self.element()?, &**inner),
                CqlType::Map(key, value) => (self.element()?, if index % 2 == 0 { &**key } else { &**value }),
                CqlType::Vector(inner, _) => {
                    let part = wire::take_vector_element(&mut self.rest, inner.width_in_vector());
                    (Some(part.ok_or_else(|| malformed(self.ty))?), &**inner)
                }
                CqlType::Tuple(_) | CqlType::Udt(_) if self.rest.is_empty() => return Ok(()),
                CqlType::Tuple(fields) => (self.field(index, "component", "")?, &fields[index]),
                CqlType::Udt(udt) => {
                    let (name, inner) = &udt.fields[index];
                    (self.field(index, "field", name)?, inner)
                }
                _ => return Err(malformed(self.ty)),
            };
            visit(part, inner)?;
        }
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(match self.ty {
            CqlType::Tuple(_) | CqlType::Udt(_) => {
                format!("Invalid remaining data after end of {} value", family(self.ty))
            }
            CqlType::Vector(..) => {
                format!("Unexpected {} extraneous bytes after {} value", self.rest.len(), self.ty)
            }
            _ => format!("Unexpected extraneous bytes after {} value", family(self.ty)),
        }))
    }

    /// The next element of a collection, which may not be null.
    fn element(&mut self) -> Result<Option<&'a [u8]>> {
        match wire::take_element(&mut self.rest) {
            Some(Some(part)) => Ok(Some(part)),
            Some(None) => Err(Error::invalid(match self.ty {
                CqlType::List(_) => "null is not supported inside collections",
                _ => "Null value read when not allowed",
            })),
            None => Err(malformed(self.ty)),
        }
    }

    fn field(&mut self, index: usize, what: &str, name: &str) -> Result<Option<&'a [u8]>> {
        let missing = |part: &str| {
            let text = format!("Not enough bytes to read {part}{index}th {what} {name}");
            Error::invalid(text.trim_end())
        };
        if self.rest.len() < 4 {
            return Err(missing("size of "));
        }
        wire::take_element(&mut self.rest).ok_or_else(|| missing(""))
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
