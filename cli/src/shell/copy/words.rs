//! The words of a COPY command.

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// A name or keyword: bare ones in lower case, quoted ones as written. Numbers are names here.
    Name(String),
    /// A text in single quotes.
    Text(String),
    /// `. , ( ) =`
    Sign(char),
}

/// Cuts a command into words.
///
/// # Errors
/// A sentence on a quote that is not closed or a sign that means nothing here.
pub(super) fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => {}
            '.' | ',' | '(' | ')' | '=' => words.push(Word::Sign(c)),
            '\'' | '"' => {
                let mut quoted = String::new();
                loop {
                    match rest.next() {
                        Some(end) if end == c && rest.peek() == Some(&c) => {
                            rest.next();
                            quoted.push(c);
                        }
                        Some(end) if end == c => break,
                        Some(other) => quoted.push(other),
                        None => return Err(format!("a {c} is not closed")),
                    }
                }
                words.push(if c == '"' { Word::Name(quoted) } else { Word::Text(quoted) });
            }
            c if c.is_alphanumeric() || matches!(c, '_' | '-' | '+') => {
                let mut name = String::from(c);
                while let Some(more) = rest.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+')) {
                    name.push(more);
                }
                words.push(Word::Name(name.to_lowercase()));
            }
            other => return Err(format!("{other:?} has no meaning in COPY")),
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_kept_apart_from_names() {
        let found = words("COPY \"Ks\".t (a,B) TO 'it''s' WITH NULL='' AND TTL = -5").unwrap();
        let name = |text: &str| Word::Name(text.into());
        assert_eq!(found[..3], [name("copy"), name("Ks"), Word::Sign('.')]);
        assert!(found.contains(&name("b")) && found.contains(&Word::Text("it's".into())));
        assert!(found.contains(&Word::Text(String::new())) && found.ends_with(&[name("-5")]));
        assert!(words("COPY t TO 'f").is_err() && words("COPY t; x").is_err());
    }
}
