//! Reads records in order and says how they end.

use super::frame::{Framer, HEADER_BYTES};
use super::scan;

/// A record of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where its frame begins, in bytes from the start of the file.
    pub offset: u64,
    /// What was written.
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// The offset just behind the frame.
    pub fn end(&self) -> u64 {
        self.offset + (HEADER_BYTES + self.payload.len()) as u64
    }
}

/// How the records of a file end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With the file.
    Clean {
        /// The length of the file in bytes.
        offset: u64,
    },
    /// In bytes that are no record, and none follows: what a crash leaves of the last writes. Cut the file here and
    /// go on, where a crash is possible; in a file that was closed in order it is damage all the same.
    TornTail {
        /// Where the last valid record ends.
        offset: u64,
        /// How many bytes follow.
        bytes: u64,
        /// What they look like.
        tail: Tail,
    },
    /// In bytes that are no record although valid ones follow: damage, which no crash makes.
    Corrupt {
        /// Where the last valid record before the damage ends.
        offset: u64,
        /// Where the next valid one begins. `None` if the search was given up, which only a file made for
        /// the purpose brings about: records may follow.
        resumes: Option<u64>,
    },
}

/// What follows the last valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Zeros only: room that was reserved, or a length that arrived before its data.
    Zeros,
    /// The beginning of a record, as far as one can tell, that goes on behind the end of the file.
    CutShort,
    /// Anything else, such as the remains of an older file.
    Garbage,
}

impl std::fmt::Display for Tail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Tail::Zeros => "zeros",
            Tail::CutShort => "a record cut short",
            Tail::Garbage => "no record",
        })
    }
}

/// Yields the records of a file up to its end or the first bytes that are none; then [`RecordReader::end`] tells
/// which.
#[derive(Clone, Debug)]
pub struct RecordReader<'a> {
    framer: Framer,
    bytes: &'a [u8],
    /// Offset of `bytes` in the file.
    base: u64,
    /// Index in `bytes` of the next frame.
    at: usize,
}

impl<'a> RecordReader<'a> {
    /// Reads `bytes`, which are the file from offset `base` (behind its header) to its end.
    pub fn new(framer: Framer, bytes: &'a [u8], base: u64) -> Self {
        Self { framer, bytes, base, at: 0 }
    }

    /// How the records end, from the present position on: usually asked when there is no next one. Costs a
    /// search through the rest of the file unless it is clean.
    pub fn end(&self) -> End {
        let mut reader = self.clone();
        while reader.next().is_some() {}
        let (offset, rest) = (reader.offset(reader.at), reader.rest());
        if rest.is_empty() {
            return End::Clean { offset };
        }
        match scan::next_record(&self.framer, rest, scan::MAX_CHECKS) {
            scan::Found::At(index) => {
                End::Corrupt { offset, resumes: Some(reader.offset(reader.at + index)) }
            }
            scan::Found::GaveUp => End::Corrupt { offset, resumes: None },
            scan::Found::Nothing => End::TornTail { offset, bytes: rest.len() as u64, tail: self.tail(rest) },
        }
    }

    /// Goes on behind damage, for salvage: to the `resumes` of [`End::Corrupt`], or any other offset of a record.
    /// An offset outside the file ends the reading.
    pub fn seek(&mut self, offset: u64) {
        let index = offset.checked_sub(self.base).and_then(|index| usize::try_from(index).ok());
        self.at = index.filter(|index| *index <= self.bytes.len()).unwrap_or(self.bytes.len());
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn offset(&self, index: usize) -> u64 {
        self.base.saturating_add(index as u64)
    }

    fn tail(&self, rest: &[u8]) -> Tail {
        if rest.iter().all(|byte| *byte == 0) {
            return Tail::Zeros;
        }
        let goes_on = self.framer.header(rest).is_some_and(|header| header.end > rest.len());
        if goes_on || rest.len() < HEADER_BYTES { Tail::CutShort } else { Tail::Garbage }
    }
}

impl<'a> Iterator for RecordReader<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let payload = self.framer.read(self.rest())?;
        let record = Record { offset: self.offset(self.at), payload };
        self.at += HEADER_BYTES + payload.len();
        Some(record)
    }
}

impl std::iter::FusedIterator for RecordReader<'_> {}
