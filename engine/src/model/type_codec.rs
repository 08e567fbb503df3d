//! Types as bytes: how a schema that is stored in a file spells them.
//!
//! One byte says which type; parameters follow in the order of the text form. Lengths are LEB128 (7 bits a byte,
//! lowest first). The numbers are part of the file formats: a type keeps its number for ever.
//!
//! ```text
//! type := 01..14                             the simple types, alphabetically from ascii to varint
//!       | 20 type | 21 type | 22 type type   list, set, map
//!       | 23 count type*                     tuple
//!       | 24 text text count (text type)*    user type: keyspace, name, fields; text := length bytes
//!       | 25 dimension type                  vector
//!       | 26 type                            frozen
//! ```

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::model::types::{CqlType, MAX_DEPTH, SIMPLE, UdtType};

const LIST: u8 = 0x20;
const SET: u8 = 0x21;
const MAP: u8 = 0x22;
const TUPLE: u8 = 0x23;
const UDT: u8 = 0x24;
const VECTOR: u8 = 0x25;
const FROZEN: u8 = 0x26;

impl CqlType {
    /// Appends the type's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::List(inner) => encode_one(LIST, inner, out),
            Self::Set(inner) => encode_one(SET, inner, out),
            Self::Frozen(inner) => encode_one(FROZEN, inner, out),
            Self::Map(key, value) => {
                encode_one(MAP, key, out);
                value.encode(out);
            }
            Self::Tuple(fields) => {
                out.push(TUPLE);
                put_length(fields.len(), out);
                fields.iter().for_each(|field| field.encode(out));
            }
            Self::Udt(udt) => {
                out.push(UDT);
                put_text(&udt.keyspace, out);
                put_text(&udt.name, out);
                put_length(udt.fields.len(), out);
                for (name, field) in &udt.fields {
                    put_text(name, out);
                    field.encode(out);
                }
            }
            Self::Vector(inner, dimension) => {
                out.push(VECTOR);
                put_length(*dimension as usize, out);
                inner.encode(out);
            }
            simple => {
                let tag = (1u8..).zip(&SIMPLE).find(|(_, (_, known))| known == simple);
                out.push(tag.map_or(0, |(tag, _)| tag));
            }
        }
    }

    /// The type at the start of `bytes`, and how many bytes it takes.
    ///
    /// # Errors
    /// `Corrupt` for bytes that no [`CqlType::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize)> {
        let mut reader = Reader { rest: bytes };
        let decoded = reader.read(1)?;
        Ok((decoded, bytes.len() - reader.rest.len()))
    }

    /// Checks that [`CqlType::decode`] takes back what [`CqlType::encode`] makes of it: a type that a program put
    /// together may break the limits that parsed ones keep, and would be found out only when the store is opened again.
    ///
    /// # Errors
    /// `Invalid` for nesting beyond [`MAX_DEPTH`], or a vector of no elements or of more than 2^31 - 1.
    pub fn check_storable(&self) -> Result<()> {
        self.check_at(1)
    }

    fn check_at(&self, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("the type nests more than {MAX_DEPTH} levels deep")));
        }
        match self {
            Self::List(inner) | Self::Set(inner) | Self::Frozen(inner) => inner.check_at(depth + 1),
            Self::Map(key, value) => key.check_at(depth + 1).and_then(|()| value.check_at(depth + 1)),
            Self::Tuple(fields) => fields.iter().try_for_each(|field| field.check_at(depth + 1)),
            Self::Udt(udt) => udt.fields.iter().try_for_each(|(_, field)| field.check_at(depth + 1)),
            Self::Vector(_, dimension) if !DIMENSIONS.contains(dimension) => Err(Error::invalid(format!(
                "a vector must have from 1 to {} elements, not {dimension}",
                DIMENSIONS.end()
            ))),
            Self::Vector(inner, _) => inner.check_at(depth + 1),
            _ => Ok(()),
        }
    }
}

fn encode_one(tag: u8, inner: &CqlType, out: &mut Vec<u8>) {
    out.push(tag);
    inner.encode(out);
}

