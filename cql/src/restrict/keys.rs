//! Which partitions: a list of keys, or a range of tokens.
//!
//! Keys come in the order of their values, component by component and each by its type, whatever the order in IN and whatever their tokens:
//! that is the order in which Cassandra answers. Each key comes once.

use crate::catalog::form::one_form;
use crate::error::{CqlError, Result};
use crate::restrict::Where;
use crate::restrict::operand::{key_lists, key_parts};
use crate::restrict::restriction::{Operand, Restriction, Test};
use crate::term::EvalContext;
use crate::value::Bound;
use skep_engine::encoding::key;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::compare::compare;
use skep_engine::model::key::DecoratedKey;
use skep_engine::{Token, TokenRange};

/// Which partitions a statement reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Partitions {
    /// These, in this order.
    Keys(Vec<DecoratedKey>),
    /// Those of a range of tokens; None: no token is in it.
    Tokens(Option<TokenRange>),
}

impl Where {
    /// Which partitions to read.
    ///
    /// # Errors
    /// For null and unset parts of keys, empty and too long keys.
    pub fn partitions(&self, cx: &EvalContext<'_>) -> Result<Partitions> {
        if self.is_key_range() {
            return Ok(Partitions::Tokens(self.tokens(cx)?));
        }
        let keys = self.partition_keys(cx)?;
        if self.token.is_none() {
            return Ok(Partitions::Keys(keys));
        }
        // Keys and token() both: the keys among the tokens.
        let tokens = self.tokens(cx)?;
        let within = |key: &DecoratedKey| tokens.is_some_and(|tokens| tokens.contains(key.token));
        Ok(Partitions::Keys(keys.into_iter().filter(within).collect()))
    }

    /// The partition keys that the statement names, all of whose columns are restricted by `=` or IN; in the order of their values, each
    /// once.
    ///
    /// # Errors
    /// For null and unset parts of keys, empty and too long keys.
    pub fn partition_keys(&self, cx: &EvalContext<'_>) -> Result<Vec<DecoratedKey>> {
        let schema = &self.table.schema;
        let mut parts: Vec<Vec<Bytes>> = Vec::with_capacity(self.keys.len());
        for restriction in &self.keys {
            parts.push(self.key_values(restriction, cx)?);
        }
        // The product, the last column fastest: sorted, for each column's values are.
        let count = parts.iter().try_fold(1usize, |count, part| count.checked_mul(part.len()));
        let count = count.filter(|count| *count <= super::MAX_PRODUCT).ok_or_else(super::too_many)?;
        let mut keys = Vec::with_capacity(count);
        let mut wires: Vec<&Bytes> = Vec::with_capacity(parts.len());
        for number in 0..count {
            wires.clear();
            let mut block = count;
            for part in &parts {
                block /= part.len();
                wires.push(&part[number / block % part.len()]);
            }
            let bytes = key::partition_key(schema, &wires)?;
            keys.push(DecoratedKey::new(&bytes));
        }
        Ok(keys)
    }

    /// The values of one key column, in order, each once.
    fn key_values(&self, restriction: &Restriction, cx: &EvalContext<'_>) -> Result<Vec<Bytes>> {
        let schema = &self.table.schema;
        let ty = &schema.columns()[restriction.first()].ty;
        // What a view has of its table's clustering is found by any way of writing it, as there.
        let in_one_form = self.table.in_one_form.get(restriction.first()).copied().unwrap_or(false);
        let form = |value: Bytes| if in_one_form { one_form(&value, ty) } else { Ok(value) };
        match &restriction.test {
            Test::Eq(operand) => key_parts(operand, restriction, schema, cx)?.into_iter().map(form).collect(),
            Test::In(operands) => {
                let lists = key_lists(operands, restriction, schema, cx)?;
                let mut values = lists.into_iter().flatten().map(form).collect::<Result<Vec<Bytes>>>()?;
                // Equal values of different bytes (1.0 and 1.00) are different keys.
                values.sort_by(|a, b| compare(a, b, ty).then_with(|| a.cmp(b)));
                values.dedup();
                Ok(values)
            }
            Test::Slice(_) | Test::Contains(_) => Err(CqlError::invalid(
                "Only EQ and IN relation are supported on the partition key (unless you use the token() function)",
            )),
        }
    }

    /// The range of tokens; all of them without token(). None: no token is in it.
    ///
    /// The smallest token as upper end means the end of the ring.
    fn tokens(&self, cx: &EvalContext<'_>) -> Result<Option<TokenRange>> {
        let Some(restriction) = &self.token else { return Ok(Some(TokenRange::ALL)) };
        let token = |operand: &Operand| match operand {
            Operand::Each(terms) => match terms.first().map(|term| term.eval(cx)).transpose()? {
                Some(Bound::Value(wire)) => match <[u8; 8]>::try_from(&wire[..]) {
                    Ok(bytes) => Ok(i64::from_be_bytes(bytes)),
                    Err(_) => Err(CqlError::invalid("Invalid null token value")),
                },
                Some(Bound::Unset) => {
                    Err(CqlError::invalid("Invalid unset value for the partition key token"))
                }
                _ => Err(CqlError::invalid("Invalid null token value")),
            },
            Operand::Tuple(..) => Err(CqlError::invalid("Invalid null token value")),
        };
        let (start, end) = match &restriction.test {
            Test::Eq(operand) => {
                let token = token(operand)?;
                (Some((token, true)), Some((token, true)))
            }
            Test::Slice(slice) => {
                let end = |end: &crate::restrict::restriction::End| {
                    Ok::<_, CqlError>((token(&end.operand)?, end.inclusive))
                };
                (slice.start.as_ref().map(end).transpose()?, slice.end.as_ref().map(end).transpose()?)
            }
            Test::In(_) | Test::Contains(_) => (None, None),
        };
        let first = match start {
            None => Some(i64::MIN),
            Some((token, true)) => Some(token),
            Some((token, false)) => token.checked_add(1),
        };
        let last = match end {
            None | Some((i64::MIN, _)) => i64::MAX,
            Some((token, true)) => token,
            Some((token, false)) => token - 1,
        };
        Ok(first
            .filter(|first| *first <= last)
            .map(|first| TokenRange { first: Token(first), last: Token(last) }))
    }
}
