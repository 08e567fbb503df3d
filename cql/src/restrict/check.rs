//! What restrictions mean together: which may stand beside which, what is missing, what needs ALLOW FILTERING or an index.
//!
//! Restrictions are added one by one ([`Where::add`]) and held against the statement's rules when all are there ([`Where::check`]), in
//! Cassandra's order, so that of several mistakes the same one is told.

use crate::error::{CqlError, Result};
use crate::restrict::restriction::{LeftKind, Restriction, Test, names};
use crate::restrict::{Kind, Rules, Where, index};
use skep_engine::TableSchema;
use std::sync::Arc;

impl Where {
    /// Adds one restriction to those before it.
    pub(crate) fn add(&mut self, restriction: Restriction, rules: Rules) -> Result<()> {
        let table = Arc::clone(&self.table);
        let schema = &table.schema;
        if restriction.left == LeftKind::Token {
            let merged = match self.token.take() {
                Some(before) => before.merge(restriction, schema)?,
                None => restriction,
            };
            self.token = Some(merged);
            return Ok(());
        }
        let clusterings =
            schema.partition_key().len()..schema.partition_key().len() + schema.clustering().len();
        if restriction.first() < clusterings.start {
            return add_to(&mut self.keys, restriction, schema);
        }
        if restriction.first() >= clusterings.end {
            return add_to(&mut self.others, restriction, schema);
        }
        let (first, is_slice) = (restriction.first(), restriction.is_slice());
        let indexed = index::supporting(&table, &restriction).is_some();
        let last = self.clustering.last().map(|last| (last.first(), last.is_slice()));
        add_to(&mut self.clustering, restriction, schema)?;
        let Some((last, last_is_slice)) = last.filter(|_| !rules.allow_filtering && !indexed) else {
            return Ok(());
        };
        let name = |place: usize| names(schema, &[place]);
        if last_is_slice && first > last {
            let (column, before) = (name(first), name(last));
            return Err(CqlError::invalid(format!(
                "Clustering column \"{column}\" cannot be restricted (preceding column \"{before}\" is restricted by a \
                 non-EQ relation)"
            )));
        }
        if first < last && is_slice {
            let next = self.clustering.iter().map(Restriction::first).find(|place| *place > first);
            let (column, before) = (name(next.unwrap_or(last)), name(first));
            return Err(CqlError::invalid(format!(
                "PRIMARY KEY column \"{column}\" cannot be restricted (preceding column \"{before}\" is restricted by a \
                 non-EQ relation)"
            )));
        }
        Ok(())
    }

    /// What all restrictions together must fulfil.
    pub(crate) fn check(&mut self, rules: Rules) -> Result<()> {
        let table = Arc::clone(&self.table);
        let can_index = rules.kind == Kind::Select;
        let index =
            if can_index { index::choose(&table, &self.clustering, &self.others, &self.keys) } else { None };
        let indexed = index.is_some();
        let mut uses_index = false;
        self.check_partition_key(rules, indexed, &mut uses_index)?;
        // What the filter would hold, counted as it comes up: an index found later does not change it.
        let mut counted = if uses_index || self.filters_keys { self.keys.clone() } else { Vec::new() };
        if rules.statics_only && !self.clustering.is_empty() {
            match rules.kind {
                Kind::Select => {
                    let text = "Cannot restrict clustering columns when selecting only static columns";
                    return Err(CqlError::invalid(text));
                }
                Kind::Update | Kind::Delete => {
                    return Err(CqlError::invalid(format!(
                        "Invalid restrictions on clustering columns since the {} statement modifies only static columns",
                        rules.kind
                    )));
                }
                Kind::Insert => {}
            }
        }
        self.check_clustering(rules, indexed, &mut uses_index)?;
        if uses_index || self.ranged < self.clustering.len() {
            counted.extend(self.clustering.iter().cloned());
        }
        if self.key_range
            && self.clustering.iter().any(|restriction| index::supporting(&table, restriction).is_some())
        {
            uses_index |= can_index;
        }
        if !self.others.is_empty() {
            if rules.kind != Kind::Select {
                let columns: Vec<usize> =
                    self.others.iter().flat_map(|other| other.columns.clone()).collect();
                let columns = names(&table.schema, &columns);
                return Err(CqlError::invalid(format!(
                    "Non PRIMARY KEY columns found in where clause: {columns} "
                )));
            }
            if indexed {
                uses_index = true;
            } else if !rules.allow_filtering {
                return Err(self.filtering_needed());
            }
        }
        if uses_index && self.has_key_in() {
            let text = "Select on indexed columns and with IN clause for the PRIMARY KEY are not supported";
            return Err(CqlError::invalid(text));
        }
        self.index = index.filter(|_| uses_index);
        if rules.kind == Kind::Select && !rules.allow_filtering && (self.key_range || uses_index) {
            // A read over all partitions, or of an index, that would have to leave out rows it has read.
            let many = |other: &Restriction| matches!(&other.test, Test::Contains(all) if all.len() > 1);
            let needed = match counted.len() + self.others.len() {
                0 => !self.clustering.is_empty(),
                1 => self.others.iter().any(many),
                _ => true,
            };
            // Several storage-attached indexes answer together, and each several questions.
            let together = counted.iter().chain(&self.others).all(|other| index::is_attached(&table, other));
            let nothing = counted.is_empty() && self.others.is_empty();
            self.needs_filtering = needed && (nothing || !together);
        }
        Ok(())
    }

