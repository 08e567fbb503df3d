//! From text to a tree, and back: `lexer`, `ast`, `parse`, `print`.

pub mod ast;
