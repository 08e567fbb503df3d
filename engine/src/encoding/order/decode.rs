//! Components back to serialised values.
//!
//! # Invariants
//! 1. No bytes make it panic, recurse deeper than the type or allocate more than a small multiple of their length; the one
//!    exception is a decimal at the lower end of the scale, which is limited to what a key can hold.

use crate::encoding::order::number;
use crate::encoding::order::reader::{Reader, cut_short};
use crate::encoding::order::{EMPTY, END, ESCAPE, NULL, SIGN_32, SIGN_64, TERMINATOR, VALUE, join};
use crate::error::{Error, Result};
use crate::model::types::CqlType;
use crate::model::wire;

/// Appends the serialised value of the component at the start of `bytes`; returns how many bytes the component takes.
///
/// # Errors
/// `Corrupt` for bytes that `encode_component` did not write for this type and direction.
pub fn decode_component(bytes: &[u8], ty: &CqlType, descending: bool, out: &mut Vec<u8>) -> Result<usize> {
    if let Some(number) = long_component(bytes, ty, descending) {
        out.extend_from_slice(&number.to_be_bytes());
        return Ok(LONG_BYTES);
    }
    let mask = if descending { 0xff } else { 0 };
    let mut reader = Reader { rest: bytes, mask };
    reader.value(ty, out)?;
    Ok(bytes.len() - reader.rest.len())
}

/// Bytes of the component that [`long_component`] reads.
pub const LONG_BYTES: usize = 9;

/// The number that the component at the start of `bytes` stands for, if it is a bigint or timestamp: what
/// [`decode_component`] gives for these types, without a buffer.
#[inline]
pub fn long_component(bytes: &[u8], ty: &CqlType, descending: bool) -> Option<i64> {
    let (tag, body) = bytes.first_chunk::<LONG_BYTES>()?.split_first_chunk::<1>()?;
    let mask = if descending { 0xff } else { 0 };
    let is_value = matches!(ty, CqlType::Timestamp | CqlType::Bigint) && tag[0] ^ mask == VALUE;
    let flipped = if descending { !SIGN_64 } else { SIGN_64 };
    is_value.then_some((u64::from_be_bytes(body.try_into().ok()?) ^ flipped).cast_signed())
}

/// How many bytes the component at the start of `bytes` takes.
///
/// # Errors
/// As [`decode_component`].
pub fn component_length(bytes: &[u8], ty: &CqlType, descending: bool) -> Result<usize> {
    let mask = if descending { 0xff } else { 0 };
    let is_value = bytes.first().is_some_and(|tag| tag ^ mask == VALUE);
    let length = match ty {
        _ if !is_value => None,
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Inet => {
            bytes[1..].iter().position(|byte| byte ^ mask == TERMINATOR).map(|at| at + 2)
        }
        CqlType::Vector(..) | CqlType::Frozen(_) => None,
        fixed => fixed.fixed_width().map(|width| width + 1).filter(|length| *length <= bytes.len()),
    };
    match length {
        Some(length) => Ok(length),
        None => decode_component(bytes, ty, descending, &mut Vec::new()),
    }
}

