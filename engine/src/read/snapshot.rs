//! What a reader holds on to: a view of the table and a sequence number, both as of one moment.
//!
//! The pin keeps memtables from merging away versions that the reader still sees; the view keeps memtables and files. A batch that is
//! committed later has a higher number and is not seen, wholly or in part.
//!
//! # Invariants
//! 1. The pin is taken **before** the view. A batch that the pin sees is then in the view's memtables or files, wherever a flush
//!    has moved it since; the other way round a memtable made in between could be missed.
//! 2. No file of the view holds anything newer than the pin, for files do not tell what is.

use crate::memtable::pins::{Pin, Pins};
use crate::view::TableView;
use std::sync::Arc;

/// A view and a pin. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot {
    view: Arc<TableView>,
    pin: Arc<Pin>,
}

impl Snapshot {
    /// Pins what is published now and takes the view that `view` gives; again if a flush came between (invariant 2).
    pub fn take(pins: &Arc<Pins>, view: impl Fn() -> Arc<TableView>) -> Self {
        loop {
            let pin = pins.pin();
            let view = view();
            if view.flushed_seq <= pin.seq() {
                return Self { view, pin: Arc::new(pin) };
            }
        }
    }

    /// From a view and a pin that belong together: the pin is not older than anything in the view's files.
    pub(crate) fn of_parts(view: Arc<TableView>, pin: Arc<Pin>) -> Self {
        Self { view, pin }
    }

    /// The table.
    pub fn view(&self) -> &Arc<TableView> {
        &self.view
    }

    /// Batches up to this number are seen.
    pub fn seq(&self) -> u64 {
        self.pin.seq()
    }
}
