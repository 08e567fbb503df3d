//! The filter: what a row must fulfil beside standing in the right place.
//!
//! Made for one run of a statement ([`Where::filter`]), then asked for each row. Values are compared as their type orders them, as in the
//! clustering, so that 1.0 equals 1.00; null fulfils nothing. A row of static columns alone fulfils no test of a clustering or regular column.

use crate::catalog::{IndexDef, TableInfo};
use crate::error::{CqlError, Result};
use crate::restrict::Where;
use crate::restrict::operand::{Words, filter_list, parts, value};
use crate::restrict::restriction::{Contains, LeftKind, Operands, Restriction, Test};
use crate::syntax::ast::Comparison;
use crate::term::parts::split;
use crate::term::{EvalContext, Term};
use crate::value::Bound;
use skep_engine::encoding::path;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::compare::compare;
use skep_engine::read::column::CellRef;
use skep_engine::{Batch, ColumnKind, CqlType, Projection, TableSchema};
use std::cmp::Ordering;
use std::sync::Arc;

/// What rows must fulfil, all of it.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    tests: Vec<ColumnTest>,
    /// Whether a test is of a clustering or regular column.
    of_rows: bool,
}

#[derive(Clone, Debug)]
struct ColumnTest {
    /// Place in the schema's columns.
    column: usize,
    /// Place in the projection that is read.
    place: usize,
    ty: CqlType,
    check: Check,
    /// The index by which texts are compared, if it takes some for equal that are not the same.
    folding: Option<Arc<IndexDef>>,
}

#[derive(Clone, Debug)]
enum Check {
    Compare(Comparison, Bytes),
    /// The same of a number.
    CompareInt(Comparison, i64),
    CompareDouble(Comparison, f64),
    In(Vec<Bytes>),
    Contains(Bytes),
    ContainsKey(Bytes),
    Entry(Bytes, Bytes),
}

impl Where {
    /// What is left for the filter, with its values; None if nothing is.
    ///
    /// # Errors
    /// For null and unset values, and for what Cassandra does not filter by.
    pub fn filter(&self, cx: &EvalContext<'_>) -> Result<Option<Filter>> {
        let mut filter = Filter::default();
        for restriction in self.filtered() {
            filter.add(restriction, &self.table.schema, cx)?;
        }
        if self.index.is_some() {
            filter.fold(&self.table);
        }
        Ok((!filter.tests.is_empty()).then_some(filter))
    }

    /// The columns that the filter looks at: places in the schema's columns.
    pub fn filtered_columns(&self) -> impl Iterator<Item = usize> {
        self.filtered().flat_map(|restriction| restriction.columns.iter().copied())
    }

    /// The restrictions that are left for the filter.
    fn filtered(&self) -> impl Iterator<Item = &Restriction> {
        let keys: &[Restriction] = if self.filters_keys { &self.keys } else { &[] };
        let rows = self.clustering[self.ranged..].iter();
        keys.iter().chain(rows).chain(&self.others)
    }
}

impl Filter {
    fn add(&mut self, restriction: &Restriction, schema: &TableSchema, cx: &EvalContext<'_>) -> Result<()> {
        let multi = restriction.left == LeftKind::Multi && restriction.columns.len() > 1;
        match &restriction.test {
            Test::Slice(_) if multi => {
                return Err(CqlError::invalid(
                    "Multi-column slice restrictions cannot be used for filtering.",
                ));
            }
            Test::In(_) if multi => {
                return Err(CqlError::invalid("Multicolumn IN filters are not supported"));
            }
            Test::Eq(operand) => {
                let values = parts(operand, restriction, schema, Words::Filter, cx)?;
                for (column, value) in restriction.columns.iter().zip(values) {
                    let name = schema.columns().get(*column).map_or("?", |column| column.name.as_str());
                    let value = value.ok_or_else(|| null(name))?;
                    self.push(schema, *column, Check::Compare(Comparison::Eq, value));
                }
            }
            Test::In(operands) => {
                let mut values = filter_list(operands, restriction, schema, cx)?;
                if restriction.left == LeftKind::Multi && matches!(operands, Operands::Marker(_)) {
                    // A list of tuples of one field.
                    for value in &mut values {
                        let fields = crate::restrict::operand::fields(value, 1)?;
                        *value = fields.into_iter().flatten().next().unwrap_or_default();
                    }
                }
                self.push(schema, restriction.first(), Check::In(values));
            }
            Test::Slice(slice) => {
                let ends = [
                    (&slice.start, Comparison::Ge, Comparison::Gt),
                    (&slice.end, Comparison::Le, Comparison::Lt),
                ];
                for (end, closed, open) in ends {
                    let Some(end) = end else { continue };
                    let name = restriction.names(schema);
                    let values = parts(&end.operand, restriction, schema, Words::Filter, cx)?;
                    let value = values.into_iter().next().flatten().ok_or_else(|| null(&name))?;
                    let comparison = if end.inclusive { closed } else { open };
                    self.push(schema, restriction.first(), Check::Compare(comparison, value));
                }
            }
            Test::Contains(contains) => self.add_contains(contains, restriction, schema, cx)?,
        }
        Ok(())
    }

