//! Rows as Arrow record batches.
//!
//! Each CQL type has one Arrow type ([`data_type`]); every field may be null. Numbers, times and booleans are Arrow's own; uuids are sixteen
//! bytes; a `duration` is an interval of months, days and nanoseconds; addresses, `varint` and `decimal`, which know no greatest width, are
//! text. Collections are lists and maps, tuples and user types are structs, a vector is a list of fixed size.
//!
//! # Not here
//! Zero-length values of types that have no such value (an empty `int`): Arrow has no place for them, they are null.

use crate::error::{CqlError, Result};
use crate::session::query::{Part, Rows};
use crate::session::rows::FromCql;
use crate::session::values::Values;
use crate::session::{Query, Session};
use crate::value::{ColumnSpec, Wire};
use arrow_array::builder::{BinaryBuilder, FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64NanosecondType, TimestampMillisecondType,
};
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, ListArray, MapArray, PrimitiveArray, RecordBatch, StructArray,
};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use skep_engine::read::column::CellRef;
use skep_engine::{Batch, BatchColumn, CqlDuration, CqlType, Value};
use std::sync::Arc;

impl Session {
    /// Runs a query and gives its rows as record batches: of plain columns those of the engine, of others a page of rows in each.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn query_arrow(&self, query: impl Query, values: impl Values) -> Result<RecordBatches<'_>> {
        let rows = self.query(query, values)?;
        Ok(RecordBatches { schema: schema(rows.columns()), rows: Some(rows) })
    }
}

/// The rows of a query as record batches.
#[derive(Debug)]
pub struct RecordBatches<'s> {
    schema: SchemaRef,
    /// None behind the last page, or after an error.
    rows: Option<Rows<'s>>,
}

impl RecordBatches<'_> {
    /// The schema of all batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for RecordBatches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let rows = self.rows.as_mut()?;
        let part = rows.next_part();
        let made = part.and_then(|part| match part {
            Some(Part::Page(page)) => record_batch(&self.schema, rows.columns(), &page).map(Some),
            Some(Part::Batch(batch, places)) => {
                of_batch(&self.schema, rows.columns(), &batch, &places).map(Some)
            }
            None => Ok(None),
        });
        if !matches!(made, Ok(Some(_))) {
            self.rows = None;
        }
        made.transpose()
    }
}

/// A batch of the engine as a record batch: numbers are copied as they lie there.
fn of_batch(
    schema: &SchemaRef,
    columns: &[ColumnSpec],
    batch: &Batch,
    places: &[usize],
) -> Result<RecordBatch> {
    let arrays: Result<Vec<_>> =
        columns.iter().zip(places).map(|(column, place)| batch_array(&column.ty, batch, *place)).collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays?, &options).map_err(failed)
}

fn batch_array(ty: &CqlType, batch: &Batch, place: usize) -> Result<ArrayRef> {
    let Some(column) = batch.column(place) else { return array(ty, &vec![None; batch.len()]) };
    let rows = batch.len();
    Ok(match ty.unfrozen() {
        CqlType::Tinyint => ints::<Int8Type>(column, rows, |v| v as i8),
        CqlType::Smallint => ints::<Int16Type>(column, rows, |v| v as i16),
        CqlType::Int => ints::<Int32Type>(column, rows, |v| v as i32),
        CqlType::Bigint | CqlType::Counter => ints::<Int64Type>(column, rows, |v| v),
        CqlType::Date => ints::<Date32Type>(column, rows, |v| (v as u32 ^ (1 << 31)).cast_signed()),
        CqlType::Time => ints::<Time64NanosecondType>(column, rows, |v| v),
        CqlType::Timestamp => {
            Arc::new(int_array::<TimestampMillisecondType>(column, rows, |v| v).with_timezone("UTC"))
        }
        CqlType::Double => match column.doubles(rows) {
            Some((values, false)) => {
                Arc::new(PrimitiveArray::<Float64Type>::from_iter_values(values.iter().copied()))
            }
            _ => cells::<Float64Type>(column, rows, |cell| match cell {
                CellRef::Double(value) => Some(value),
                _ => None,
            }),
        },
        CqlType::Float => match column.floats(rows) {
            Some((values, false)) => {
                Arc::new(PrimitiveArray::<Float32Type>::from_iter_values(values.iter().copied()))
            }
            _ => cells::<Float32Type>(column, rows, |cell| match cell {
                CellRef::Float(value) => Some(value),
                _ => None,
            }),
        },
        other => {
            let wires: skep_engine::Result<Vec<Wire>> = (0..rows).map(|row| batch.wire(place, row)).collect();
            let wires = wires?;
            let values: Vec<Option<&[u8]>> = wires.iter().map(Option::as_deref).collect();
            return array(other, &values);
        }
    })
}

