//! The state files under `fixtures/`: the broken ones give exactly the faults of their table, the valid ones none.
//!
//! Each broken file holds one mistake as a person would make it and is named for its rule. Lines of the table that
//! begin with `shell` are patterns: the core only tells where they stand, the shell compiles them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use descent_core::{
    doc::{self, Fault, Places, Span},
    graph::validate,
    state::{
        decode::{self, Decoding},
        encode::StateText,
    },
};

const TABLE: &str = "expected.txt";
const ATOMS: usize = 1_000;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// Name and content of each state file in a folder, by name.
fn files(name: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder(name)).expect("the folder of fixtures");
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let states = paths.filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    states
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            (name, fs::read(&path).expect("a readable file"))
        })
        .collect()
}

/// All faults that the core finds in a file.
fn faults(read: &Decoding) -> Vec<Fault> {
    let mut faults = read.faults.clone();
    if let (Some(state), Some(root)) = (&read.state, &read.root) {
        faults.extend(validate::check(state, root));
        faults.extend(validate::gate(state, root));
    }
    faults
}

/// `rule line:col /pointer`, by place.
fn lines(bytes: &[u8], found: impl Iterator<Item = (String, Span, String)>) -> Vec<String> {
    let places = Places::new(&doc::readable(bytes));
    let mut lines: Vec<_> = found
        .map(|(rule, span, pointer)| {
            let (line, column) = places.line_col(span.start());
            let text = format!("{rule} {line}:{column} {pointer}");
            (line, column, text.trim_end().to_owned())
        })
        .collect();
    lines.sort();
    lines.into_iter().map(|(_, _, text)| text).collect()
}

fn fault_lines(bytes: &[u8]) -> Vec<String> {
    let found = faults(&decode::decode(bytes));
    lines(bytes, found.into_iter().map(|fault| (fault.rule.to_owned(), fault.span, fault.pointer)))
}

/// The table: for each file the lines of the core, and those of the shell.
fn expected() -> BTreeMap<String, (Vec<String>, Vec<String>)> {
    let text = fs::read_to_string(folder("invalid").join(TABLE)).expect("the table of faults");
    let mut table: BTreeMap<String, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (is_shell, rest) =
            line.strip_prefix("shell ").map_or((false, line), |rest| (true, rest));
        let (file, fault) = rest.split_once(": ").expect("`file: rule line:col /pointer`");
        let (core, shell) = table.entry(file.to_owned()).or_default();
        if is_shell { shell.push(fault.to_owned()) } else { core.push(fault.to_owned()) }
    }
    table
}

