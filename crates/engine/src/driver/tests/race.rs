//! Hand edits against a fast committer: a person with real editors, and the store and merge of the loop, on real files.
//!
//! One person edits one file: an edit is over when it is adopted. Every edit types a unique text, so that lost and
//! invented texts can be counted.
#![allow(clippy::disallowed_methods, clippy::print_stderr)] // tests

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use descent_core::state::{State, decode::decode, encode::ChangeSet};
use serde_json::{Value, json};

use super::{
    super::adopt::{AdoptionRefusal, adopt},
    editors::{Editor, replace_line, save, save_two},
};
use descent_store::{CommitContent, CommitError, LoadedState, StatePlace, Store, testing::whole};
use descent_system::clock;

/// Edits of one file; then another file begins, so that the list of corrections stays short.
const EDITS_OF_A_FILE: u64 = 50;
/// Files raced for side by side: an edit is waited for, so one file leaves the machine idle.
const FILES: usize = 4;
/// Far more than the adoption of a save takes, also of a late one that waits for the sweep.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many commits an old buffer is behind.
const STALE: usize = 20;
const SCALARS: u64 = 4;

fn beginning() -> State {
    let atom = |words: &str| json!({"kind": "task", "description": words, "depends_on": [], "status": "pending"});
    let mut atoms: BTreeMap<String, Value> =
        (0..SCALARS).map(|n| (format!("E{n}"), atom(&format!("words-{n}")))).collect();
    atoms.insert("P".into(), atom("of the program"));
    let state = json!({
        "version": "3.0", "lineage": "race", "serial": 1, "seal": "",
        "objective": {"raw_input": "r", "goal": "g", "background_intent": "b", "deliverables": "d",
            "definition_of_done": "d", "base_case": {"all": [{"command": "true"}]}, "constraints": {}},
        "control": {"stop_requested": false, "stop_reason": null, "redirect_requested": false, "request": null},
        "work_graph": {"atoms": atoms}, "bindings": {}, "trail": [], "corrections": [],
        "run": {"status": "running", "epoch": 1, "iteration": 0, "pass": 1, "attempts_started": 0, "in_flight": [],
            "spent": {"attempts": 0, "transient": 0, "repairs": 0, "active": "0s"}}
    });
    decode(crate::whole_records::file(&state).to_string().as_bytes()).state.unwrap()
}

/// The committer's files, for the person to look at.
#[derive(Default)]
struct Committed {
    /// Every unique text that was in a committed state.
    seen: Mutex<BTreeSet<String>>,
    /// The newest file, and those before it.
    files: Mutex<VecDeque<Arc<LoadedState>>>,
    commits: AtomicU64,
    is_over: AtomicBool,
    /// The reason of the last failed commit.
    trouble: Mutex<String>,
}

