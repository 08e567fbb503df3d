//! `similarity_*`: how alike two vectors of floats are, from 0 to 1 (the dot product's is unbounded).

use std::sync::Arc;

use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;

use crate::error::{CqlError, Result};
use crate::function::{Function, arg};

/// The measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// The angle: 1 for the same direction, 0 for opposite ones.
    Cosine,
    /// The distance: 1 for the same point.
    Euclidean,
    /// The dot product of vectors of length 1.
    DotProduct,
}

/// The function of a measure.
///
/// # Errors
/// `Invalid`: the dimensions differ.
pub(crate) fn similarity(name: &str, types: Vec<CqlType>, measure: Measure) -> Result<Arc<Function>> {
    if types.windows(2).any(|pair| pair[0].unfrozen() != pair[1].unfrozen()) {
        return Err(CqlError::invalid("All arguments must have the same vector dimensions"));
    }
    let function = name.to_owned();
    Ok(Function::strict(name, types, CqlType::Float, move |_, args| {
        let (left, right) = (arg(args, 0).as_chunks::<4>().0, arg(args, 1).as_chunks::<4>().0);
        let float = |bytes: &[u8; 4]| f32::from_be_bytes(*bytes);
        let pairs = || left.iter().map(float).zip(right.iter().map(float));
        let result = match measure {
            Measure::Cosine => {
                let (mut dot, mut left, mut right) = (0f32, 0f32, 0f32);
                for (l, r) in pairs() {
                    dot += l * r;
                    left += l * l;
                    right += r * r;
                }
                if left == 0.0 || right == 0.0 {
                    return Err(CqlError::invalid(format!(
                        "Function system.{function} doesn't support all-zero vectors."
                    )));
                }
                let cosine = f64::from(dot) / (f64::from(left) * f64::from(right)).sqrt();
                (1.0 + cosine as f32) / 2.0
            }
            Measure::Euclidean => 1.0 / (1.0 + pairs().map(|(l, r)| (l - r) * (l - r)).sum::<f32>()),
            Measure::DotProduct => (1.0 + pairs().map(|(l, r)| l * r).sum::<f32>()) / 2.0,
        };
        Ok(Some(Bytes::new(&result.to_be_bytes())))
    }))
}
