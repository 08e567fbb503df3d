//! Which call of the simulated disk fails, and how.
//!
//! Every call on files has a number, counted from 0 at each start of the machine, so that a test can first run a
//! history to learn how many calls it makes and then repeat it with a failure at each of them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::env::refused;
use crate::error::{Error, Result};

/// What an injected failure looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An I/O error, whatever the call does.
    Io,
    /// A full disk: only calls that need space fail (create, append, link, lock, making a directory).
    NoSpace,
    /// An I/O error of calls that sync; all others work.
    Sync,
}

/// What a call does to the disk, as far as faults care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Changes nothing.
    Read,
    /// Changes without needing space.
    Write,
    /// Needs space.
    Grow,
    /// Makes earlier changes durable.
    Sync,
}

/// Whether a call is to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Runs,
    /// The power goes during the call.
    Dies,
}

/// The plan of failures and the count of calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    calls: u64,
    at: BTreeMap<u64, Failure>,
    from: Vec<(u64, Failure)>,
    crash_at: Option<u64>,
    dead: bool,
}

impl Faults {
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn fail_at(&mut self, call: u64, failure: Failure) {
        self.at.insert(call, failure);
    }

    pub(super) fn fail_from(&mut self, call: u64, failure: Failure) {
        self.from.push((call, failure));
    }

    pub(super) fn crash_at(&mut self, call: u64) {
        self.crash_at = Some(call);
    }

    pub(super) fn heal(&mut self) {
        self.at.clear();
        self.from.clear();
        self.crash_at = None;
    }

    /// Counts a call and decides its fate.
    pub(super) fn next(&mut self, what: &str, path: &Path, effect: Effect) -> Result<Fate> {
        if self.dead {
            return Err(power_is_off(what, path));
        }
        let number = self.calls;
        self.calls += 1;
        if self.crash_at.is_some_and(|at| number >= at) {
            self.dead = true;
            return Ok(Fate::Dies);
        }
        let planned = self.at.get(&number).copied().into_iter();
        let lasting = self.from.iter().filter(|(from, _)| number >= *from).map(|(_, failure)| *failure);
        match planned.chain(lasting).find(|failure| strikes(*failure, effect)) {
            None => Ok(Fate::Runs),
            Some(Failure::NoSpace) => Err(refused(what, path, io::ErrorKind::StorageFull.into())),
            Some(_) => {
                Err(refused(what, path, io::Error::other(format!("injected failure of call {number}"))))
            }
        }
    }
}

/// Whether a failure concerns calls with this effect.
fn strikes(failure: Failure, effect: Effect) -> bool {
    match failure {
        Failure::Io => true,
        Failure::NoSpace => effect == Effect::Grow,
        Failure::Sync => effect == Effect::Sync,
    }
}

/// The error of every call after the power went, which no living program sees.
pub(super) fn power_is_off(what: &str, path: &Path) -> Error {
    refused(what, path, io::Error::other("the simulated machine is off"))
}