fn ints<A: ArrowPrimitiveType>(column: &BatchColumn, rows: usize, of: impl Fn(i64) -> A::Native) -> ArrayRef {
    Arc::new(int_array::<A>(column, rows, of))
}

fn int_array<A: ArrowPrimitiveType>(
    column: &BatchColumn,
    rows: usize,
    of: impl Fn(i64) -> A::Native,
) -> PrimitiveArray<A> {
    match column.ints(rows) {
        Some((values, false)) => PrimitiveArray::from_iter_values(values.iter().map(|value| of(*value))),
        Some((values, true)) => PrimitiveArray::from_iter_values(values.iter().rev().map(|value| of(*value))),
        None => {
            let value = |row| match column.cell(row) {
                CellRef::Int(value) => Some(of(value)),
                _ => None,
            };
            (0..rows).map(value).collect()
        }
    }
}

fn cells<A: ArrowPrimitiveType>(
    column: &BatchColumn,
    rows: usize,
    of: impl Fn(CellRef<'_>) -> Option<A::Native>,
) -> ArrayRef {
    let array: PrimitiveArray<A> = (0..rows).map(|row| of(column.cell(row))).collect();
    Arc::new(array)
}

/// The Arrow type of a CQL type.
#[must_use]
pub fn data_type(ty: &CqlType) -> DataType {
    match ty {
        CqlType::Frozen(inner) => data_type(inner),
        CqlType::Boolean => DataType::Boolean,
        CqlType::Tinyint => DataType::Int8,
        CqlType::Smallint => DataType::Int16,
        CqlType::Int => DataType::Int32,
        CqlType::Bigint | CqlType::Counter => DataType::Int64,
        CqlType::Float => DataType::Float32,
        CqlType::Double => DataType::Float64,
        CqlType::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        CqlType::Date => DataType::Date32,
        CqlType::Time => DataType::Time64(TimeUnit::Nanosecond),
        CqlType::Duration => DataType::Interval(IntervalUnit::MonthDayNano),
        CqlType::Uuid | CqlType::Timeuuid => DataType::FixedSizeBinary(16),
        CqlType::Blob => DataType::Binary,
        CqlType::Ascii | CqlType::Text | CqlType::Inet | CqlType::Varint | CqlType::Decimal => DataType::Utf8,
        CqlType::List(element) | CqlType::Set(element) => DataType::List(item(element)),
        CqlType::Vector(element, dimension) => {
            DataType::FixedSizeList(item(element), i32::try_from(*dimension).unwrap_or(i32::MAX))
        }
        CqlType::Map(key, value) => DataType::Map(Arc::new(entries(key, value)), false),
        CqlType::Tuple(types) => DataType::Struct(tuple_fields(types)),
        CqlType::Udt(udt) => {
            let field = |(name, ty): &(String, CqlType)| Field::new(name, data_type(ty), true);
            DataType::Struct(udt.fields.iter().map(field).collect())
        }
    }
}

fn item(ty: &CqlType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type(ty), true))
}

fn map_fields(key: &CqlType, value: &CqlType) -> Fields {
    Fields::from(vec![Field::new("key", data_type(key), false), Field::new("value", data_type(value), true)])
}

fn entries(key: &CqlType, value: &CqlType) -> Field {
    Field::new("entries", DataType::Struct(map_fields(key, value)), false)
}

/// Fields of a tuple are named by their place, from 0.
fn tuple_fields(types: &[CqlType]) -> Fields {
    types.iter().enumerate().map(|(i, ty)| Field::new(i.to_string(), data_type(ty), true)).collect()
}

