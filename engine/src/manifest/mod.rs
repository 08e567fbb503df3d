//! The manifest: which tables and files there are.
//!
//! [`edit`] is one change and its bytes, [`version`] is what all changes amount to, [`check`] names the rules it keeps.

pub mod edit;
pub mod version;
pub mod check;
