//! One change of the live set, and its bytes.
//!
//! A record of the manifest is a list of edits that take effect together. [`Version`](crate::manifest::version::Version)
//! applies them, [`Manifest`](crate::manifest::Manifest) writes and reads them. The layout is in `FORMAT.md`; every edit
//! carries its length, so that a dump can walk over one it does not know.
//!
//! # Not here
//! There is no edit for TRUNCATE: it is `RemoveFile` of every file and `Flushed` up to the position of the log at which the
//! table was emptied, in one record.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::encoding::bytes::{ByteReader, put_bytes};
use crate::encoding::schema::{
    put_schema, put_text_map, put_udt, read_schema, read_text_map, read_u32, read_udt,
};
use crate::encoding::varint::put_varint;
use crate::error::{Error, ErrorKind, Result};
use crate::model::position::LogPosition;
use crate::model::schema::{TableId, TableSchema};
use crate::model::types::UdtType;
use crate::sstable::meta::{FileId, FileMeta};

/// A keyspace: its name and the options it was created with, kept and shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyspace {
    /// Its name.
    pub name: String,
    /// Options, name to CQL literal (replication, durable_writes).
    pub options: BTreeMap<String, String>,
}

/// The least numbers that were never used: the next new table, file and log segment get them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextIds {
    /// Of SSTables.
    pub file: u64,
    /// Of tables.
    pub table: u32,
    /// Of segments of the commit log. A segment numbered below a flushed position would be taken for flushed.
    pub segment: u64,
}

impl Default for NextIds {
    fn default() -> Self {
        Self { file: 1, table: 1, segment: 1 }
    }
}

/// One change of the live set.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Creates a keyspace or replaces its options.
    PutKeyspace(Arc<Keyspace>),
    /// Removes a keyspace without tables and types.
    DropKeyspace(String),
    /// Creates a user type or replaces its fields. Tables that use it are not changed by it.
    PutType(Arc<UdtType>),
    /// Removes a user type.
    DropType {
        /// Keyspace of the type.
        keyspace: String,
        /// Its name.
        name: String,
    },
    /// Creates a table or replaces its schema.
    PutTable(Arc<TableSchema>),
    /// Removes a table and all of its files.
    DropTable(TableId),
    /// A finished file joins its table.
    AddFile(Arc<FileMeta>),
    /// A file leaves its table.
    RemoveFile {
        /// Table of the file.
        table: TableId,
        /// Its number.
        file: FileId,
    },
    /// Everything of the table that stands in the commit log up to the position is in files, or gone for good.
    Flushed {
        /// The table.
        table: TableId,
        /// Position of the last record that counts.
        position: LogPosition,
    },
    /// Numbers below these are used up. Never lowers one.
    NextIds(NextIds),
}

const PUT_KEYSPACE: u8 = 1;
const DROP_KEYSPACE: u8 = 2;
const PUT_TYPE: u8 = 3;
const DROP_TYPE: u8 = 4;
const PUT_TABLE: u8 = 5;
const DROP_TABLE: u8 = 6;
const ADD_FILE: u8 = 7;
const REMOVE_FILE: u8 = 8;
const FLUSHED: u8 = 9;
const NEXT_IDS: u8 = 10;

impl Edit {
    /// Appends the edit; `scratch` is overwritten.
    pub fn encode(&self, out: &mut Vec<u8>, scratch: &mut Vec<u8>) {
        scratch.clear();
        let tag = match self {
            Self::PutKeyspace(keyspace) => {
                put_bytes(scratch, keyspace.name.as_bytes());
                put_text_map(scratch, &keyspace.options);
                PUT_KEYSPACE
            }
            Self::DropKeyspace(name) => {
                put_bytes(scratch, name.as_bytes());
                DROP_KEYSPACE
            }
            Self::PutType(udt) => {
                put_udt(scratch, udt);
                PUT_TYPE
            }
            Self::DropType { keyspace, name } => {
                put_bytes(scratch, keyspace.as_bytes());
                put_bytes(scratch, name.as_bytes());
                DROP_TYPE
            }
            Self::PutTable(schema) => {
                put_schema(scratch, schema);
                PUT_TABLE
            }
            Self::DropTable(table) => {
                put_varint(scratch, u64::from(table.0));
                DROP_TABLE
            }
            Self::AddFile(meta) => {
                meta.encode(scratch);
                ADD_FILE
            }
            Self::RemoveFile { table, file } => {
                put_varint(scratch, u64::from(table.0));
                put_varint(scratch, file.0);
                REMOVE_FILE
            }
            Self::Flushed { table, position } => {
                put_varint(scratch, u64::from(table.0));
                put_varint(scratch, position.segment);
                put_varint(scratch, position.offset);
                FLUSHED
            }
            Self::NextIds(next) => {
                put_varint(scratch, next.file);
                put_varint(scratch, u64::from(next.table));
                put_varint(scratch, next.segment);
                NEXT_IDS
            }
        };
        out.push(tag);
        put_bytes(out, scratch);
    }

