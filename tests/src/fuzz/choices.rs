//! Bytes as choices: how a target builds something valid out of whatever the fuzzer gives it.
//!
//! Small changes of the bytes make small changes of what is built, which is what a fuzzer that watches coverage needs. When
//! the bytes are used up, every further choice is the first one.

use std::sync::Arc;

use skep_engine::model::bytes::Bytes;
use skep_engine::model::types::{CqlType, UdtType};

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Choices out of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// Whether all bytes are used up.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// One byte.
    pub fn u8(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    /// Yes or no.
    pub fn bool(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// A number below `bound` (0 if that is 0).
    pub fn below(&mut self, bound: usize) -> usize {
        let wide = usize::from(self.u8()) << 8 | if bound > 256 { usize::from(self.u8()) } else { 0 };
        let number = if bound > 256 { wide } else { wide >> 8 };
        number.checked_rem(bound).unwrap_or(0)
    }

    /// A number, often a small one or one at an edge.
    pub fn i64(&mut self) -> i64 {
        match self.u8() {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => i64::from(i32::MIN),
            3 => i64::from(u32::MAX),
            byte @ 4..128 => i64::from(byte) - 64,
            shift => {
                let mut bytes = [0; 8];
                bytes.iter_mut().for_each(|byte| *byte = self.u8());
                i64::from_le_bytes(bytes) >> (shift & 63)
            }
        }
    }

    /// Up to `most` bytes.
    pub fn bytes(&mut self, most: usize) -> &'a [u8] {
        let wanted = self.below(most + 1).min(self.0.len());
        let (bytes, rest) = self.0.split_at(wanted);
        self.0 = rest;
        bytes
    }

    /// The same, owned as the engine wants it.
    pub fn shared(&mut self, most: usize) -> Bytes {
        Bytes::new(self.bytes(most))
    }

    /// A type of at most `depth` levels below this one; one that a key may have if `key`.
    pub fn cql_type(&mut self, depth: usize, key: bool) -> CqlType {
        let simple = [
            CqlType::Ascii,
            CqlType::Bigint,
            CqlType::Blob,
            CqlType::Boolean,
            CqlType::Date,
            CqlType::Decimal,
            CqlType::Double,
            CqlType::Float,
            CqlType::Inet,
            CqlType::Int,
            CqlType::Smallint,
            CqlType::Text,
            CqlType::Time,
            CqlType::Timestamp,
            CqlType::Timeuuid,
            CqlType::Tinyint,
            CqlType::Uuid,
            CqlType::Varint,
            CqlType::Counter,
            CqlType::Duration,
        ];
        let choices = if key { simple.len() - 2 } else { simple.len() };
        let choice = self.below(choices + if depth > 0 { 6 } else { 0 });
        if let Some(ty) = simple.get(choice).filter(|_| choice < choices) {
            return ty.clone();
        }
        let below = depth.saturating_sub(1);
        match choice - choices {
            0 => CqlType::List(Box::new(self.cql_type(below, key).freeze())),
            1 => CqlType::Set(Box::new(self.cql_type(below, true).freeze())),
            2 => {
                let sorted = Box::new(self.cql_type(below, true).freeze());
                CqlType::Map(sorted, Box::new(self.cql_type(below, key).freeze()))
            }
            3 => CqlType::Tuple(self.fields(below, key)),
            4 => {
                let types = self.fields(below, key).into_iter().enumerate();
                let fields = types.map(|(number, ty)| (format!("f{number}"), ty)).collect();
                CqlType::Udt(Arc::new(UdtType { keyspace: "k".into(), name: "u".into(), fields }))
            }
            _ => CqlType::Vector(Box::new(self.cql_type(below, key).freeze()), 1 + u32::from(self.u8() % 4)),
        }
        .freeze()
    }

    fn fields(&mut self, depth: usize, key: bool) -> Vec<CqlType> {
        (0..1 + self.below(3)).map(|_| self.cql_type(depth, key).freeze()).collect()
    }

    /// Flips a bit of `bytes` or cuts them short.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        if self.bool() {
            bytes.truncate(at);
        } else if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << (self.u8() & 7);
        }
    }
}