/// The Arrow schema of these columns.
#[must_use]
pub fn schema(columns: &[ColumnSpec]) -> SchemaRef {
    let field = |column: &ColumnSpec| Field::new(&column.name, data_type(&column.ty), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Rows as a batch.
///
/// # Errors
/// Values that are none of their column's type.
pub fn record_batch(schema: &SchemaRef, columns: &[ColumnSpec], rows: &[Vec<Wire>]) -> Result<RecordBatch> {
    let mut arrays = Vec::with_capacity(columns.len());
    for (place, column) in columns.iter().enumerate() {
        let values: Vec<Option<&[u8]>> =
            rows.iter().map(|row| row.get(place).and_then(|wire| wire.as_deref())).collect();
        arrays.push(array(&column.ty, &values)?);
    }
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(failed)
}

fn failed(error: ArrowError) -> CqlError {
    CqlError::new(crate::error::Code::ServerError, format!("the rows make no record batch: {error}"))
}

/// One column.
fn array(ty: &CqlType, values: &[Option<&[u8]>]) -> Result<ArrayRef> {
    Ok(match ty {
        CqlType::Frozen(inner) => return array(inner, values),
        CqlType::Boolean => {
            let values: Result<Vec<_>> = numbers(ty, values, |value: bool| value);
            Arc::new(BooleanArray::from(values?))
        }
        CqlType::Tinyint => primitive::<Int8Type, i8>(ty, values, |value| value)?,
        CqlType::Smallint => primitive::<Int16Type, i16>(ty, values, |value| value)?,
        CqlType::Int => primitive::<Int32Type, i32>(ty, values, |value| value)?,
        CqlType::Bigint | CqlType::Counter => primitive::<Int64Type, i64>(ty, values, |value| value)?,
        CqlType::Float => primitive::<Float32Type, f32>(ty, values, |value| value)?,
        CqlType::Double => primitive::<Float64Type, f64>(ty, values, |value| value)?,
        CqlType::Timestamp => {
            let array =
                primitive_array::<TimestampMillisecondType, skep_engine::Timestamp>(ty, values, |at| at.0)?;
            Arc::new(array.with_timezone("UTC"))
        }
        // Days since 1970-01-01, which CQL counts as 2^31.
        CqlType::Date => {
            primitive::<Date32Type, skep_engine::Date>(ty, values, |day| (day.0 ^ (1 << 31)).cast_signed())?
        }
        CqlType::Time => primitive::<Time64NanosecondType, skep_engine::Time>(ty, values, |time| time.0)?,
        CqlType::Duration => primitive::<IntervalMonthDayNanoType, CqlDuration>(ty, values, |span| {
            IntervalMonthDayNano::new(span.months, span.days, span.nanos)
        })?,
        CqlType::Uuid | CqlType::Timeuuid => {
            let mut builder = FixedSizeBinaryBuilder::with_capacity(values.len(), 16);
            for value in values {
                match value {
                    Some(bytes) if !bytes.is_empty() => builder.append_value(bytes).map_err(failed)?,
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        CqlType::Blob => {
            let mut builder = BinaryBuilder::new();
            values.iter().for_each(|value| builder.append_option(*value));
            Arc::new(builder.finish())
        }
        CqlType::Ascii | CqlType::Text => {
            let mut builder = StringBuilder::new();
            for value in values {
                let text = value.map(std::str::from_utf8).transpose();
                builder.append_option(text.map_err(|_| CqlError::invalid("a text is not UTF-8"))?);
            }
            Arc::new(builder.finish())
        }
        CqlType::Inet | CqlType::Varint | CqlType::Decimal => {
            let mut builder = StringBuilder::new();
            for value in values {
                let value = value.map(|bytes| Value::from_cql(Some(bytes), ty)).transpose()?;
                let text = value.filter(|value| *value != Value::Empty).map(|value| value.to_string());
                builder.append_option(text);
            }
            Arc::new(builder.finish())
        }
        other => nested(other, values)?,
    })
}

fn numbers<T: FromCql, N>(
    ty: &CqlType,
    values: &[Option<&[u8]>],
    of: impl Fn(T) -> N,
) -> Result<Vec<Option<N>>> {
    let number = |value: &Option<&[u8]>| match value {
        Some(bytes) if !bytes.is_empty() => T::from_cql(Some(bytes), ty).map(|value| Some(of(value))),
        _ => Ok(None),
    };
    values.iter().map(number).collect()
}

fn primitive_array<A: ArrowPrimitiveType, T: FromCql>(
    ty: &CqlType,
    values: &[Option<&[u8]>],
    of: impl Fn(T) -> A::Native,
) -> Result<PrimitiveArray<A>> {
    Ok(numbers(ty, values, of)?.into_iter().collect())
}

fn primitive<A: ArrowPrimitiveType, T: FromCql>(
    ty: &CqlType,
    values: &[Option<&[u8]>],
    of: impl Fn(T) -> A::Native,
) -> Result<ArrayRef> {
    Ok(Arc::new(primitive_array::<A, T>(ty, values, of)?))
}

/// Collections, tuples, user types and vectors: their parts become arrays of their own.
fn nested(ty: &CqlType, values: &[Option<&[u8]>]) -> Result<ArrayRef> {
    let nulls = || Some(NullBuffer::from_iter(values.iter().map(Option::is_some)));
    let malformed = || CqlError::invalid(format!("a value is none of type {ty}"));
    Ok(match ty {
        CqlType::List(element) | CqlType::Set(element) => {
            let (parts, offsets) = flatten(values, 1).ok_or_else(malformed)?;
            let array = ListArray::try_new(item(element), offsets, array(element, &parts)?, nulls());
            Arc::new(array.map_err(failed)?)
        }
        CqlType::Map(key, value) => {
            let (parts, offsets) = flatten(values, 2).ok_or_else(malformed)?;
            let keys: Vec<_> = parts.iter().copied().step_by(2).collect();
            let held: Vec<_> = parts.iter().copied().skip(1).step_by(2).collect();
            let arrays = vec![array(key, &keys)?, array(value, &held)?];
            let pairs = StructArray::try_new(map_fields(key, value), arrays, None).map_err(failed)?;
            let map = MapArray::try_new(Arc::new(entries(key, value)), offsets, pairs, nulls(), false);
            Arc::new(map.map_err(failed)?)
        }
        CqlType::Vector(element, dimension) => {
            let count = *dimension as usize;
            let mut parts = Vec::with_capacity(values.len().saturating_mul(count.min(4096)));
            for value in values {
                match value {
                    None => parts.extend(std::iter::repeat_n(None, count)),
                    Some(bytes) => {
                        let mut rest = *bytes;
                        for _ in 0..count {
                            parts.push(Some(take_vector_element(&mut rest, element).ok_or_else(malformed)?));
                        }
                    }
                }
            }
            let size = i32::try_from(*dimension).map_err(|_| malformed())?;
            let list = FixedSizeListArray::try_new(item(element), size, array(element, &parts)?, nulls());
            Arc::new(list.map_err(failed)?)
        }
        CqlType::Tuple(types) => {
            let types: Vec<_> = types.iter().collect();
            structure(
                tuple_fields(&types.iter().map(|ty| (*ty).clone()).collect::<Vec<_>>()),
                &types,
                values,
            )?
        }
        CqlType::Udt(udt) => {
            let types: Vec<_> = udt.fields.iter().map(|(_, ty)| ty).collect();
            let DataType::Struct(fields) = data_type(ty) else { return Err(malformed()) };
            structure(fields, &types, values)?
        }
        _ => return Err(malformed()),
    })
}

/// The fields of tuples and user types; those at the end that are missing are null.
fn structure(fields: Fields, types: &[&CqlType], values: &[Option<&[u8]>]) -> Result<ArrayRef> {
    let mut columns: Vec<Vec<Option<&[u8]>>> = vec![Vec::with_capacity(values.len()); types.len()];
    for value in values {
        let mut rest = value.unwrap_or_default();
        for column in &mut columns {
            let part = match rest.is_empty() {
                true => None,
                false => take_element(&mut rest).ok_or_else(|| CqlError::invalid("a tuple is cut short"))?,
            };
            column.push(part);
        }
    }
    let arrays: Result<Vec<_>> = types.iter().zip(&columns).map(|(ty, column)| array(ty, column)).collect();
    let nulls = NullBuffer::from_iter(values.iter().map(Option::is_some));
    if types.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(values.len(), Some(nulls))));
    }
    Ok(Arc::new(StructArray::try_new(fields, arrays?, Some(nulls)).map_err(failed)?))
}

/// Elements one after the other, and where those of each value begin.
type Flat<'a> = (Vec<Option<&'a [u8]>>, OffsetBuffer<i32>);

/// The elements of collections, `unit` for each counted one.
fn flatten<'a>(values: &[Option<&'a [u8]>], unit: usize) -> Option<Flat<'a>> {
    let mut parts = Vec::new();
    let mut lengths = Vec::with_capacity(values.len());
    for value in values {
        let mut rest = value.unwrap_or_default();
        let count = match rest.is_empty() {
            true => 0,
            false => usize::try_from(take_i32(&mut rest)?).ok()?,
        };
        for _ in 0..count.checked_mul(unit)? {
            parts.push(take_element(&mut rest)?);
        }
        lengths.push(count);
    }
    Some((parts, OffsetBuffer::from_lengths(lengths)))
}

