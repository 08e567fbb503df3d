//! The schema as CQL sees it: keyspaces, user types, tables with their indexes, views and masks.
//!
//! The engine keeps the schema; this room gives it the names and the words of CQL. [`Catalog`] holds a picture of it that is made anew when the
//! engine's schema epoch has moved, by whatever door the change came in. Statements are held against one picture from beginning to end.
//!
//! `types` resolves and writes types, `table` is what is known of a table, `definition` is the form in which indexes, views and
//! masks are stored with the tables that they belong to, `names` knows what a name may be, `store` is the catalog itself.

pub mod types;
pub mod names;
pub mod form;
pub mod table;
pub mod definition;
pub mod store;

pub use store::{Catalog, Keyspace, Picture};
pub use table::{IndexDef, IndexKind, TableInfo, ViewDef};