    fn add_contains(
        &mut self,
        contains: &Contains,
        restriction: &Restriction,
        schema: &TableSchema,
        cx: &EvalContext<'_>,
    ) -> Result<()> {
        let name = restriction.names(schema);
        let place = restriction.first();
        for term in &contains.values {
            let value = value(term, &name, Words::Filter, cx)?;
            self.push(schema, place, Check::Contains(value));
        }
        for term in &contains.keys {
            let value = value(term, &name, Words::Filter, cx)?;
            self.push(schema, place, Check::ContainsKey(value));
        }
        for (key, entry) in &contains.entries {
            let part = |term: &Term, what: &str| match term.eval(cx)? {
                Bound::Value(value) => Ok(value),
                Bound::Null => {
                    Err(CqlError::invalid(format!("Unsupported null map {what} for column {name}")))
                }
                Bound::Unset => {
                    Err(CqlError::invalid(format!("Unsupported unset map {what} for column {name}")))
                }
            };
            let (key, entry) = (part(key, "key")?, part(entry, "value")?);
            self.push(schema, place, Check::Entry(key, entry));
        }
        Ok(())
    }

    fn push(&mut self, schema: &TableSchema, column: usize, check: Check) {
        let Some(definition) = schema.columns().get(column) else { return };
        let ty = definition.ty.unfrozen();
        let check = match check {
            Check::Compare(comparison, value) => match as_number(ty, &value) {
                Some(CellRef::Int(number)) => Check::CompareInt(comparison, number),
                Some(CellRef::Double(number)) => Check::CompareDouble(comparison, number),
                _ => Check::Compare(comparison, value),
            },
            other => other,
        };
        self.of_rows |= matches!(definition.kind, ColumnKind::Clustering(_) | ColumnKind::Regular);
        self.tests.push(ColumnTest {
            column,
            place: column,
            ty: definition.ty.clone(),
            check,
            folding: None,
        });
    }

    /// Compares texts as their indexes do.
    fn fold(&mut self, table: &TableInfo) {
        for test in &mut self.tests {
            let Some(column) = table.schema.columns().get(test.column) else { continue };
            let Some(index) = table.indexes_on(&column.name).find(|index| index.folds()) else { continue };
            let (Check::Compare(Comparison::Eq, wanted)
            | Check::Contains(wanted)
            | Check::ContainsKey(wanted)) = &mut test.check
            else {
                continue;
            };
            *wanted = index.folded(wanted);
            test.folding = Some(Arc::clone(index));
        }
    }

    /// Whether rows are tested, not only partitions: then a row of static columns alone does not pass.
    #[must_use]
    pub fn is_of_rows(&self) -> bool {
        self.of_rows
    }

    /// Finds the columns in what is read.
    ///
    /// # Errors
    /// If one is not read at all.
    pub fn bind(&mut self, schema: &TableSchema, columns: &Projection) -> Result<()> {
        for test in &mut self.tests {
            let name = schema.columns().get(test.column).map_or("?", |column| column.name.as_str());
            let place = columns.position(name);
            test.place =
                place.ok_or_else(|| CqlError::invalid(format!("column {name} is filtered and not read")))?;
        }
        Ok(())
    }

    /// Whether row `row` of a batch passes.
    ///
    /// # Errors
    /// If stored bytes are no value of their type.
    pub fn passes(&self, batch: &Batch, row: usize) -> Result<bool> {
        for test in &self.tests {
            if !test.passes(batch, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn null(column: &str) -> CqlError {
    CqlError::invalid(format!("Unsupported null value for column {column}"))
}

/// The number that a batch holds for a value of a type of numbers.
fn as_number(ty: &CqlType, value: &[u8]) -> Option<CellRef<'static>> {
    Some(CellRef::Int(match ty {
        CqlType::Bigint | CqlType::Counter | CqlType::Timestamp | CqlType::Time => {
            i64::from_be_bytes(value.try_into().ok()?)
        }
        CqlType::Int => i32::from_be_bytes(value.try_into().ok()?).into(),
        CqlType::Smallint => i16::from_be_bytes(value.try_into().ok()?).into(),
        CqlType::Tinyint => i8::from_be_bytes(value.try_into().ok()?).into(),
        CqlType::Date => u32::from_be_bytes(value.try_into().ok()?).into(),
        CqlType::Double => return Some(CellRef::Double(f64::from_be_bytes(value.try_into().ok()?))),
        _ => return None,
    }))
}

/// Java's order of doubles: -0.0 before 0.0, all NaN equal and last.
fn java(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (false, false) => left.total_cmp(&right),
        (left, right) => left.cmp(&right),
    }
}

fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Lt => order.is_lt(),
        Comparison::Le => order.is_le(),
        Comparison::Gt => order.is_gt(),
        Comparison::Ge => order.is_ge(),
        _ => order.is_eq(),
    }
}

