//! What is folded: read back, changed, damaged, and carried by patches.

use alloc::{collections::BTreeMap, format, string::String, sync::Arc, vec::Vec};

use super::{Fold, Folds, line::FoldedLine};
use crate::{
    id::{AtomId, CommitId, Lineage},
    plan,
    state::{
        Binding, ResultCommit, State, binding,
        decode::{Decoding, decode},
        encode::{ChangeSet, StateText},
        patch::Patch,
    },
};

/// A state of which the first `folded` of `count` atoms are resolved and folded, the line with them.
fn state(count: usize, folded: usize) -> State {
    let atoms: Vec<String> = (0..count).map(|n| format!("\"A{n:03}\": {{}}")).collect();
    let plan = format!(
        r#"{{"objective": {{"goal": "g"}}, "work_graph": {{"atoms": {{{}}}}}}}"#,
        atoms.join(", ")
    );
    let mut state = plan::read(plan.as_bytes()).into_state(Lineage::new("l"));
    let mut members = BTreeMap::new();
    for n in 0..folded {
        let id = AtomId::new(format!("A{n:03}"));
        let commit = CommitId::new(format!("{n:040x}"));
        let of = state.atoms.remove(&id).expect("it is there");
        let bound = Arc::new(Binding {
            summary: format!("done {n}"),
            commit: Some(commit.clone()),
            of,
            ..nothing()
        });
        state.bindings.insert(id.clone(), Arc::clone(&bound));
        members.insert(id.clone(), bound);
        Arc::make_mut(&mut state.run)
            .line
            .push(ResultCommit::new(id, commit));
    }
    let name = Folds::fresh(&state);
    state.folds.add(name, Fold::of(members).expect("members"));
    let line = FoldedLine::of(&state.run.line);
    Arc::make_mut(&mut state.run).folded_line = Some(Arc::new(line));
    state
}

fn nothing() -> Binding {
    Binding {
        summary: String::new(),
        value: None,
        artifacts: Vec::new(),
        commit: None,
        change: None,
        evidence: Vec::new(),
        context: None,
        inputs: None,
        attempts: 1,
        by: "action".into(),
        at: String::new(),
        of: Arc::new(binding::nothing()),
        handoff: None,
        partial: false,
        extra: Default::default(),
    }
}

fn text(state: &State) -> String {
    StateText::of(state).text(state)
}

fn read(text: &str) -> State {
    let decoded = decode(text.as_bytes());
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    assert!(decoded.warnings.is_empty(), "{:?}", decoded.warnings);
    decoded.state.expect("a state")
}

fn faults(text: &str) -> Vec<&'static str> {
    let Decoding { faults, .. } = decode(text.as_bytes());
    faults.into_iter().map(|fault| fault.rule).collect()
}

#[test]
fn what_is_folded_reads_back_as_it_was_and_is_written_as_it_was() {
    let state = state(200, 150);
    let written = text(&state);
    let back = read(&written);
    assert!(text(&back) == written);
    assert_eq!(back.bindings.len(), 150);
    assert!(text(&back.written_out()) == text(&state.written_out()));
    assert!(written.len() * 3 < text(&state.written_out()).len());
}

#[test]
fn one_that_changes_takes_its_fold_apart() {
    let mut state = state(200, 150);
    let mut rendered = StateText::of(&state);
    let id = AtomId::new("A007");
    let bound = state.bindings.get_mut(&id).expect("bound");
    Arc::make_mut(bound).summary = "another".into();
    let touched = ChangeSet {
        bindings: [id].into(),
        run: true,
        ..ChangeSet::default()
    };
    rendered.update(&state, &touched);
    assert!(rendered.text(&state) == text(&state));
    let back = read(&text(&state));
    assert_eq!(
        back.bindings.get("A007").map(|one| &*one.summary),
        Some("another")
    );
    assert!(back.folds.is_empty(), "the others stand for themselves");
    assert_eq!(back.bindings.len(), 150);
}

#[test]
fn what_a_person_writes_out_stands_whatever_its_fold_says() {
    let written = text(&state(200, 150));
    let own = r#""bindings": {"A003": {"summary": "mine", "by": "person", "of": {"kind": "task", "depends_on": [], "status": "pending"}},"#;
    let edited = written.replacen("\"bindings\": {", own, 1);
    let back = read(&edited);
    assert_eq!(
        back.bindings.get("A003").map(|one| &*one.summary),
        Some("mine")
    );
    assert_eq!(back.bindings.len(), 150);
    assert!(back.folds.is_empty());
}

#[test]
fn a_remark_beside_a_fold_goes_to_its_first_result_and_the_fold_is_written_out() {
    let written = text(&state(200, 150));
    let remarked = written.replacen("\"folded\":", "\"notes\": \"mine\", \"folded\":", 1);
    let back = read(&remarked);
    assert!(back.folds.is_empty());
    let notes = |id: &str| back.bindings.get(id)?.extra.get("notes")?.as_str();
    assert_eq!(notes("A000"), Some("mine"));
    assert_eq!(notes("A001"), None);
    assert_eq!(back.bindings.len(), 150);
}

#[test]
fn a_fold_that_cannot_be_read_is_a_fault_at_its_place() {
    let written = text(&state(200, 150));
    let at = written.find("\"folded\": \"").expect("a fold") + 11;
    let mut broken = written.clone();
    broken.replace_range(at..at + 4, "!!!!");
    assert!(
        faults(&broken).contains(&"bad-fold"),
        "{:?}",
        faults(&broken)
    );
    let mut other = written.clone();
    other.replace_range(at..at + 4, "AAAA");
    assert!(faults(&other).contains(&"bad-fold"));
}

#[test]
fn a_commit_that_its_atom_has_no_longer_is_not_taken_for_the_one_in_the_line() {
    let mut state = state(200, 150);
    let bound = state.bindings.get_mut("A004").expect("bound");
    Arc::make_mut(bound).commit = Some(CommitId::new("f".repeat(40)));
    let back = read(&text(&state));
    let placed = &back.run.line[4];
    assert_ne!(placed.commit.as_str(), "f".repeat(40));
    assert_eq!(back.run.line[5].commit, state.run.line[5].commit);
}

#[test]
fn a_patch_carries_folds_to_and_fro() {
    let sealed = |mut state: State, serial: u64| {
        state.serial.0 = serial;
        state.seal = Some(StateText::of(&state).seal(&state));
        state
    };
    let folded = sealed(state(200, 150), 2);
    let plain = sealed(folded.written_out(), 1);
    let all = ChangeSet::all(&folded);
    let patch = Patch::between(&plain, &folded, &all);
    let kept = serde_json::to_string(&patch).expect("JSON");
    let patch: Patch = serde_json::from_str(&kept).expect("a patch");
    let made = patch.apply(&plain).expect("it fits");
    assert!(text(&made) == text(&folded));
    let plain = sealed(folded.written_out(), 3);
    let back = Patch::between(&folded, &plain, &all)
        .apply(&folded)
        .expect("it fits");
    assert!(text(&back) == text(&plain));
}
