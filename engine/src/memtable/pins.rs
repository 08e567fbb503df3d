//! Who reads as of when: the registry of readers' sequence numbers.
//!
//! Every committed batch has a sequence number, and a reader sees the batches up to the number that was published when it
//! began: it *pins* that number. Memtables ask here which versions of a row nobody can tell apart any more, so
//! that these may be merged into one.
//!
//! # Invariants
//! 1. When [`Pins::boundaries`] or [`Pins::oldest`] returns, every reader that is left out pinned a number at or above the
//!    published one that was read at its beginning. A reader first shows its number and then looks whether the published one has
//!    moved (if so, it takes the new one); the asker first reads the published number and then the readers'. Both in
//!    sequentially consistent order, so that one of them sees the other.
//!
//! # Threads
//! All methods from any thread. Whoever publishes must store into the shared `visible` in `SeqCst` order and never go back.

use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

/// Readers that are registered without a lock; more go through a map.
const SLOTS: usize = 64;

/// The number that a reader in this slot pinned, plus one; 0 when free. A cache line each: readers do not disturb each other.
#[repr(align(64))]
#[derive(Debug, Default)]
struct Slot(AtomicU64);

/// Registry of pinned sequence numbers; one for a store.
#[derive(Debug)]
pub struct Pins {
    visible: Arc<AtomicU64>,
    slots: [Slot; SLOTS],
    /// Slots from here on were never used.
    used: AtomicUsize,
    /// Readers that found no slot: how many pinned which number.
    others: Mutex<BTreeMap<u64, usize>>,
    /// Readers in `others` or about to enter it.
    other_count: AtomicUsize,
}

impl Pins {
    /// A registry without readers. `visible` is the highest published sequence number, which the commit moves on.
    pub fn new(visible: Arc<AtomicU64>) -> Self {
        Self {
            visible,
            slots: std::array::from_fn(|_| Slot::default()),
            used: AtomicUsize::new(0),
            others: Mutex::new(BTreeMap::new()),
            other_count: AtomicUsize::new(0),
        }
    }

    /// The highest published sequence number.
    pub fn visible(&self) -> u64 {
        self.visible.load(SeqCst)
    }

    /// Pins what is published now, until the pin is dropped.
    pub fn pin(self: &Arc<Self>) -> Pin {
        let first = preferred_slot();
        for i in 0..SLOTS {
            let place = (first + i) % SLOTS;
            if let Some(seq) = self.claim(place) {
                return Pin { pins: Arc::clone(self), seq, slot: Some(place) };
            }
        }
        // The count comes first: whoever asks without seeing it has read a published number that is not above ours.
        self.other_count.fetch_add(1, SeqCst);
        let mut others = self.others.lock();
        let seq = self.visible();
        *others.entry(seq).or_default() += 1;
        drop(others);
        Pin { pins: Arc::clone(self), seq, slot: None }
    }

    fn claim(&self, place: usize) -> Option<u64> {
        let slot = &self.slots[place].0;
        if slot.load(SeqCst) != 0 {
            return None;
        }
        if self.used.load(SeqCst) <= place {
            self.used.fetch_max(place + 1, SeqCst);
        }
        let mut seq = self.visible();
        slot.compare_exchange(0, seq + 1, SeqCst, SeqCst).ok()?;
        loop {
            let now = self.visible();
            if now == seq {
                return Some(seq);
            }
            seq = now;
            slot.store(seq + 1, SeqCst);
        }
    }

    /// The lowest number that a reader has pinned or can still pin.
    pub fn oldest(&self) -> u64 {
        let mut oldest = self.visible();
        self.each(|seq| oldest = oldest.min(seq));
        oldest
    }

    /// All numbers as of which somebody reads or can begin to read, ascending and without repetition: versions between two
    /// neighbours look the same to everybody.
    pub fn boundaries(&self) -> Vec<u64> {
        let mut boundaries = vec![self.visible()];
        self.each(|seq| boundaries.push(seq));
        boundaries.sort_unstable();
        boundaries.dedup();
        boundaries
    }

    fn each(&self, mut see: impl FnMut(u64)) {
        let used = self.used.load(SeqCst).min(SLOTS);
        for slot in &self.slots[..used] {
            if let Some(seq) = slot.0.load(SeqCst).checked_sub(1) {
                see(seq);
            }
        }
        if self.other_count.load(SeqCst) != 0 {
            self.others.lock().keys().for_each(|&seq| see(seq));
        }
    }
}

/// A slot to begin the search with, another for each thread as far as they go round.
fn preferred_slot() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PREFERRED: Cell<usize> = Cell::new(NEXT.fetch_add(1, SeqCst) % SLOTS);
    }
    PREFERRED.with(Cell::get)
}

/// A reader's hold on a sequence number.
#[derive(Debug)]
pub struct Pin {
    pins: Arc<Pins>,
    seq: u64,
    slot: Option<usize>,
}

impl Pin {
    /// The sequence number: batches up to it are seen.
    pub fn seq(&self) -> u64 {
        self.seq
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if let Some(place) = self.slot {
            self.pins.slots[place].0.store(0, SeqCst);
            return;
        }
        let mut others = self.pins.others.lock();
        if let Some(count) = others.get_mut(&self.seq) {
            *count -= 1;
            if *count == 0 {
                others.remove(&self.seq);
            }
        }
        drop(others);
        self.pins.other_count.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_reader_counts_until_it_ends() {
        let visible = Arc::new(AtomicU64::new(4));
        let pins = Arc::new(Pins::new(Arc::clone(&visible)));
        assert_eq!(pins.oldest(), 4);
        let early = pins.pin();
        visible.store(9, SeqCst);
        let late = pins.pin();
        visible.store(12, SeqCst);
        assert_eq!((early.seq(), late.seq(), pins.oldest()), (4, 9, 4));
        assert_eq!(pins.boundaries(), [4, 9, 12]);
        drop(early);
        assert_eq!((pins.oldest(), pins.boundaries()), (9, vec![9, 12]));
        drop(late);
        assert_eq!(pins.boundaries(), [12]);
    }

    #[test]
    fn more_readers_than_slots_count_too() {
        let visible = Arc::new(AtomicU64::new(0));
        let pins = Arc::new(Pins::new(Arc::clone(&visible)));
        let mut held: Vec<_> = (0..200)
            .map(|seq| {
                visible.store(seq, SeqCst);
                pins.pin()
            })
            .collect();
        visible.store(500, SeqCst);
        assert_eq!(pins.boundaries().len(), 201);
        held.drain(..100);
        assert_eq!(pins.oldest(), 100);
        held.clear();
        assert_eq!(pins.boundaries(), [500]);
    }

    #[test]
    fn no_reader_is_missed_while_numbers_are_published() {
        let visible = Arc::new(AtomicU64::new(0));
        let pins = Arc::new(Pins::new(Arc::clone(&visible)));
        // What the writer found to be the oldest; readers that hold their pin across two looks must not lie below it.
        let merged = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let pin = pins.pin();
                        assert!(merged.load(SeqCst) <= pin.seq(), "merged past a reader");
                    }
                });
            }
            for seq in 1..20_000 {
                visible.store(seq, SeqCst);
                merged.store(pins.oldest(), SeqCst);
            }
        });
    }
}