impl ColumnTest {
    fn passes(&self, batch: &Batch, row: usize) -> Result<bool> {
        if let Some(index) = &self.folding {
            return self.passes_folded(index, batch, row);
        }
        let cell = batch.cell(self.place, row);
        Ok(match (&self.check, cell) {
            (_, CellRef::Null) => false,
            (Check::CompareInt(comparison, number), CellRef::Int(value)) => {
                holds(*comparison, value.cmp(number))
            }
            (Check::CompareDouble(comparison, number), CellRef::Double(value)) => {
                holds(*comparison, java(value, *number))
            }
            // An empty value comes before all numbers.
            (Check::CompareInt(comparison, _) | Check::CompareDouble(comparison, _), _) => {
                holds(*comparison, Ordering::Less)
            }
            (Check::Compare(comparison, wanted), cell) => {
                let order = match cell {
                    CellRef::Bytes(bytes) => compare(bytes, wanted, &self.ty),
                    _ => match batch.wire(self.place, row)? {
                        Some(wire) => compare(&wire, wanted, &self.ty),
                        None => return Ok(false),
                    },
                };
                holds(*comparison, order)
            }
            (Check::In(wanted), _) => match batch.wire(self.place, row)? {
                Some(wire) => wanted.iter().any(|wanted| compare(&wire, wanted, &self.ty).is_eq()),
                None => false,
            },
            (check, CellRef::Complex(cells)) => self.contained(check, cells)?,
            (check, CellRef::Bytes(bytes)) => self.contained_frozen(check, bytes)?,
            _ => false,
        })
    }

    fn passes_folded(&self, index: &IndexDef, batch: &Batch, row: usize) -> Result<bool> {
        let Some(wire) = batch.wire(self.place, row)? else { return Ok(false) };
        let (wanted, values): (_, Vec<Bytes>) = match (&self.check, self.ty.unfrozen()) {
            (Check::Compare(_, wanted), _) => (wanted, vec![wire]),
            (Check::Contains(wanted), CqlType::Map(..)) => {
                (wanted, split(&wire, &self.ty)?.into_iter().skip(1).step_by(2).flatten().collect())
            }
            (Check::ContainsKey(wanted), _) => {
                (wanted, split(&wire, &self.ty)?.into_iter().step_by(2).flatten().collect())
            }
            (Check::Contains(wanted), _) => (wanted, split(&wire, &self.ty)?.into_iter().flatten().collect()),
            _ => return Ok(false),
        };
        Ok(values.iter().any(|value| index.folded(value) == *wanted))
    }

    /// Of a collection that is many cells.
    fn contained(&self, check: &Check, cells: &Cells) -> Result<bool> {
        let value_is = |value: Option<&[u8]>, wanted: &[u8], ty: &CqlType| {
            value.is_some_and(|value| compare(value, wanted, ty).is_eq())
        };
        match (check, &self.ty) {
            (Check::Contains(wanted), CqlType::List(ty) | CqlType::Map(_, ty)) => {
                Ok(cells.iter().any(|(_, cell)| value_is(cell.value.as_deref(), wanted, ty)))
            }
            (Check::Contains(wanted), CqlType::Set(ty))
            | (Check::ContainsKey(wanted), CqlType::Map(ty, _)) => {
                let path = path::of(wanted, ty)?;
                Ok(cells.binary_search_by(|(other, _)| other.cmp(&path)).is_ok())
            }
            (Check::Entry(key, wanted), CqlType::Map(key_ty, ty)) => {
                let path = path::of(key, key_ty)?;
                let found = cells.binary_search_by(|(other, _)| other.cmp(&path));
                let cell = found.ok().and_then(|at| cells.get(at));
                Ok(cell.is_some_and(|(_, cell)| value_is(cell.value.as_deref(), wanted, ty)))
            }
            _ => Ok(false),
        }
    }

    fn contained_frozen(&self, check: &Check, bytes: &[u8]) -> Result<bool> {
        let is = |value: &Option<Bytes>, wanted: &Bytes, ty: &CqlType| {
            value.as_ref().is_some_and(|value| compare(value, wanted, ty).is_eq())
        };
        let (ty, all) = (self.ty.unfrozen(), split(bytes, &self.ty)?);
        Ok(match (check, ty) {
            (Check::Contains(wanted), CqlType::List(ty) | CqlType::Set(ty)) => {
                all.iter().any(|v| is(v, wanted, ty))
            }
            (Check::Contains(wanted), CqlType::Map(_, ty)) => {
                all.iter().skip(1).step_by(2).any(|value| is(value, wanted, ty))
            }
            (Check::ContainsKey(wanted), CqlType::Map(ty, _)) => {
                all.iter().step_by(2).any(|key| is(key, wanted, ty))
            }
            (Check::Entry(key, wanted), CqlType::Map(key_ty, ty)) => {
                all.chunks_exact(2).any(|entry| is(&entry[0], key, key_ty) && is(&entry[1], wanted, ty))
            }
            _ => false,
        })
    }
}

/// The cells of a collection, by path.
type Cells = [(skep_engine::model::clustering::Clustering, skep_engine::model::cell::Cell)];
