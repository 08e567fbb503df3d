//! Golden files as text: cut into statements with their answers, and answers compared.

/// A part of a golden file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A line that begins with `--`.
    Comment,
    /// A line that begins with `@`.
    Directive(String),
    /// A statement and its answer.
    Statement {
        /// The statement, its line breaks kept.
        text: String,
        /// The answer's lines.
        want: Vec<String>,
    },
}

/// The parts of a golden file, in order.
#[must_use]
pub fn items(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    for line in text.split('\n') {
        if let Some(text) = line.strip_prefix("> ") {
            items.push(Item::Statement { text: text.to_owned(), want: Vec::new() });
            continue;
        }
        match (items.last_mut(), line.strip_prefix("  ")) {
            (Some(Item::Statement { text, want }), Some(rest)) if want.is_empty() => {
                text.push('\n');
                text.push_str(rest);
                continue;
            }
            _ => {}
        }
        if line.starts_with("--") && !line.starts_with("--- page") {
            items.push(Item::Comment);
        } else if line.starts_with('@') {
            items.push(Item::Directive(line.to_owned()));
        } else if !line.trim().is_empty()
            && let Some(Item::Statement { want, .. }) = items.last_mut()
        {
            want.push(line.to_owned());
        }
    }
    items
}

/// An answer without empty pages, repeated warnings and Cassandra's warnings of its own features, which are a server's affair.
#[must_use]
pub fn tidy(lines: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    for line in lines {
        if out.last().is_some_and(|last| last == "--- page") && (line == "--- page" || is_count(&line)) {
            out.pop();
        }
        if line == "--- page" && out.len() == 1 {
            continue;
        }
        if line.starts_with("warning: ")
            && (out.contains(&line) || line.contains("are experimental and are not recommended"))
        {
            continue;
        }
        out.push(line);
    }
    out
}

/// `(1 row)`, `(2 rows)`.
fn is_count(line: &str) -> bool {
    let number =
        line.strip_prefix('(').and_then(|rest| rest.strip_suffix(" row)").or(rest.strip_suffix(" rows)")));
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a file is about syntax errors, of which only the code and the place count.
#[must_use]
pub fn is_about_syntax(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| name.starts_with("syntax-errors"))
}

/// Whether two answers are the same. `loose`: of syntax errors only the code and the place count.
#[must_use]
pub fn same(want: &[String], got: &[String], loose: bool) -> bool {
    if want == got {
        return true;
    }
    match (want, got) {
        ([want], [got]) if loose => match (syntax_error(want), syntax_error(got)) {
            (Some(want), Some(got)) => want == got,
            _ => false,
        },
        _ => false,
    }
}

/// The place (`1:7`) of a syntax error's line, empty if it has none.
fn syntax_error(line: &str) -> Option<&str> {
    let message = line.strip_prefix("error 0x2000 SyntaxError")?;
    let place = message.strip_prefix(": line ").and_then(|rest| rest.split(' ').next());
    Some(place.unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split('\n').map(str::to_owned).collect()
    }

    #[test]
    fn a_statement_ends_where_its_answer_begins() {
        let text = "-- about\n@page 2\n> SELECT a\n    b\n  \na int\n1\n--- page\n2\n(2 rows)\n\n> X\nok\n";
        let want = lines("a int\n1\n--- page\n2\n(2 rows)");
        assert_eq!(
            items(text),
            [
                Item::Comment,
                Item::Directive("@page 2".to_owned()),
                Item::Statement { text: "SELECT a\n  b\n".to_owned(), want },
                Item::Statement { text: "X".to_owned(), want: lines("ok") },
            ]
        );
    }

    #[test]
    fn empty_pages_and_repeated_warnings_do_not_count() {
        assert_eq!(
            tidy(lines("a int\n--- page\n1\n--- page\n--- page\n2\n--- page\n(2 rows)")),
            lines("a int\n1\n--- page\n2\n(2 rows)")
        );
        assert_eq!(tidy(lines("ok\nwarning: x\nwarning: x")), lines("ok\nwarning: x"));
        assert_eq!(tidy(lines("ok\nwarning: views are experimental and are not recommended")), lines("ok"));
    }

    #[test]
    fn of_syntax_errors_only_the_place_counts_where_files_are_about_them() {
        let want = lines("error 0x2000 SyntaxError: line 1:7 no viable alternative");
        let got = lines("error 0x2000 SyntaxError: line 1:7 unexpected FROM");
        let moved = lines("error 0x2000 SyntaxError: line 1:8 unexpected FROM");
        assert!(same(&want, &got, true));
        assert!(!same(&want, &got, false));
        assert!(!same(&want, &moved, true));
        assert!(!same(&want, &lines("ok"), true));
        assert!(
            is_about_syntax("language/syntax-errors-queries.golden")
                && !is_about_syntax("language/casts.golden")
        );
    }
}
