//! `typeAsBlob` and `blobAsType` of every simple type: the serialised value itself, and back with a check.

use std::sync::Arc;

use skep_engine::CqlType;
use skep_engine::model::validate::validate;

use crate::error::CqlError;
use crate::function::{Function, arg};
use crate::value::type_name;

/// Types with the name they have in these functions.
const TYPES: [(&str, CqlType); 20] = [
    ("ascii", CqlType::Ascii),
    ("bigint", CqlType::Bigint),
    ("boolean", CqlType::Boolean),
    ("counter", CqlType::Counter),
    ("date", CqlType::Date),
    ("decimal", CqlType::Decimal),
    ("double", CqlType::Double),
    ("duration", CqlType::Duration),
    ("float", CqlType::Float),
    ("inet", CqlType::Inet),
    ("int", CqlType::Int),
    ("smallint", CqlType::Smallint),
    ("text", CqlType::Text),
    ("time", CqlType::Time),
    ("timestamp", CqlType::Timestamp),
    ("timeuuid", CqlType::Timeuuid),
    ("tinyint", CqlType::Tinyint),
    ("uuid", CqlType::Uuid),
    ("varchar", CqlType::Text),
    ("varint", CqlType::Varint),
];

pub(crate) fn functions() -> Vec<Arc<Function>> {
    let mut functions = Vec::new();
    for (name, ty) in &TYPES {
        for to_blob in [format!("{name}asblob"), format!("{name}_as_blob")] {
            functions.push(Function::strict(&to_blob, vec![ty.clone()], CqlType::Blob, |_, args| {
                Ok(args.first().cloned().flatten())
            }));
        }
        for from_blob in [format!("blobas{name}"), format!("blob_as_{name}")] {
            functions.push(from(from_blob, ty.clone()));
        }
    }
    functions
}

fn from(name: String, ty: CqlType) -> Arc<Function> {
    let function = name.clone();
    Function::strict(&name, vec![CqlType::Blob], ty.clone(), move |_, args| {
        let bytes = arg(args, 0);
        if validate(bytes, &ty).is_err() {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            return Err(CqlError::invalid(format!(
                "In call to function system.{function}, value 0x{hex} is not a valid binary representation for type {}",
                type_name(&ty)
            )));
        }
        Ok(args.first().cloned().flatten())
    })
}