    /// Reads one edit and leaves the reader behind it.
    ///
    /// # Errors
    /// `Corrupt` for bytes that [`Edit::encode`] did not write, `Unsupported` for a kind of edit this build does not know.
    pub fn decode(reader: &mut ByteReader<'_>) -> Result<Self> {
        let start = reader.offset();
        let tag = reader.u8()?;
        let body = reader.bytes()?;
        let base = reader.offset().saturating_sub(body.len() as u64);
        let r = &mut ByteReader::with_base(body, base);
        let edit = match tag {
            PUT_KEYSPACE => Self::PutKeyspace(Arc::new(Keyspace {
                name: r.string()?.to_owned(),
                options: read_text_map(r)?,
            })),
            DROP_KEYSPACE => Self::DropKeyspace(r.string()?.to_owned()),
            PUT_TYPE => Self::PutType(Arc::new(read_udt(r)?)),
            DROP_TYPE => Self::DropType { keyspace: r.string()?.to_owned(), name: r.string()?.to_owned() },
            PUT_TABLE => Self::PutTable(Arc::new(read_schema(r)?)),
            DROP_TABLE => Self::DropTable(read_table(r)?),
            ADD_FILE => Self::AddFile(Arc::new(FileMeta::decode(r)?)),
            REMOVE_FILE => Self::RemoveFile { table: read_table(r)?, file: FileId(r.varint()?) },
            FLUSHED => Self::Flushed {
                table: read_table(r)?,
                position: LogPosition { segment: r.varint()?, offset: r.varint()? },
            },
            NEXT_IDS => Self::NextIds(NextIds {
                file: r.varint()?,
                table: read_u32(r, "table number")?,
                segment: r.varint()?,
            }),
            other => {
                let message = format!(
                    "manifest edit of kind {other} at offset {start}, which this build does not know"
                );
                return Err(Error::new(ErrorKind::Unsupported, message)
                    .hint("the store was written by a newer version of skep"));
            }
        };
        r.expect_end()?;
        Ok(edit)
    }
}

fn read_table(reader: &mut ByteReader<'_>) -> Result<TableId> {
    read_u32(reader, "table number").map(TableId)
}

/// Appends all of `edits`: the payload of one record.
pub fn encode_edits(edits: &[Edit], out: &mut Vec<u8>) {
    let mut scratch = Vec::new();
    edits.iter().for_each(|edit| edit.encode(out, &mut scratch));
}

/// The edits of one record, whose payload stands at `base` of its file.
///
/// # Errors
/// As [`Edit::decode`].
pub fn decode_edits(payload: &[u8], base: u64) -> Result<Vec<Edit>> {
    let mut reader = ByteReader::with_base(payload, base);
    let mut edits = Vec::new();
    while !reader.is_empty() {
        edits.push(Edit::decode(&mut reader)?);
    }
    Ok(edits)
}

/// One line for dumps.
impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PutKeyspace(keyspace) => {
                write!(f, "put keyspace {} ({} options)", keyspace.name, keyspace.options.len())
            }
            Self::DropKeyspace(name) => write!(f, "drop keyspace {name}"),
            Self::PutType(udt) => {
                write!(f, "put type {}.{} ({} fields)", udt.keyspace, udt.name, udt.fields.len())
            }
            Self::DropType { keyspace, name } => write!(f, "drop type {keyspace}.{name}"),
            Self::PutTable(schema) => write!(
                f,
                "put table {} {} version {} ({} columns)",
                schema.id.0,
                schema.full_name(),
                schema.version,
                schema.columns().len()
            ),
            Self::DropTable(table) => write!(f, "drop table {}", table.0),
            Self::AddFile(meta) => write!(
                f,
                "add file {} to table {} (level {}, {} bytes, {} partitions, {} rows)",
                meta.id, meta.table.0, meta.level, meta.size_bytes, meta.partitions, meta.rows
            ),
            Self::RemoveFile { table, file } => write!(f, "remove file {file} from table {}", table.0),
            Self::Flushed { table, position } => write!(
                f,
                "table {} flushed up to segment {} offset {}",
                table.0, position.segment, position.offset
            ),
            Self::NextIds(next) => {
                write!(f, "next file {}, table {}, log segment {}", next.file, next.table, next.segment)
            }
        }
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
pub(crate) mod tests;
