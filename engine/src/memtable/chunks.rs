//! The bytes of a partition's rows: chunks that are filled from the front and never move.
//!
//! Used by the contents of a partition alone, under its lock. A row is named by its place, 32 bits: number of
//! the chunk and offset in it. The first chunk is small, since most partitions of most tables are; each further one
//! is twice as large up to 16 KiB; such come from the store's pool. A row that would leave much of a chunk unused has a chunk of its own.
//!
//! # Not here
//! Reuse of single holes: rows that were merged away are counted as dead, and the owner rewrites all chunks when
//! more than half is.

use crate::error::{Error, ErrorKind, Result};
use crate::memtable::pool::Pool;

/// Bits of a place that give the offset in a chunk.
const OFFSET_BITS: u32 = 14;
/// Size of the largest chunk that holds several rows, bytes.
const LARGEST: usize = 1 << OFFSET_BITS;
/// Size of the first chunk, bytes.
const SMALLEST: usize = 256;
/// Rows of this length (bytes) and more have a chunk of their own.
const LONG: usize = LARGEST / 4;
/// What the allocator adds to a chunk and the list of chunks keeps of it, bytes.
const CHUNK_OVERHEAD: usize = size_of::<Vec<u8>>() + 16;

/// Rows of one partition as bytes.
#[derive(Debug)]
pub(super) struct Chunks {
    /// The chunk that is being filled: here, so that the next row finds it at once.
    open: Vec<u8>,
    /// Its number; one that no chunk has as long as none is filled.
    number: usize,
    /// All chunks by number; an empty one in place of that being filled.
    chunks: Vec<Vec<u8>>,
    /// Bytes allocated.
    held: usize,
    /// Bytes of rows, dead ones included.
    used: usize,
    /// Bytes of rows that nobody refers to any more.
    dead: usize,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { open: Vec::new(), number: usize::MAX, chunks: Vec::new(), held: 0, used: 0, dead: 0 }
    }
}

impl Chunks {
    /// Stores `bytes` and returns their place.
    ///
    /// # Errors
    /// `Busy` if the partition's places are used up (4 GiB): the memtable should have been flushed long ago.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8], pool: &Pool) -> Result<u32> {
        let offset = self.open.len();
        if bytes.len() > self.open.capacity() - offset {
            return self.push_in_new_chunk(bytes, pool);
        }
        self.used += bytes.len();
        self.open.extend_from_slice(bytes);
        Ok((self.number << OFFSET_BITS | offset) as u32)
    }

    #[cold]
    fn push_in_new_chunk(&mut self, bytes: &[u8], pool: &Pool) -> Result<u32> {
        let number = self.chunks.len();
        if number >= 1 << (u32::BITS - OFFSET_BITS) {
            let text = "a partition holds as much in memory as it can";
            return Err(Error::new(ErrorKind::Busy, text).hint("wait for the flush of its memtable"));
        }
        let size = match bytes.len() {
            long @ LONG.. => long,
            length => (self.open.capacity() * 2).clamp(SMALLEST, LARGEST).max(length),
        };
        let mut chunk = if size == LARGEST { pool.chunk(size) } else { Vec::with_capacity(size) };
        chunk.extend_from_slice(bytes);
        self.used += bytes.len();
        self.held += size + CHUNK_OVERHEAD;
        if self.chunks.is_empty() {
            self.chunks.reserve_exact(1);
        }
        if bytes.len() >= LONG {
            self.chunks.push(chunk);
        } else {
            self.chunks.push(Vec::new());
            self.close();
            (self.open, self.number) = (chunk, number);
        }
        Ok((number << OFFSET_BITS) as u32)
    }

    /// Puts the chunk that was being filled into its place.
    fn close(&mut self) {
        if let Some(place) = self.chunks.get_mut(self.number)
            && self.open.capacity() > 0
        {
            *place = std::mem::take(&mut self.open);
        }
    }

    /// Takes out the chunks that a pool keeps; nothing refers to any place any more.
    pub(super) fn take_chunks(&mut self) -> impl Iterator<Item = Vec<u8>> {
        self.close();
        std::mem::take(self).chunks.into_iter().filter(|chunk| chunk.capacity() == LARGEST)
    }

    /// The `length` bytes at `place`, `None` for all of its chunk from there on; no bytes if there is no such place.
    #[inline]
    pub(super) fn get(&self, place: u32, length: Option<usize>) -> &[u8] {
        let place = place as usize;
        let number = place >> OFFSET_BITS;
        let chunk = if number == self.number { Some(&self.open) } else { self.chunks.get(number) };
        let Some(chunk) = chunk else { return &[] };
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
        let pool = Pool::new(0);
        let places: Vec<u32> = rows.iter().map(|row| chunks.push(row, &pool).unwrap()).collect();
        for (row, place) in rows.iter().zip(places) {
            assert_eq!(chunks.get(place, Some(row.len())), row);
        }
        let used: usize = rows.iter().map(Vec::len).sum();
        assert!(chunks.memory_bytes() < used + used / 4, "{} for {used}", chunks.memory_bytes());
    }

    #[test]
    fn a_long_row_may_be_the_first() {
        let (mut chunks, pool) = (Chunks::default(), Pool::new(0));
        let rows = [vec![1; 20_000], vec![2; 30], vec![3; LONG], vec![4; 40]];
        let places: Vec<u32> = rows.iter().map(|row| chunks.push(row, &pool).unwrap()).collect();
        for (row, place) in rows.iter().zip(places) {
            assert_eq!(chunks.get(place, Some(row.len())), row);
        }
    }

    #[test]
    fn a_small_partition_takes_one_small_chunk() {
        let mut chunks = Chunks::default();
        chunks.push(&[1; 80], &Pool::new(0)).unwrap();
        assert_eq!(chunks.memory_bytes(), SMALLEST + CHUNK_OVERHEAD);
        assert_eq!(chunks.get(1 << OFFSET_BITS, Some(1)), &[] as &[u8], "a place that does not exist");
    }
}