/// Ends the race for both sides, however one of them ends.
struct Ends<'m>(&'m Committed);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Committed {
    fn note(&self, loaded: &Arc<LoadedState>, is_edit: bool) {
        let mut files = self.files.lock().unwrap();
        files.push_back(Arc::clone(loaded));
        if files.len() > STALE + 1 {
            files.pop_front();
        }
        drop(files);
        // Last, because a person who sees the edit goes on from the file that holds it.
        if is_edit {
            let whole = whole(loaded.bytes()).unwrap();
            assert!(!whole.is_foreign, "what was committed is not sealed");
            let text = loaded.text();
            self.seen.lock().unwrap().extend(tokens(text));
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    fn newest(&self) -> Arc<LoadedState> {
        Arc::clone(self.files.lock().unwrap().back().unwrap())
    }

    fn stale(&self) -> String {
        let files = self.files.lock().unwrap();
        String::from_utf8(files.front().unwrap().bytes().to_vec()).unwrap()
    }
}

/// The beginning of an atom's line: a lost value of an earlier edit may hold the same words, nested deeper.
fn words_of(k: u64) -> String {
    format!("  \"E{k}\": {{\"description\": \"words-{k}")
}

/// The text of a buffer after a token was typed into an atom.
fn typed(text: &str, k: u64, token: &str) -> String {
    let mark = words_of(k);
    let lines = text.lines().map(|line| {
        if line.starts_with(&mark) { format!("{mark} {token}\"}},") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.starts_with("tok"))
        .map(str::to_owned)
}

/// The shortest time between two commits. A loop makes far fewer.
const COMMIT_EVERY: Duration = Duration::from_micros(2_500);

/// Commits without rest, like the loop: on a value read afresh, and never over an edit.
fn commit_on(mut store: Store, made: &Committed) {
    let _ends = Ends(made);
    let mut known = made.newest();
    let mut swept = Instant::now();
    while !made.is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        match turn(&mut store, &known) {
            Ok((loaded, is_edit)) => {
                made.note(&loaded, is_edit);
                known = loaded;
            }
            Err(AdoptionRefusal::Store(error))
                if error.is_about_content() || error.is_missing() =>
            {
                *made.trouble.lock().unwrap() = format!("{error}: {:?}", error.details());
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error:?}"),
        }
        if swept.elapsed() > Duration::from_millis(200) {
            let _ = store.tend(clock::now());
            swept = Instant::now();
        }
        std::thread::sleep(COMMIT_EVERY.saturating_sub(begun.elapsed()));
    }
}

fn turn(
    store: &mut Store,
    known: &Arc<LoadedState>,
) -> Result<(Arc<LoadedState>, bool), AdoptionRefusal> {
    let done = store.commit(|fresh| {
        if fresh.bytes() != known.bytes() {
            return Err(());
        }
        let mut state = fresh.state.clone();
        state.serial.0 += 1;
        Arc::make_mut(&mut state.run).iteration += 1;
        let mut touched = ChangeSet { run: true, ..ChangeSet::default() };
        let id = descent_core::id::AtomId::new("P");
        if let Some(task) = state.atoms.get_mut(&id).and_then(|atom| Arc::make_mut(atom).task_mut())
        {
            task.interruptions = u32::try_from(state.serial.0).unwrap_or(0);
            touched.atoms.insert(id);
        }
        Ok(Some(CommitContent { state, touched, at: String::new(), events: Vec::new() }))
    });
    match done {
        Ok(loaded) => Ok((loaded, false)),
        Err(CommitError::Store(error)) => Err(error.into()),
        Err(CommitError::Decide(())) => {
            let fresh = store.read()?;
            if !fresh.is_foreign {
                return Ok((fresh, true));
            }
            adopt(store, Some(&known.state), "ada", clock::now()).map(|done| (done.loaded, true))
        }
    }
}

struct Person<'m> {
    path: PathBuf,
    made: &'m Committed,
    random: u64,
    editors: Vec<Editor>,
    /// Atoms that should be there, beside those of the beginning.
    /// The expected text of each atom: its id, and the text that was typed there last.
    words: BTreeMap<String, String>,
    added: BTreeSet<String>,
    typed: BTreeSet<String>,
    counts: BTreeMap<String, u64>,
}

impl Person<'_> {
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn edit(&mut self, n: u64) {
        let token = format!("tok{n}z");
        let kind = match self.draw(10) {
            _ if n % EDITS_OF_A_FILE == 7 => self.change_twice(&token),
            0 => self.add(&token),
            1 if !self.added.is_empty() => self.remove(),
            2 => self.change_old(&token),
            _ => self.change(n, &token),
        };
        *self.counts.entry(kind).or_default() += 1;
    }

    /// Types one text, by an editor that reads the file itself.
    fn change(&mut self, n: u64, token: &str) -> String {
        // Editors at a terminal are slow to start, so only some dozens are.
        let rare = self.editors.len() as u64;
        let editor = match n % 12 {
            11 if rare > 0 => self.editors[usize::try_from(n / 12 % rare).unwrap()],
            k => [Editor::Sed, Editor::Rename, Editor::InPlace][usize::try_from(k % 3).unwrap()],
        };
        let k = self.draw(SCALARS);
        let mark = words_of(k);
        let line = format!("{mark} {token}\"}},");
        self.says(k, token);
        replace_line(editor, &self.path, &mark, &line);
        self.wait_for(token, editor);
        format!("{editor:?}")
    }

    /// Types the same text in a buffer that was opened long ago.
    fn change_old(&mut self, token: &str) -> String {
        let old = self.made.stale();
        let k = self.draw(SCALARS);
        let text = typed(&old, k, token);
        self.says(k, token);
        let editor = [Editor::Rename, Editor::InPlace, Editor::SlowInPlace]
            [usize::try_from(self.draw(3)).unwrap()];
        save(editor, &self.path, &text);
        self.wait_for(token, editor);
        "stale buffer".to_owned()
    }

    /// Types one text into a file that lost the name, and another one into a buffer without it that is saved when the
    /// first is about to be adopted.
    fn change_twice(&mut self, token: &str) -> String {
        let (late, over) = (format!("{token}l"), format!("{token}o"));
        self.typed.insert(late.clone());
        let has_met =
            save_two(&self.path, |text| typed(text, 0, &late), |text| typed(text, 1, &over));
        self.says(1, &over);
        self.wait_for(&over, Editor::Rename);
        let rescued = self.path.with_file_name("state.json.rescued-1");
        let is_adopted = || self.made.seen.lock().unwrap().contains(&late);
        let is_rescued = || fs::read_to_string(&rescued).is_ok_and(|text| text.contains(&late));
        self.wait(&format!("{late} in a file of its own"), || is_adopted() || is_rescued());
        if is_adopted() {
            self.says(0, &late);
        } else {
            fs::remove_file(&rescued).unwrap();
        }
        format!("two saves, {}", if has_met { "at once" } else { "apart" })
    }

    fn add(&mut self, token: &str) -> String {
        let id = format!("N{token}");
        let loaded = self.made.newest();
        let mut value: Value = serde_json::from_slice(loaded.bytes()).unwrap();
        value["work_graph"]["atoms"][&id] =
            json!({"kind": "task", "description": token, "depends_on": []});
        self.words.insert(id.clone(), token.to_owned());
        self.added.insert(id);
        let editor = if self.draw(8) == 0 { Editor::Late } else { Editor::SlowInPlace };
        save(editor, &self.path, &serde_json::to_string_pretty(&value).unwrap());
        self.wait_for(token, editor);
        "addition".to_owned()
    }

    fn remove(&mut self) -> String {
        let id = self.added.pop_first().unwrap();
        self.words.remove(&id);
        let loaded = self.made.newest();
        let mut value: Value = serde_json::from_slice(loaded.bytes()).unwrap();
        value["work_graph"]["atoms"].as_object_mut().unwrap().remove(&id);
        save(Editor::Rename, &self.path, &serde_json::to_string_pretty(&value).unwrap());
        let gone = || !self.made.newest().state.atoms.contains_key(id.as_str());
        self.wait(&format!("{id} to be gone"), gone);
        "removal".to_owned()
    }

    fn says(&mut self, k: u64, token: &str) {
        self.words.insert(format!("E{k}"), format!("words-{k} {token}"));
    }

    fn wait_for(&mut self, token: &str, editor: Editor) {
        self.typed.insert(token.to_owned());
        let seen = || self.made.seen.lock().unwrap().contains(token);
        self.wait(&format!("{token} by {editor:?}"), seen);
    }

    #[track_caller]
    fn wait(&self, what: &str, holds: impl Fn() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !holds() {
            let is_over = self.made.is_over.load(Ordering::Relaxed);
            assert!(
                !is_over && Instant::now() < until,
                "LOST: {what}; the last trouble: {}; the file: {}",
                self.made.trouble.lock().unwrap(),
                show(&self.path)
            );
            std::thread::sleep(Duration::from_micros(500));
        }
    }
}

fn show(path: &Path) -> String {
    let dir = path.parent().unwrap();
    let names = fs::read_dir(dir).unwrap().flatten();
    let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
    let text = fs::read_to_string(path).unwrap_or_default();
    format!("{names:?}\n{}", text.chars().take(3_000).collect::<String>())
}

fn setting(name: &str, absent: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(absent)
}

/// The outcome for one file, or for all.
#[derive(Default)]
struct Raced {
    counts: BTreeMap<String, u64>,
    commits: u64,
    took: Duration,
}

/// Races for one file: edits from `first` on.
fn race(seed: u64, first: u64, edits: u64, editors: &[Editor]) -> Raced {
    let begun = Instant::now();
    // In memory the commits are as fast as possible.
    let memory = Path::new("/dev/shm");
    let dir =
        if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let place = StatePlace::create(dir.path(), None).unwrap();
    let path = place.state.clone();
    let mut store = Store::open(place);
    let loaded = store.create(beginning()).unwrap();
    let made = Committed::default();
    made.note(&loaded, true);
    let mut person = Person {
        path,
        made: &made,
        random: seed ^ (first + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        editors: editors.to_vec(),
        words: BTreeMap::new(),
        added: BTreeSet::new(),
        typed: BTreeSet::new(),
        counts: BTreeMap::new(),
    };
    std::thread::scope(|scope| {
        let committer = scope.spawn(|| commit_on(store, &made));
        let ends = Ends(&made);
        (first..first + edits).for_each(|n| person.edit(n));
        drop(ends);
        committer.join().unwrap();
    });
    let last = made.newest();
    let there = last.state.atoms.iter();
    let there: BTreeMap<String, String> =
        there.map(|(id, atom)| (id.to_string(), atom.description.clone())).collect();
    let mut wanted: BTreeMap<String, String> =
        (0..SCALARS).map(|n| (format!("E{n}"), format!("words-{n}"))).collect();
    wanted.insert("P".into(), "of the program".into());
    wanted.extend(person.words);
    assert_eq!(there, wanted, "an atom or its text was invented or lost");
    let seen = made.seen.lock().unwrap();
    let invented: Vec<&String> = seen.difference(&person.typed).collect();
    assert!(invented.is_empty(), "invented: {invented:?}");
    Raced {
        counts: person.counts,
        commits: made.commits.load(Ordering::Relaxed),
        took: begun.elapsed(),
    }
}

/// Races for several files side by side, until all edits are made.
fn race_all(seed: u64, edits: u64, editors: &[Editor]) -> Raced {
    let (all, begun) = (Mutex::new(Raced::default()), AtomicU64::new(0));
    let lane = || {
        loop {
            let first = begun.fetch_add(EDITS_OF_A_FILE, Ordering::Relaxed);
            if first >= edits {
                return;
            }
            let raced = race(seed, first, EDITS_OF_A_FILE.min(edits - first), editors);
            let mut all = all.lock().unwrap();
            all.commits += raced.commits;
            all.took += raced.took;
            for (kind, count) in raced.counts {
                *all.counts.entry(kind).or_default() += count;
            }
        }
    };
    std::thread::scope(|scope| {
        (0..FILES).for_each(|_| drop(scope.spawn(lane)));
    });
    all.into_inner().unwrap()
}

#[test]
fn no_edit_is_lost_or_invented_whatever_the_editor_while_hundreds_of_commits_a_second_go_on() {
    let edits = setting("DESCENT_SOAK_EDITS", 500);
    let seed = setting("DESCENT_SOAK_SEED", 1);
    let mut editors = Vec::new();
    if crate::passed_over::has("vim", "vim") {
        editors.extend([Editor::Vim, Editor::VimInPlace]);
    }
    if crate::passed_over::has("nano", "nano") {
        editors.push(Editor::Nano);
    }
    let begun = Instant::now();
    let raced = race_all(seed, edits, &editors);
    let Raced { counts, commits, took } = raced;
    eprintln!(
        "{edits} edits ({counts:?}), seed {seed}: 0 lost, 0 invented; {commits} commits, {:.0}/s to each file; {:.0} s",
        commits as f64 / took.as_secs_f64(),
        begun.elapsed().as_secs_f64()
    );
}
