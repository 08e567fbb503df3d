//! `skep demo`: the guided tour.

use crate::failure::{Failure, Outcome};
use std::path::PathBuf;

/// Arguments of `skep demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the store goes; a temporary directory that is removed afterwards if not given
    dir: Option<PathBuf>,
}

/// Runs the tour.
pub(crate) fn run(args: Args) -> Outcome {
    match args.dir {
        Some(dir) => Err(Failure::io("tour", &dir, &std::io::Error::from(std::io::ErrorKind::Unsupported))),
        None => Err(Failure::new("name a directory")),
    }
}
