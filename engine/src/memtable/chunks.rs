//! The bytes of a partition's rows: chunks that are filled from the front and never move.
//!
//! Used by the contents of a partition alone, under its lock. A row is named by its place, 32 bits: number of
//! the chunk and offset in it. The first chunk is small, since most partitions of most tables are; each further one
//! is twice as large up to 16 KiB. A row that would leave much of a chunk unused has a chunk of its own.
//!
//! # Not here
//! Reuse of single holes: rows that were merged away are counted as dead, and the owner rewrites all chunks when
//! more than half is.

use crate::error::{Error, ErrorKind, Result};

/// Bits of a place that give the offset in a chunk.
const OFFSET_BITS: u32 = 14;
/// Size of the largest chunk that holds several rows, bytes.
const LARGEST: usize = 1 << OFFSET_BITS;
/// Size of the first chunk, bytes.
const SMALLEST: usize = 256;
/// Rows longer than this (bytes) have a chunk of their own.
const LONG: usize = LARGEST / 4;
/// What the allocator adds to a chunk and the list of chunks keeps of it, bytes.
const CHUNK_OVERHEAD: usize = size_of::<Vec<u8>>() + 16;

/// Rows of one partition as bytes.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    chunks: Vec<Vec<u8>>,
    /// The chunk that is being filled.
    open: usize,
    /// Bytes allocated.
    held: usize,
    /// Bytes of rows, dead ones included.
    used: usize,
    /// Bytes of rows that nobody refers to any more.
    dead: usize,
}

impl Chunks {
    /// Stores `bytes` and returns their place.
    ///
    /// # Errors
    /// `Busy` if the partition's places are used up (4 GiB): the memtable should have been flushed long ago.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<u32> {
        self.used += bytes.len();
        if let Some(open) = self.chunks.get_mut(self.open)
            && bytes.len() <= open.capacity() - open.len()
        {
            let place = (self.open << OFFSET_BITS | open.len()) as u32;
            open.extend_from_slice(bytes);
            return Ok(place);
        }
        self.push_in_new_chunk(bytes)
    }

    #[cold]
    fn push_in_new_chunk(&mut self, bytes: &[u8]) -> Result<u32> {
        let number = self.chunks.len();
        if number >= 1 << (u32::BITS - OFFSET_BITS) {
            self.used -= bytes.len();
            let text = "a partition holds as much in memory as it can";
            return Err(Error::new(ErrorKind::Busy, text).hint("wait for the flush of its memtable"));
        }
        let long = bytes.len() > LONG;
        let size = match (long, self.chunks.get(self.open)) {
            (true, _) => bytes.len(),
            (false, Some(open)) => (open.capacity() * 2).clamp(SMALLEST, LARGEST).max(bytes.len()),
            (false, None) => SMALLEST.max(bytes.len()),
        };
        let mut chunk = Vec::with_capacity(size);
        chunk.extend_from_slice(bytes);
        self.held += size + CHUNK_OVERHEAD;
        if self.chunks.is_empty() {
            self.chunks.reserve_exact(1);
        }
        self.chunks.push(chunk);
        if !long {
            self.open = number;
        }
        Ok((number << OFFSET_BITS) as u32)
    }

    /// The `length` bytes at `place`, `None` for all of its chunk from there on; no bytes if there is no such place.
    #[inline]
    pub(super) fn get(&self, place: u32, length: Option<usize>) -> &[u8] {
        let place = place as usize;
        let Some(chunk) = self.chunks.get(place >> OFFSET_BITS) else { return &[] };
        let rest = chunk.get(place & (LARGEST - 1)..).unwrap_or(&[]);
        match length {
            Some(length) => rest.get(..length).unwrap_or(&[]),
            None => rest,
        }
    }

    /// Notes that `length` bytes are not referred to any more.
    pub(super) fn forget(&mut self, length: usize) {
        self.dead += length;
    }

    /// Whether more than half of what is stored is dead, and enough to be worth copying the rest.
    pub(super) fn wants_rewrite(&self) -> bool {
        self.dead > self.used / 2 && self.dead > 2048
    }

    /// Bytes allocated, with what the allocator adds.
    #[inline]
    pub(super) fn memory_bytes(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_lengths_come_back() {
        let mut chunks = Chunks::default();
        let lengths = (0..300).chain([4096, 4097, 20_000, 100_000]).chain(0..300);
        let rows: Vec<Vec<u8>> = lengths.map(|length| vec![length as u8; length]).collect();
        let places: Vec<u32> = rows.iter().map(|row| chunks.push(row).unwrap()).collect();
        for (row, place) in rows.iter().zip(places) {
            assert_eq!(chunks.get(place, Some(row.len())), row);
        }
        let used: usize = rows.iter().map(Vec::len).sum();
        assert!(chunks.memory_bytes() < used + used / 4, "{} for {used}", chunks.memory_bytes());
    }

    #[test]
    fn a_small_partition_takes_one_small_chunk() {
        let mut chunks = Chunks::default();
        chunks.push(&[1; 80]).unwrap();
        assert_eq!(chunks.memory_bytes(), SMALLEST + CHUNK_OVERHEAD);
        assert_eq!(chunks.get(1 << OFFSET_BITS, Some(1)), &[] as &[u8], "a place that does not exist");
    }
}
