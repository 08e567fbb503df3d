//! The differential test: scripts made at random, answered by an oracle and by skep, and cut down where the answers differ.
//!
//! `script` holds a recorded script as pieces that can be left out, and finds the first answer of skep that is another; `commands` runs
//! the generator and the oracle, which are programs from outside; `shrink` cuts a script down. The program `differ` calls them in turn.
//!
//! # The programs from outside
//! A generator prints the script of a seed. An oracle is given script files and writes beside each, with the ending `.golden`, its
//! statements with their answers, in the format of [`crate::golden`]. Neither is part of this project: their commands are arguments.
//!
//! # Not here
//! Knowledge of the language: a shorter script is tried, and the oracle says what it is worth. A statement left out that others need
//! makes errors on both sides, which are the same and so are no difference.

pub mod commands;
pub mod script;
pub mod shrink;
