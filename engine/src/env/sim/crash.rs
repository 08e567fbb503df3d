//! What a power cut leaves of the simulated disk.
//!
//! Durable bytes and names always survive. What was not synced survives as [`CrashMode`] says, with the random
//! choices of the disk's seed, for each file and each directory by itself.

use std::sync::Arc;

use crate::env::Random;

use super::state::{DirNode, FileNode, Node, State, apply};

/// Longest run of bytes that a crash adds where a file had grown but its data had not arrived.
const MAX_TAIL: u64 = 4096;

/// What happens to that which was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashMode {
    /// All of it is lost: the least a disk may keep.
    LoseAll,
    /// All of it survives: the program died, the machine did not.
    KeepAll,
    /// A random part of each file's unsynced bytes survives, cut at any byte; of each directory's unsynced changes
    /// the first few.
    Torn,
    /// As `Torn`, and a file may go on with zeros: its length had arrived, its data had not.
    ZeroTail,
    /// As `ZeroTail`, with arbitrary bytes.
    GarbageTail,
    /// One of the above for each file and directory, at random.
    Mixed,
}

impl CrashMode {
    fn choose(self, random: &mut Random) -> Self {
        const CHOICES: [CrashMode; 5] = [
            CrashMode::LoseAll,
            CrashMode::KeepAll,
            CrashMode::Torn,
            CrashMode::ZeroTail,
            CrashMode::GarbageTail,
        ];
        match self {
            CrashMode::Mixed => usize::try_from(random.below(CHOICES.len() as u64))
                .ok()
                .and_then(|choice| CHOICES.get(choice).copied())
                .unwrap_or(CrashMode::Torn),
            mode => mode,
        }
    }
}

impl State {
    /// Cuts the power and starts the machine again.
    pub(super) fn crash(&mut self, mode: CrashMode) {
        for node in self.nodes.values_mut() {
            let mode = mode.choose(&mut self.random);
            match node {
                Node::File(file) => crash_file(file, mode, &mut self.random),
                Node::Dir(dir) => crash_dir(dir, mode, &mut self.random),
            }
        }
        self.epoch += 1;
        self.detach();
    }
}

fn crash_dir(dir: &mut DirNode, mode: CrashMode, random: &mut Random) {
    let kept = match mode {
        CrashMode::LoseAll => 0,
        CrashMode::KeepAll => dir.pending.len(),
        _ => up_to(dir.pending.len(), random),
    };
    for change in dir.pending.drain(..).take(kept) {
        apply(&mut dir.durable, &change);
    }
    dir.live = dir.durable.clone();
}

fn crash_file(file: &mut FileNode, mode: CrashMode, random: &mut Random) {
    let shadow = file.shadow.take();
    file.doubtful = false;
    let unsynced = file.live.len() - file.synced;
    match (mode, shadow) {
        (CrashMode::KeepAll, _) => {}
        // The cut was not synced: the old content is back, certainly or by chance.
        (CrashMode::LoseAll, Some(durable)) => file.live = durable,
        (_, Some(durable)) if random.below(2) == 0 => file.live = durable,
        (CrashMode::LoseAll, None) => Arc::make_mut(&mut file.live).truncate(file.synced),
        _ if unsynced == 0 => {}
        _ => {
            let kept = file.synced + up_to(unsynced, random);
            let lost = file.live.len() - kept;
            let live = Arc::make_mut(&mut file.live);
            live.truncate(kept);
            // The length can have arrived at most as far as the program had got.
            let tail = random.below(MAX_TAIL.min(lost as u64) + 1);
            match mode {
                CrashMode::ZeroTail => live.extend((0..tail).map(|_| 0)),
                CrashMode::GarbageTail => live.extend((0..tail).map(|_| random.next_u64().to_le_bytes()[0])),
                _ => {}
            }
        }
    }
    file.synced = file.live.len();
}

/// A random number from 0 to `most`, both included.
fn up_to(most: usize, random: &mut Random) -> usize {
    usize::try_from(random.below(most as u64 + 1)).unwrap_or(most)
}