fn take_i32(rest: &mut &[u8]) -> Option<i32> {
    let (front, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(i32::from_be_bytes(*front))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (front, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(front)
}

fn take_element<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    match usize::try_from(take_i32(rest)?) {
        Ok(length) => take(rest, length).map(Some),
        Err(_) => Some(None),
    }
}

fn take_vector_element<'a>(rest: &mut &'a [u8], element: &CqlType) -> Option<&'a [u8]> {
    if let Some(width) = element.width_in_vector() {
        return take(rest, width);
    }
    // Cassandra's unsigned variable-length integer: leading ones of the first byte count the bytes that follow.
    let first = take(rest, 1)?[0];
    let extra = first.leading_ones() as usize;
    let head = if extra >= 7 { 0 } else { u64::from(first & (0x7f >> extra)) };
    let length = take(rest, extra)?.iter().fold(head, |number, &byte| number << 8 | u64::from(byte));
    take(rest, usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::values::ToCql;
    use crate::value::Bound;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use std::collections::BTreeMap;

    fn wire(value: impl ToCql, ty: &CqlType) -> Wire {
        match value.to_cql(ty).unwrap() {
            Bound::Value(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn batch(ty: &CqlType, values: Vec<Wire>) -> RecordBatch {
        let columns =
            [ColumnSpec { keyspace: "k".into(), table: "t".into(), name: "c".into(), ty: ty.clone() }];
        let rows: Vec<_> = values.into_iter().map(|value| vec![value]).collect();
        record_batch(&schema(&columns), &columns, &rows).unwrap()
    }

    #[test]
    fn numbers_times_and_nulls_are_arrows_own() {
        let ty = CqlType::Date;
        let day = skep_engine::Date::parse("1970-01-11").unwrap();
        let batch = batch(&ty, vec![wire(day, &ty), None]);
        let column = batch.column(0).as_primitive::<Date32Type>();
        assert_eq!((column.value(0), column.is_null(1)), (10, true));
        assert_eq!(batch.num_rows(), 2);
    }

    #[test]
    fn collections_keep_their_rows_apart() {
        let ty = CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::Int));
        let map = |entries: &[(&str, i32)]| {
            let map: BTreeMap<String, i32> = entries.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
            wire(map, &CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::Int)))
        };
        let batch = batch(&ty, vec![map(&[("a", 1)]), None, map(&[("b", 2), ("c", 3)])]);
        let column = batch.column(0).as_map();
        assert_eq!(column.value_offsets(), [0, 1, 1, 3]);
        assert!(column.is_null(1));
        assert_eq!(column.keys().as_string::<i32>().value(2), "c");
        assert_eq!(column.values().as_primitive::<Int32Type>().value(2), 3);
    }

    #[test]
    fn an_empty_number_is_null_and_a_short_tuple_is_filled_up() {
        let empty = batch(&CqlType::Int, vec![Some(skep_engine::model::bytes::Bytes::EMPTY)]);
        assert!(empty.column(0).is_null(0));
        let ty = CqlType::Tuple(vec![CqlType::Int, CqlType::Text]);
        let short = skep_engine::model::bytes::Bytes::new(&[0, 0, 0, 4, 0, 0, 0, 9]);
        let tuples = batch(&ty, vec![Some(short)]);
        let fields = tuples.column(0).as_struct();
        assert_eq!(fields.column(0).as_primitive::<Int32Type>().value(0), 9);
        assert!(fields.column(1).is_null(0));
    }
}