    fn check_partition_key(&mut self, rules: Rules, indexed: bool, uses_index: &mut bool) -> Result<()> {
        let schema = &self.table.schema;
        let columns = schema.partition_key().len();
        let missing: Vec<usize> =
            (0..columns).filter(|place| !self.keys.iter().any(|key| key.columns.contains(place))).collect();
        let has_slice = self.keys.iter().any(Restriction::is_slice);
        if rules.kind != Kind::Select {
            if self.token.is_some() {
                return Err(CqlError::invalid(format!(
                    "The token function cannot be used in WHERE clauses for {} statements",
                    rules.kind
                )));
            }
            if !missing.is_empty() {
                let names = names(schema, &missing);
                let error = CqlError::invalid(format!("Some partition key parts are missing: {names}"));
                return Err(error.hint(self.whole_key(rules.kind)));
            }
            if has_slice {
                return Err(CqlError::invalid(format!(
                    "Only EQ and IN relation are supported on the partition key (unless you use the token() function) \
                     for {} statements",
                    rules.kind
                )));
            }
            return Ok(());
        }
        if self.keys.is_empty() {
            self.key_range = true;
            *uses_index = indexed && self.token.is_none();
            return Ok(());
        }
        let unnamed = !missing.is_empty() || has_slice || self.keys.iter().any(Restriction::is_contains);
        if unnamed {
            if !rules.allow_filtering && !indexed {
                return Err(self.filtering_needed());
            }
            self.key_range = true;
            self.filters_keys = true;
            *uses_index = indexed;
        }
        Ok(())
    }

    fn check_clustering(&mut self, rules: Rules, indexed: bool, uses_index: &mut bool) -> Result<()> {
        let schema = &self.table.schema;
        let first = schema.partition_key().len();
        self.ranged = ranged(&self.clustering, first);
        let takes_slices = matches!(rules.kind, Kind::Select | Kind::Delete);
        if !takes_slices {
            if self.clustering.iter().any(Restriction::is_slice) {
                return Err(CqlError::invalid(format!(
                    "Slice restrictions are not supported on the clustering columns in {} statements",
                    rules.kind
                )));
            }
            let missing: Vec<usize> = (first..first + schema.clustering().len())
                .filter(|place| !self.clustering.iter().any(|other| other.columns.contains(place)))
                .collect();
            if !rules.statics_only && !missing.is_empty() {
                let names = names(schema, &missing);
                let error = CqlError::invalid(format!("Some clustering keys are missing: {names}"));
                return Err(error.hint(self.whole_key(rules.kind)));
            }
            return Ok(());
        }
        if self.clustering.iter().any(Restriction::is_contains) && !indexed && !rules.allow_filtering {
            return Err(CqlError::invalid(
                "Clustering columns can only be restricted with CONTAINS with a secondary index or filtering",
            ));
        }
        if self.ranged < self.clustering.len() {
            if indexed {
                *uses_index = true;
            } else if !rules.allow_filtering {
                let restricted =
                    self.clustering.iter().flat_map(|restriction| restriction.columns.iter().copied());
                if let Some((wanted, found)) =
                    (first..).zip(restricted).find(|(wanted, found)| wanted != found)
                {
                    // Over all partitions, data filtering is what is told.
                    if self.key_range {
                        return Err(self.filtering_needed());
                    }
                    let (column, before) = (names(schema, &[found]), names(schema, &[wanted]));
                    let error = CqlError::invalid(format!(
                        "PRIMARY KEY column \"{column}\" cannot be restricted as preceding column \"{before}\" is not \
                         restricted"
                    ));
                    return Err(error.hint(self.order_of_rows()));
                }
            }
        }
        Ok(())
    }
}

/// Adds a restriction to those on the same kind of columns, which stand in the columns' order.
fn add_to(all: &mut Vec<Restriction>, restriction: Restriction, schema: &TableSchema) -> Result<()> {
    let shares =
        |other: &Restriction| other.columns.iter().any(|column| restriction.columns.contains(column));
    match all.iter().position(shares) {
        Some(at) => {
            let merged = all.remove(at).merge(restriction, schema)?;
            all.insert(at, merged);
        }
        None => {
            let at = all.iter().position(|other| other.first() > restriction.first()).unwrap_or(all.len());
            all.insert(at, restriction);
        }
    }
    Ok(())
}

/// How many of the restrictions, from the first on, name ranges of rows: up to a gap or CONTAINS, and a slice is the last.
fn ranged(clustering: &[Restriction], first: usize) -> usize {
    let mut next = first;
    for (i, restriction) in clustering.iter().enumerate() {
        if restriction.is_contains() || restriction.first() != next {
            return i;
        }
        if restriction.is_slice() {
            return i + 1;
        }
        next = restriction.last() + 1;
    }
    clustering.len()
}