fn put_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_length(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

/// How many elements a vector may have.
const DIMENSIONS: RangeInclusive<u32> = 1..=0x7fff_ffff;

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn read(&mut self, depth: usize) -> Result<CqlType> {
        if depth > MAX_DEPTH {
            return Err(Error::malformed("a stored type nests too deeply"));
        }
        let inner = depth + 1;
        Ok(match self.byte()? {
            LIST => CqlType::List(Box::new(self.read(inner)?)),
            SET => CqlType::Set(Box::new(self.read(inner)?)),
            MAP => CqlType::Map(Box::new(self.read(inner)?), Box::new(self.read(inner)?)),
            FROZEN => CqlType::Frozen(Box::new(self.read(inner)?)),
            TUPLE => {
                let count = self.count()?;
                CqlType::Tuple((0..count).map(|_| self.read(inner)).collect::<Result<_>>()?)
            }
            UDT => {
                let (keyspace, name, count) = (self.text()?, self.text()?, self.count()?);
                let fields =
                    (0..count).map(|_| Ok((self.text()?, self.read(inner)?))).collect::<Result<_>>()?;
                CqlType::Udt(Arc::new(UdtType { keyspace, name, fields }))
            }
            VECTOR => {
                let dimension = self.length()?;
                if !DIMENSIONS.contains(&dimension) {
                    return Err(Error::malformed(format!("a stored vector type has dimension {dimension}")));
                }
                CqlType::Vector(Box::new(self.read(inner)?), dimension)
            }
            tag => {
                let simple = usize::from(tag).checked_sub(1).and_then(|index| SIMPLE.get(index));
                simple.ok_or_else(|| Error::malformed(format!("no type has number {tag}")))?.1.clone()
            }
        })
    }

    fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) =
            self.rest.split_first().ok_or_else(|| Error::malformed("a stored type ends too early"))?;
        self.rest = rest;
        Ok(byte)
    }

    fn length(&mut self) -> Result<u32> {
        let mut length = 0u32;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            let part = u32::from(byte & 0x7f);
            length |=
                part.checked_shl(shift).filter(|shifted| shifted >> shift == part).ok_or_else(too_long)?;
            if byte < 0x80 {
                return Ok(length);
            }
        }
        Err(too_long())
    }

    /// A number of fields; each takes a byte at least, so that a wrong count cannot make us allocate.
    fn count(&mut self) -> Result<usize> {
        let count = self.length()? as usize;
        if count > self.rest.len() { Err(too_long()) } else { Ok(count) }
    }

    fn text(&mut self) -> Result<String> {
        let length = self.length()? as usize;
        let (text, rest) = self.rest.split_at_checked(length).ok_or_else(too_long)?;
        self.rest = rest;
        let text = std::str::from_utf8(text)
            .map_err(|_| Error::malformed("a name in a stored type is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

fn too_long() -> Error {
    Error::malformed("a length in a stored type is too large")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, proptest};

    #[test]
    fn bytes_round_trip_and_every_shorter_form_is_refused() {
        let udt = UdtType {
            keyspace: "k".into(),
            name: "n".repeat(300),
            fields: vec![
                ("x".into(), CqlType::Ascii),
                ("y".into(), CqlType::Vector(Box::new(CqlType::Varint), 1536)),
            ],
        };
        let whole = CqlType::Map(
            Box::new(CqlType::Text),
            Box::new(CqlType::Tuple(vec![
                CqlType::Udt(Arc::new(udt)).freeze(),
                CqlType::List(Box::new(CqlType::Int)),
                CqlType::Set(Box::new(CqlType::Uuid)),
            ])),
        );
        let mut bytes = Vec::new();
        whole.encode(&mut bytes);
        assert_eq!(CqlType::decode(&bytes).unwrap(), (whole, bytes.len()));
        for end in 0..bytes.len() {
            assert!(CqlType::decode(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn numbers_of_types_are_fixed() {
        let mut bytes = Vec::new();
        CqlType::Ascii.encode(&mut bytes);
        CqlType::Varint.encode(&mut bytes);
        CqlType::Timestamp.encode(&mut bytes);
        CqlType::Text.freeze().encode(&mut bytes);
        assert_eq!(bytes, [0x01, 0x14, 0x10, 0x26, 0x0e]);
        assert!(CqlType::decode(&[0x20; 100_000]).is_err());
    }

    #[test]
    fn what_is_storable_comes_back_and_nothing_else_is_storable() {
        let list = |ty| CqlType::List(Box::new(ty));
        let deep = |levels: usize| (1..levels).fold(CqlType::Int, |ty, _| list(ty));
        let vector = |dimension| CqlType::Vector(Box::new(CqlType::Int), dimension);
        let udt = |ty| UdtType { keyspace: "k".into(), name: "n".into(), fields: vec![("x".into(), ty)] };
        for (ty, storable) in [
            (deep(MAX_DEPTH), true),
            (deep(MAX_DEPTH + 1), false),
            (CqlType::Tuple(vec![CqlType::Int, deep(MAX_DEPTH)]), false),
            (CqlType::Udt(Arc::new(udt(deep(MAX_DEPTH)))), false),
            (CqlType::Map(Box::new(CqlType::Int), Box::new(vector(0))), false),
            (vector(1).freeze(), true),
            (vector(u32::MAX), false),
        ] {
            let mut bytes = Vec::new();
            ty.encode(&mut bytes);
            assert_eq!(CqlType::decode(&bytes).is_ok(), storable, "{ty}");
            assert_eq!(ty.check_storable().is_ok(), storable, "{ty}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok((decoded, used)) = CqlType::decode(&bytes) {
                assert!(used <= bytes.len());
                let mut again = Vec::new();
                decoded.encode(&mut again);
                assert_eq!(CqlType::decode(&again).unwrap().0, decoded);
            }
        }
    }
}
