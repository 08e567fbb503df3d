//! What the documents say about the code is so: paths and names exist, formats have examples, the order is that of the code.

use std::collections::HashSet;

use skep_tests::source::{files, read, root};

/// The documents whose words are held against the code.
fn documents() -> Vec<String> {
    let mut documents =
        vec!["README.md".into(), "ARCHITECTURE.md".into(), "CONTRIBUTING.md".into(), "fuzz/README.md".into()];
    documents.extend(files("docs", ".md").into_iter().filter(|path| !path.starts_with("docs/book/")));
    documents
}

/// A document's prose: fenced blocks left out.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What stands between backticks.
fn spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Targets of `[text](target)`.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// The words of Rust in the repository, of its manifests and formats.
fn words() -> HashSet<String> {
    let sources = ["engine", "cql", "cli", "tests", "src", "benches", "fuzz"]
        .into_iter()
        .flat_map(|dir| [".rs", ".toml", "FORMAT.md"].into_iter().flat_map(move |ending| files(dir, ending)));
    let mut words = HashSet::new();
    for path in sources.filter(|path| path != "tests/tests/book.rs") {
        let text = read(&path);
        words.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
    }
    words
}

/// Whether a span looks like a name in code: `CamelCase`, `snake_case`, `a::b`, `f()`.
fn is_name(span: &str) -> bool {
    let plain = span.trim_end_matches("()");
    let parts = || plain.split("::");
    let identifier = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let camel = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_uppercase()) && part.chars().any(|c| c.is_ascii_lowercase())
    };
    parts().all(identifier)
        && (plain.contains('_') || plain.contains("::") || plain != span || parts().any(camel))
}

fn check(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn paths_in_documents_exist() {
    const TOP: [&str; 9] =
        ["engine/", "cql/", "cli/", "tests/", "benches/", "fuzz/", "docs/", "src/", ".ci/"];
    let mut faults = Vec::new();
    for document in documents() {
        let text = prose(&read(&document));
        for span in spans(&text) {
            let is_path = TOP.iter().any(|top| span.starts_with(top)) && !span.contains(' ');
            // Members of the workspace name their own `src/` and `tests/` only in full.
            if is_path && !root().join(span).exists() {
                faults.push(format!("{document}: `{span}` does not exist"));
            }
        }
        let dir = root().join(&document);
        let dir = dir.parent().expect("a document lies in a directory");
        for link in links(&text).into_iter().filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let path = link.split('#').next().unwrap_or(link);
            if !dir.join(path).exists() {
                faults.push(format!("{document}: link to {link} leads nowhere"));
            }
        }
        for include in text.split("{{#include ").skip(1).filter_map(|rest| rest.split("}}").next()) {
            if !dir.join(include).exists() {
                faults.push(format!("{document}: includes {include}, which does not exist"));
            }
        }
    }
    check(&faults);
}

#[test]
fn names_in_documents_exist() {
    let words = words();
    let mut faults = Vec::new();
    let mut checked = 0;
    for document in documents() {
        let text = prose(&read(&document));
        for span in spans(&text).into_iter().filter(|span| is_name(span)) {
            checked += 1;
            for part in span.trim_end_matches("()").split("::") {
                if !words.contains(part) {
                    faults.push(format!("{document}: `{span}` names {part}, which is nowhere in the code"));
                }
            }
        }
    }
    check(&faults);
    assert!(checked > 30, "only {checked} names were found");
}

#[test]
fn names_are_recognised() {
    for name in ["CommitLog", "oldest_dirty", "model::reconcile", "finish()", "SyncMode::Batch"] {
        assert!(is_name(name), "{name}");
    }
    for text in ["INSERT", "write", "cargo test", "engine/src/lib.rs", "u = bits(v)", "USING TTL"] {
        assert!(!is_name(text), "{text}");
    }
}

#[test]
fn every_format_has_an_example_in_hex() {
    let formats = files("engine", "FORMAT.md");
    assert!(formats.len() >= 4, "{formats:?}");
    let is_hex = |word: &str| word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let without: Vec<_> = formats
        .iter()
        .filter(|path| {
            let text = read(path);
            let lines = text.split("```").skip(1).step_by(2).flat_map(str::lines);
            let bytes: usize =
                lines.map(|line| line.split_whitespace().filter(|word| is_hex(word)).count()).sum();
            bytes < 8
        })
        .map(|path| format!("{path}: no example in hex"))
        .collect();
    check(&without);
}

#[test]
fn the_book_includes_every_format() {
    let appendix: String = files("docs/src/formats", ".md").iter().map(|path| read(path)).collect();
    let missing: Vec<_> = files("engine", "FORMAT.md")
        .into_iter()
        .filter(|path| !appendix.contains(path))
        .map(|path| format!("{path} is not in the appendix of formats"))
        .collect();
    check(&missing);
}

#[test]
fn the_summary_lists_every_page() {
    let summary = read("docs/src/SUMMARY.md");
    let listed: HashSet<_> = links(&summary).into_iter().map(|link| format!("docs/src/{link}")).collect();
    let missing: Vec<_> = files("docs/src", ".md")
        .into_iter()
        .filter(|path| path != "docs/src/SUMMARY.md" && !listed.contains(path))
        .map(|path| format!("{path} is not in SUMMARY.md"))
        .collect();
    check(&missing);
}

/// The modules of the engine in the order of `lib.rs`.
fn modules() -> Vec<String> {
    let text = read("engine/src/lib.rs");
    let declared = text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    declared.map(str::to_owned).collect()
}

#[test]
fn chapters_come_in_the_order_of_the_code() {
    let modules = modules();
    let summary = read("docs/src/SUMMARY.md");
    let mut places = Vec::new();
    for chapter in links(&summary) {
        let text = read(&format!("docs/src/{chapter}"));
        let Some(source) = text.lines().find_map(|line| line.strip_prefix("Source: `engine/src/")) else {
            continue;
        };
        let module = source.split(['/', '.']).next().unwrap_or(source);
        let place = modules.iter().position(|name| name == module).expect("a module of lib.rs");
        // A module may have a second chapter later on (reading an SSTable).
        if !places.contains(&place) {
            places.push(place);
        }
    }
    assert!(places.len() >= 6 && places.is_sorted(), "{places:?} of {modules:?}");
}

#[test]
fn the_map_lists_the_modules_in_their_order() {
    let map = read("ARCHITECTURE.md");
    let mut headings = map.lines().filter_map(|line| line.strip_prefix("### "));
    for module in modules() {
        assert!(
            headings.any(|heading| heading == module),
            "ARCHITECTURE.md has no {module}, or not in order"
        );
    }
    assert!(map.lines().count() < 150);
}