impl Reader<'_> {
    fn value(&mut self, ty: &CqlType, out: &mut Vec<u8>) -> Result<()> {
        if let CqlType::Frozen(inner) = ty {
            return self.value(inner, out);
        }
        match self.byte()? {
            EMPTY if ty.allows_empty() => return Ok(()),
            VALUE => {}
            tag => {
                return Err(Error::malformed(format!(
                    "a key component of type {ty} begins with byte {tag:#04x}"
                )));
            }
        }
        match ty {
            CqlType::Bigint | CqlType::Timestamp => {
                out.extend_from_slice(&(u64::from_be_bytes(self.fixed()?) ^ SIGN_64).to_be_bytes());
            }
            CqlType::Int => {
                out.extend_from_slice(&(u32::from_be_bytes(self.fixed()?) ^ SIGN_32).to_be_bytes())
            }
            CqlType::Smallint => {
                out.extend_from_slice(&(u16::from_be_bytes(self.fixed()?) ^ 1 << 15).to_be_bytes())
            }
            CqlType::Tinyint => out.push(self.byte()? ^ 1 << 7),
            CqlType::Date => out.extend_from_slice(&self.fixed::<4>()?),
            CqlType::Time => out.extend_from_slice(&self.fixed::<8>()?),
            CqlType::Boolean => out.push(self.byte()?),
            CqlType::Double => {
                let bits = u64::from_be_bytes(self.fixed()?);
                out.extend_from_slice(
                    &(if bits & SIGN_64 == 0 { !bits } else { bits ^ SIGN_64 }).to_be_bytes(),
                );
            }
            CqlType::Float => {
                let bits = u32::from_be_bytes(self.fixed()?);
                out.extend_from_slice(
                    &(if bits & SIGN_32 == 0 { !bits } else { bits ^ SIGN_32 }).to_be_bytes(),
                );
            }
            CqlType::Uuid => out.extend_from_slice(&uuid(self.fixed()?)),
            CqlType::Timeuuid => out.extend_from_slice(&timeuuid(self.fixed()?)),
            CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Inet => self.escaped(out)?,
            CqlType::Varint => number::decode_varint(self, out)?,
            CqlType::Decimal => number::decode_decimal(self, out)?,
            CqlType::List(inner) | CqlType::Set(inner) => self.elements(&[inner], out)?,
            CqlType::Map(key, value) => self.elements(&[key, value], out)?,
            CqlType::Tuple(types) => self.fields(types.iter(), out)?,
            CqlType::Udt(udt) => self.fields(udt.fields.iter().map(|(_, ty)| ty), out)?,
            CqlType::Vector(inner, dimension) => self.vector(inner, *dimension, out)?,
            CqlType::Frozen(_) | CqlType::Counter | CqlType::Duration => {
                return Err(Error::malformed(format!("a key component cannot be of type {ty}")));
            }
        }
        Ok(())
    }

    /// Elements up to the end mark; `types` are those of an entry: one for a list or set, two for a map.
    fn elements(&mut self, types: &[&CqlType], out: &mut Vec<u8>) -> Result<()> {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        let mut count = 0i32;
        while !self.accept(END) {
            for ty in types {
                wire::put_element(out, |out| self.value(ty, out))?;
            }
            count = count.checked_add(1).ok_or_else(cut_short)?;
        }
        out[at..at + 4].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }

    /// Fields up to the end mark, and a null for each that the type has beyond.
    fn fields<'t>(&mut self, types: impl Iterator<Item = &'t CqlType>, out: &mut Vec<u8>) -> Result<()> {
        let mut ended = false;
        for ty in types {
            ended = ended || self.accept(END);
            if ended || self.accept(NULL) {
                wire::put_null(out);
            } else {
                wire::put_element(out, |out| self.value(ty, out))?;
            }
        }
        if ended || self.accept(END) {
            Ok(())
        } else {
            Err(Error::malformed("a key component has more fields than its type"))
        }
    }

    fn vector(&mut self, inner: &CqlType, dimension: u32, out: &mut Vec<u8>) -> Result<()> {
        let mut element = Vec::new();
        for _ in 0..dimension {
            element.clear();
            self.value(inner, &mut element)?;
            match inner.width_in_vector() {
                Some(width) if width != element.len() => {
                    return Err(Error::malformed("a key component holds a vector with an empty element"));
                }
                Some(_) => {}
                None => wire::put_unsigned_vint(element.len() as u64, out),
            }
            out.extend_from_slice(&element);
        }
        Ok(())
    }

    fn escaped(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let mask = self.mask;
        loop {
            let at = self.rest.iter().position(|byte| byte ^ mask <= ESCAPE).ok_or_else(cut_short)?;
            let (plain, rest) = self.rest.split_at(at);
            out.extend(plain.iter().map(|byte| byte ^ mask));
            self.rest = rest;
            if self.byte()? == TERMINATOR {
                return Ok(());
            }
            match self.byte()? {
                escaped @ (1 | 2) => out.push(escaped - 1),
                other => return Err(Error::malformed(format!("a key component escapes byte {other:#04x}"))),
            }
        }
    }
}

fn timeuuid(ordered: [u8; 16]) -> [u8; 16] {
    let [g, h, e, f, a, b, c, d, rest @ ..] = ordered;
    join([a, b, c, d, e, f, g, h], rest.map(|byte| byte ^ 0x80))
}

fn uuid(ordered: [u8; 16]) -> [u8; 16] {
    let [g, h, e, f, a, b, c, d, rest @ ..] = ordered;
    if g >> 4 == 1 {
        return join([a, b, c, d, e, f, g, h], rest);
    }
    let first = u64::from_be_bytes([g, h, e, f, a, b, c, d]);
    let (version, others) = (first >> 60 << 12, first & (u64::MAX >> 4));
    join((others >> 12 << 16 | version | others & 0x0fff).to_be_bytes(), rest)
}
