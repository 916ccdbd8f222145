//! Rust: `Cargo.toml`.

use toml::de::{DeTable, DeValue};

use super::{ProposalList, Rank, ci::CiCommand, reader::Reader};

pub(super) fn propose(reader: &Reader, ci: &[CiCommand], found: &mut ProposalList) {
    let Some(text) = reader.read("Cargo.toml") else {
        return;
    };
    let Ok(table) = DeTable::parse(&text) else {
        return;
    };
    let is_table = |key: &str| {
        let value = table.get_ref().get(key);
        value.is_some_and(|value| matches!(value.get_ref(), DeValue::Table(_)))
    };
    let whole = if is_table("workspace") {
        " --workspace"
    } else if is_table("package") {
        ""
    } else {
        return;
    };
    let from = "Cargo.toml";
    found.add(Rank::Test, format!("cargo test -q{whole}"), from);
    found.add(Rank::Build, format!("cargo build -q{whole}"), from);
    // Lints count only if the project configures them; the commands of its CI come first.
    let in_ci = |tool: &str| ci.iter().any(|line| line.text.starts_with(tool));
    for file in ["clippy.toml", ".clippy.toml"] {
        if reader.is_file(file) && !in_ci("cargo clippy") {
            let command = format!("cargo clippy -q{whole} --all-targets -- -D warnings");
            found.add(Rank::Lint, command, file);
            break;
        }
    }
    for file in ["rustfmt.toml", ".rustfmt.toml"] {
        if reader.is_file(file) && !in_ci("cargo fmt") {
            found.add(Rank::Format, "cargo fmt --all --check", file);
            break;
        }
    }
}