#[test]
fn every_broken_file_gives_exactly_the_faults_of_its_table() {
    let table = expected();
    let mut wrong = String::new();
    for (name, bytes) in files("invalid") {
        let want = table.get(&name).map(|(core, _)| core.clone()).unwrap_or_default();
        let found = fault_lines(&bytes);
        if found != want {
            let _ = writeln!(wrong, "{name}\n  expected {want:#?}\n  found    {found:#?}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_table_and_the_folder_name_the_same_files() {
    let listed: BTreeSet<String> = expected().into_keys().collect();
    let there: BTreeSet<String> = files("invalid").into_keys().collect();
    assert_eq!(listed, there);
}

#[test]
fn patterns_for_the_shell_stand_where_the_table_says() {
    let files = files("invalid");
    let with_shell = expected().into_iter().filter(|(_, (_, shell))| !shell.is_empty());
    let mut seen = 0;
    for (name, (_, shell)) in with_shell {
        let bytes = &files[&name];
        let patterns = decode::decode(bytes).patterns.into_iter();
        let places =
            lines(bytes, patterns.map(|pattern| (String::new(), pattern.span, pattern.pointer)));
        for line in shell {
            let (_, place) = line.split_once(' ').expect("a rule and a place");
            assert!(
                places.iter().any(|found| found.trim_start() == place),
                "{name}: {line}: {places:#?}"
            );
            seen += 1;
        }
    }
    assert!(seen > 0, "no line of the table is for the shell");
}

#[test]
fn every_fault_is_one_sentence_without_a_full_stop() {
    for (name, bytes) in files("invalid") {
        for fault in faults(&decode::decode(&bytes)) {
            let message = &fault.message;
            let is_plain =
                !message.trim().is_empty() && !message.ends_with('.') && !message.contains('\n');
            assert!(is_plain, "{name}: {message:?}");
        }
    }
}

#[test]
fn a_misspelt_word_is_answered_with_the_right_one() {
    for (file, right) in [
        ("unknown-atom.json", "did you mean `style`?"),
        ("unknown-value.json", "did you mean `pending`?"),
        ("bad-check.json", "`comand`: did you mean `command`?"),
    ] {
        let found = faults(&decode::decode(&files("invalid")[file]));
        let hints: Vec<_> = found.into_iter().filter_map(|fault| fault.hint).collect();
        assert_eq!(hints, [right], "{file}");
    }
}

#[test]
fn a_valid_file_has_no_faults_and_renders_to_the_same_bytes() {
    let valid = files("valid");
    assert!(valid.len() >= 5, "only {} valid files", valid.len());
    for (name, bytes) in valid {
        assert_eq!(fault_lines(&bytes), Vec::<String>::new(), "{name}");
        if std::env::var_os("DESCENT_UPDATE").is_some() {
            #[allow(
                clippy::disallowed_methods,
                reason = "the fixtures are written anew on request"
            )]
            fs::write(folder("valid").join(&name), rendered(&bytes)).expect("the fixture");
            continue;
        }
        assert_eq!(rendered(&bytes), String::from_utf8_lossy(&bytes), "{name}");
    }
}

#[test]
fn a_selected_that_names_no_choice_is_a_fault() {
    let nested = String::from_utf8(files("valid")["nested-groups.json"].clone()).unwrap();
    let at = nested.find("\"selected\": \"").expect("a choice in force") + 13;
    let typo = format!("{}x{}", &nested[..at], &nested[at..]);
    let read = decode::decode(typo.as_bytes());
    let rules: Vec<_> = read.faults.iter().map(|fault| fault.rule).collect();
    assert_eq!(rules, ["selected-not-a-choice"]);
    let hint = read.faults[0].hint.as_deref().unwrap_or_default();
    assert!(hint.starts_with("did you mean"), "{hint}");
}

#[test]
fn unknown_keys_are_warned_of_and_notes_and_a_persons_own_keys_are_not() {
    let read = decode::decode(&files("valid")["unknown-keys.json"]);
    let keys: BTreeSet<&str> =
        read.warnings.iter().filter_map(|warning| warning.pointer.rsplit('/').next()).collect();
    assert_eq!(keys, BTreeSet::from(["mood"]));
    assert!(read.warnings.iter().all(|warning| warning.rule == "unknown-key"));
}

#[test]
fn unknown_keys_keep_their_order_when_the_key_before_them_is_left_out() {
    let text = String::from_utf8(files("valid")["minimal.json"].clone()).unwrap();
    let edited = text.replace("\"A1\": {", "\"A1\": {\"touches\": [], \"x1\": 1, \"x2\": 2, ");
    assert_ne!(text, edited);
    let once = rendered(edited.as_bytes());
    let place = |key: &str| once.find(key).expect("an unknown key is kept");
    assert!(place("\"x1\"") < place("\"x2\""), "{once}");
    assert_eq!(rendered(once.as_bytes()), once);
}

/// With these words in A1, and these in its half in `internal`, the state has this fault.
#[track_caller]
fn refused(words: &str, internal: &str, fault: (&str, &str)) {
    let text = String::from_utf8(files("valid")["minimal.json"].clone()).expect("text");
    let edited = text.replace("\"A1\": {", &format!("\"A1\": {{{words}"));
    let edited = edited.replace("\"atoms\": {}", &format!("\"atoms\": {{\"A1\": {{{internal}}}}}"));
    assert_ne!(text, edited);
    let found = faults(&decode::decode(edited.as_bytes()));
    let said: Vec<_> = found.iter().map(|fault| (fault.rule, fault.pointer.as_str())).collect();
    assert_eq!(said, [fault]);
}

#[test]
fn a_parked_try_without_its_result_is_refused() {
    let tried = r#""tries": [{"context": "c", "attempts": 1, "ended": "parked"}]"#;
    refused("", tried, ("missing-key", "/internal/atoms/A1/tries/0"));
}

#[test]
fn a_doubt_without_its_attempt_is_refused() {
    let status = r#""status": "in_doubt""#;
    refused("", status, ("missing-key", "/work_graph/atoms/A1"));
    refused(r#""because": "", "#, status, ("empty-text", "/work_graph/atoms/A1/because"));
}

#[test]
fn a_thousand_atoms_load_without_faults_and_render_to_the_same_bytes() {
    let text = String::from_utf8(files("valid")["minimal.json"].clone()).unwrap();
    let from =
        text.find("\"atoms\": {").expect("the atoms of the minimal file") + "\"atoms\": ".len();
    let to = text.find("\"bindings\"").expect("the key after the work graph");
    let written = format!("{}{}}},\n{}", &text[..from], many_atoms(), &text[to..]);
    let canonical = rendered(written.as_bytes());
    assert_eq!(fault_lines(canonical.as_bytes()), Vec::<String>::new());
    assert_eq!(rendered(canonical.as_bytes()), canonical);
    assert_eq!(decode::decode(canonical.as_bytes()).state.unwrap().atoms.len(), ATOMS);
}

/// Groups of ten: an `any` over three tasks and an `all` over five, a chain from each group to the next.
fn many_atoms() -> String {
    let mut atoms = Vec::new();
    for group in 0..ATOMS / 10 {
        let before = if group == 0 { String::new() } else { format!("\"G{:03}\"", group - 1) };
        let members = |range: core::ops::Range<usize>| {
            let names: Vec<String> =
                range.map(|member| format!("\"T{group:03}-{member}\"")).collect();
            names.join(", ")
        };
        let (choices, parts) = (members(0..3), members(3..8));
        atoms.push(format!(
            "\"G{group:03}\": {{\"kind\": \"any\", \"choices\": [{choices}, \"P{group:03}\"], \"depends_on\": [{before}]}}"
        ));
        atoms.push(format!("\"P{group:03}\": {{\"kind\": \"all\", \"parts\": [{parts}]}}"));
        let task = |member| {
            format!("\"T{group:03}-{member}\": {{\"description\": \"step {member} of {group}\"}}")
        };
        atoms.extend((0..8).map(task));
    }
    format!("{{{}}}", atoms.join(", "))
}

/// The one form of a file.
fn rendered(bytes: &[u8]) -> String {
    let state = decode::decode(bytes).state.expect("a state that can be read");
    StateText::of(&state).text(&state)
}
