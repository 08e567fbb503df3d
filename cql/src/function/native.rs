//! The functions by name.
//!
//! Those of fixed types are made once; a generic one is made for its arguments, by the parameters declared here.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use skep_engine::CqlType;

use crate::error::Result;
use crate::function::parameter::{Argument, Parameter, infer};
use crate::function::similarity::Measure;
use crate::function::{Function, aggregate, blob, collection, floor, json, mask, math, similarity, time};

static FIXED: LazyLock<HashMap<String, Vec<Arc<Function>>>> = LazyLock::new(|| {
    let mut by_name: HashMap<String, Vec<Arc<Function>>> = HashMap::new();
    let functions =
        [blob::functions(), time::functions(), floor::functions(), math::functions(), aggregate::functions()];
    for function in functions.into_iter().flatten() {
        by_name.entry(function.name.clone()).or_default().push(function);
    }
    by_name
});

/// Makes a generic function for arguments of these types, and for a receiver of that type.
type Make = fn(&str, Vec<CqlType>, Option<&CqlType>) -> Result<Arc<Function>>;

/// Generic functions: name, name in results, parameters.
const GENERIC: [(&str, &str, &[Parameter], Make); 22] = [
    ("min", "min", &[Parameter::AnyOrReceiver], |name, types, _| {
        Ok(aggregate::extreme(name, first(types), Ordering::Less))
    }),
    ("max", "max", &[Parameter::AnyOrReceiver], |name, types, _| {
        Ok(aggregate::extreme(name, first(types), Ordering::Greater))
    }),
    ("tojson", "tojson", &[Parameter::Any], |name, types, _| Ok(json::to_function(name, first(types)))),
    ("to_json", "tojson", &[Parameter::Any], |name, types, _| Ok(json::to_function(name, first(types)))),
    ("fromjson", "fromjson", &[Parameter::PlainText], json::from_function),
    ("from_json", "from_json", &[Parameter::PlainText], json::from_function),
    ("map_keys", "map_keys", &[Parameter::Map], |name, types, _| {
        Ok(collection::entries(name, first(types), true))
    }),
    ("map_values", "map_values", &[Parameter::Map], |name, types, _| {
        Ok(collection::entries(name, first(types), false))
    }),
    ("collection_count", "collection_count", &[Parameter::Collection], |name, types, _| {
        Ok(collection::count(name, first(types)))
    }),
    ("collection_min", "collection_min", &[Parameter::Elements], |name, types, _| {
        Ok(collection::extreme(name, first(types), Ordering::Less))
    }),
    ("collection_max", "collection_max", &[Parameter::Elements], |name, types, _| {
        Ok(collection::extreme(name, first(types), Ordering::Greater))
    }),
    ("collection_sum", "collection_sum", &[Parameter::Numbers], |name, types, _| {
        Ok(collection::total(name, first(types), aggregate::sum))
    }),
    ("collection_avg", "collection_avg", &[Parameter::Numbers], |name, types, _| {
        Ok(collection::total(name, first(types), aggregate::average))
    }),
    ("mask_default", "mask_default", &[Parameter::AnyOrReceiver], |name, types, _| {
        mask::default(name, first(types))
    }),
    ("mask_null", "mask_null", &[Parameter::AnyOrReceiver], |name, types, _| {
        Ok(mask::null(name, first(types)))
    }),
    ("mask_replace", "mask_replace", &[Parameter::AnyOrReceiver, Parameter::SameAs(0)], |name, types, _| {
        Ok(mask::replace(name, first(types)))
    }),
    ("mask_inner", "mask_inner", PARTIAL, |name, types, _| Ok(mask::partial(name, types, true))),
    ("mask_outer", "mask_outer", PARTIAL, |name, types, _| Ok(mask::partial(name, types, false))),
    ("mask_hash", "mask_hash", &[Parameter::Any, Parameter::OptionalText], |name, types, _| {
        Ok(mask::hashed(name, types))
    }),
    ("similarity_cosine", "similarity_cosine", VECTORS, |name, types, _| {
        similarity::similarity(name, types, Measure::Cosine)
    }),
    ("similarity_euclidean", "similarity_euclidean", VECTORS, |name, types, _| {
        similarity::similarity(name, types, Measure::Euclidean)
    }),
    ("similarity_dot_product", "similarity_dot_product", VECTORS, |name, types, _| {
        similarity::similarity(name, types, Measure::DotProduct)
    }),
];

const PARTIAL: &[Parameter] = &[Parameter::Text, Parameter::Int, Parameter::Int, Parameter::OptionalText];
const VECTORS: &[Parameter] = &[Parameter::FloatVector, Parameter::FloatVector];

fn first(types: Vec<CqlType>) -> CqlType {
    types.into_iter().next().unwrap_or(CqlType::Blob)
}

/// The overloads of the function `name` (lower case, of keyspace `system`) to choose among for `args`; none for an unknown name. A generic
/// function has one, made for the types of `args` and of the receiver, where that is known. `token` is not among them: it depends on a
/// table ([`crate::function::token`]).
///
/// # Errors
/// `Invalid`, in Cassandra's words: a generic function does not take these arguments.
pub fn candidates(name: &str, args: &[Argument], receiver: Option<&CqlType>) -> Result<Vec<Arc<Function>>> {
    if let Some(fixed) = FIXED.get(name) {
        return Ok(fixed.clone());
    }
    // count takes whatever bytes there are.
    if name == "count" {
        return Ok(vec![aggregate::count(CqlType::Blob)]);
    }
    match GENERIC.iter().find(|generic| generic.0 == name) {
        Some((_, shown, parameters, make)) => {
            Ok(vec![make(shown, infer(shown, parameters, args, receiver)?, receiver)?])
        }
        None => Ok(Vec::new()),
    }
}

/// Whether there is a function of that name.
#[must_use]
pub fn exists(name: &str) -> bool {
    matches!(name, "token" | "count")
        || FIXED.contains_key(name)
        || GENERIC.iter().any(|generic| generic.0 == name)
}

/// The names of all functions, sorted.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let generic = GENERIC.iter().map(|generic| generic.0);
    let mut names: Vec<&str> =
        FIXED.keys().map(String::as_str).chain(generic).chain(["token", "count"]).collect();
    names.sort_unstable();
    names
}
