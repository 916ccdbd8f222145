//! Fuzzes the reader of result files with mutations of a kept corpus: no panic, no hang, and all
//! results within the caps.

use std::path::Path;

use descent_core::doc;

use super::{
    ARTIFACTS_MAX, HANDOFF_CHARS_MAX, READ_AS_MAX, ResultFile, SUMMARY_CHARS_MAX, VALUE_BYTES_MAX,
    parse,
};

#[path = "../../../../core/tests/fuzz/mutate.rs"]
mod mutate;

#[test]
fn whatever_an_agent_writes_the_reader_ends_and_what_it_takes_is_within_the_caps() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let corpus = mutate::corpus(&fixtures, &["fuzz/result", "fuzz/parser"]);
    mutate::fuzz("result", &corpus, 20_000, |_, bytes| match parse(bytes) {
        Ok(ResultFile { report, fault, .. }) => {
            assert!(fault.is_none_or(|fault| fault.len() < 2_000));
            assert!(report.read_as.len() <= READ_AS_MAX);
            assert!(report.read_as.iter().all(|note| note.len() < 1_000));
            assert!(report.summary.chars().count() <= SUMMARY_CHARS_MAX);
            assert!(report.artifacts.len() <= ARTIFACTS_MAX);
            assert!(report.artifacts.iter().all(|path| {
                !Path::new(path).is_absolute() && !path.contains("..")
                    || !Path::new(path)
                        .components()
                        .any(|part| part == std::path::Component::ParentDir)
            }));
            assert!(report.handoff.is_none_or(|text| text.chars().count() <= HANDOFF_CHARS_MAX));
            let value = report.value.map_or(0, |value| doc::write_compact(&value).len());
            assert!(value <= VALUE_BYTES_MAX);
        }
        Err(fault) => assert!(!fault.is_empty() && fault.len() < 2_000, "{fault}"),
    });
}
