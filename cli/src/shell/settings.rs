//! What a shell is set to: how answers are shown, and what is asked for with each statement.

use crate::output::Format;

/// Rows that a page has until PAGING says otherwise.
pub(crate) const PAGE_ROWS: usize = 100;

/// The settings of one shell. Shell commands change them, see `command`.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// How rows are shown.
    pub(crate) format: Format,
    /// Rows one below the other, a line for each column.
    pub(crate) expand: bool,
    /// Characters of the terminal; None: rows go elsewhere.
    pub(crate) width: Option<u16>,
    /// Rows of a page in an interactive shell; None: no pages.
    pub(crate) page: Option<usize>,
    /// Show how long a statement took.
    pub(crate) timing: bool,
    /// Show the trace of each statement.
    pub(crate) tracing: bool,
    /// Kept and shown; one machine has no replicas to ask.
    pub(crate) consistency: String,
    /// The same for conditional writes.
    pub(crate) serial_consistency: String,
}

impl Settings {
    /// What a shell begins with.
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            expand: false,
            width: None,
            page: Some(PAGE_ROWS),
            timing: false,
            tracing: false,
            consistency: "ONE".to_owned(),
            serial_consistency: "SERIAL".to_owned(),
        }
    }
}
