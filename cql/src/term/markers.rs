//! The bind markers of a statement: what each one stands for.
//!
//! Filled while the statement's terms are prepared; a driver is told the result ([`Markers::specs`]) and serialises values by it.

use crate::syntax::ast::Marker;
use crate::value::ColumnSpec;
use skep_engine::TableSchema;

/// What the markers of a statement stand for, by their number. A name that comes twice has two numbers.
#[derive(Clone, Debug, Default)]
pub struct Markers {
    /// What a driver is told, and the receiver's own name.
    slots: Vec<Option<(ColumnSpec, String)>>,
}

impl Markers {
    /// Of a statement with these markers, all still unknown.
    #[must_use]
    pub fn new(markers: &[Marker]) -> Self {
        Self { slots: vec![None; markers.iter().map(|marker| marker.index + 1).max().unwrap_or(0)] }
    }

    /// Notes that `marker` stands for `receiver`; a marker with a name of its own is shown under that.
    pub fn set(&mut self, marker: &Marker, receiver: &ColumnSpec) {
        if self.slots.len() <= marker.index {
            self.slots.resize(marker.index + 1, None);
        }
        let mut shown = receiver.clone();
        if let Some(name) = &marker.name {
            shown.name.clone_from(name);
        }
        self.slots[marker.index] = Some((shown, receiver.name.clone()));
    }

    /// Name and type of each, as a driver is told.
    #[must_use]
    pub fn specs(&self) -> Vec<ColumnSpec> {
        self.slots.iter().flatten().map(|(spec, _)| spec.clone()).collect()
    }

    /// Number of markers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The numbers of the markers that are the partition key of `table`, in key order, the last one of each column; none unless all of
    /// the key is bound. A driver finds the nodes of a statement by them.
    #[must_use]
    pub fn key_indexes(&self, table: &TableSchema) -> Vec<usize> {
        let of_column = |name: &str| {
            self.slots.iter().rposition(|slot| {
                slot.as_ref().is_some_and(|(spec, receiver)| {
                    receiver == name && spec.table == table.name && spec.keyspace == table.keyspace
                })
            })
        };
        let found: Option<Vec<_>> =
            table.partition_key().iter().map(|column| of_column(&column.name)).collect();
        found.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_engine::model::schema::TableId;
    use skep_engine::{ColumnKind, CqlType, TableOptions};

    #[test]
    fn a_name_hides_the_receivers_but_not_that_it_is_the_key() {
        let columns =
            [("a", ColumnKind::PartitionKey), ("b", ColumnKind::PartitionKey), ("v", ColumnKind::Regular)];
        let columns = columns.map(|(name, kind)| (name.to_owned(), CqlType::Int, kind)).to_vec();
        let table = TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap();
        let receiver = |name: &str| ColumnSpec {
            keyspace: "ks".to_owned(),
            table: "t".to_owned(),
            name: name.to_owned(),
            ty: CqlType::Int,
        };
        let marker = |index, name: Option<&str>| Marker { index, name: name.map(str::to_owned) };
        let mut markers = Markers::new(&[marker(0, None), marker(1, None), marker(2, None)]);
        markers.set(&marker(0, Some("x")), &receiver("b"));
        markers.set(&marker(1, None), &receiver("v"));
        assert!(markers.key_indexes(&table).is_empty(), "a part of the key is not bound");
        markers.set(&marker(2, None), &receiver("a"));
        assert_eq!(markers.key_indexes(&table), [2, 0]);
        assert_eq!(markers.specs()[0].name, "x");
    }
}
