//! The loop over its seams: a clock that is set, a simulated executor, a disk and programs that fail.
#![allow(clippy::disallowed_methods)] // door: plants projects

mod editors;
mod failing;
mod faults;
mod played;
mod race;
mod sim;
mod simulated;
mod together;

use std::{fs, path::Path, sync::Arc};

use descent_core::{
    id::{Lineage, RunId},
    plan,
    state::State,
};

use super::{Executor, LoopHost, Observer, RunEnding, Watch, run};
use descent_store::{StatePlace, Store};
use descent_system::{
    clock::Clock,
    failure::Failure,
    signal::{Signal, Signals},
};

/// A project with a state, in a directory of its own.
struct Project {
    dir: tempfile::TempDir,
}

/// Sends the stop to the loop; once dropped, nobody does.
type Bell = tokio::sync::mpsc::Sender<Signal>;

impl Project {
    /// A run of three steps; `more` is added to the constraints.
    fn new(more: &str) -> Self {
        let text = format!(
            r#"{{"objective": {{"goal": "g", "background_intent": "w", "base_case": {{"command": "test -e c"}},
            "constraints": {{"max_attempts": 2{more}}}}}, "work_graph": {{"atoms": {{
              "a": {{"kind": "task", "action": {{"run": "touch a"}}, "depends_on": []}},
              "b": {{"kind": "task", "action": {{"run": "touch b"}}, "depends_on": ["a"]}},
              "c": {{"kind": "task", "action": {{"run": "touch c"}}, "depends_on": ["b"]}}}}}}}}"#
        );
        Self::of(&text)
    }

    /// A run of this plan.
    fn of(text: &str) -> Self {
        let plan = plan::read(text.as_bytes());
        assert!(plan.faults.is_empty(), "{:?}", plan.faults);
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("p")).unwrap();
        let project = Self { dir };
        let place = StatePlace::create(&project.path(), None).unwrap();
        let state = plan.into_state(Lineage::new("lineage"));
        Store::open(place).create(state).unwrap();
        project
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("p").canonicalize().unwrap()
    }

    fn place(&self) -> StatePlace {
        StatePlace::find(&self.path(), None).unwrap()
    }

    fn state(&self) -> State {
        Store::open(self.place()).read().unwrap().state.clone()
    }

    /// Runs to its end, as run number `n` of this state.
    async fn run(
        &self,
        mut store: Store,
        clock: Arc<dyn Clock>,
        executor: Arc<dyn Executor>,
        signals: Signals,
        n: u32,
    ) -> Result<RunEnding, Failure> {
        let loaded = store.read()?;
        let host = LoopHost {
            watch: Watch::of(&store.place().state),
            store,
            clock,
            signals,
            executor,
            agents: Arc::default(),
            usage: Default::default(),
            run: RunId::new(format!("run{n}")),
            by: "ada".to_owned(),
            gap: None,
            from: None,
            remembered: None,
        };
        let observer = Observer {
            on_events: &mut |_, _| (),
            on_input: &mut |_, _| (),
            on_note: &mut |_| (),
            on_turn: &mut |_, _, _| (),
        };
        run(host, loaded, observer).await
    }
}

fn no_signals() -> Signals {
    bell().1
}

fn bell() -> (Bell, Signals) {
    let (bell, told) = tokio::sync::mpsc::channel(8);
    (bell, Signals::of(told))
}

fn solved(state: &State) -> Vec<String> {
    state.bindings.keys().map(ToString::to_string).collect()
}

fn is_there(path: &Path, names: &[&str]) -> bool {
    names.iter().all(|name| path.join(name).exists())
}
