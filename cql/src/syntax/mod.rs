//! From text to a tree, and back: `lexer`, `ast`, `print`, `parse`, and `split` for scripts.

pub mod ast;
pub mod lexer;
pub mod parse;
pub mod print;
pub mod split;
pub mod token;

pub use parse::{Parsed, parse};
pub use split::{Piece, split};
