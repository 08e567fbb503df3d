//! `typeAsBlob` and `blobAsType` of every simple type: the serialised value itself, and back with a check.

use std::sync::Arc;

use skep_engine::CqlType;
use skep_engine::model::types::SIMPLE;
use skep_engine::model::validate::validate;

use crate::error::CqlError;
use crate::function::{Function, arg};
use crate::value::type_name;

pub(crate) fn functions() -> Vec<Arc<Function>> {
    let mut functions = Vec::new();
    let named = SIMPLE.iter().filter(|(_, ty)| *ty != CqlType::Blob);
    for (name, ty) in named.chain([&("varchar", CqlType::Text)]) {
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
