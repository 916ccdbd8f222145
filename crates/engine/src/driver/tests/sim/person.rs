//! People beside a loop: they edit its file, stop and redirect it, set clocks, close lids and fill disks.

use std::{collections::BTreeSet, fs, sync::Arc, time::Duration};

use descent_core::{
    change::{self, ChangeRefusal, Resolution},
    event::{Input, Observation},
    id::RequestId,
    state::{Request, fields::Extra, objective::RequestKind},
    step,
    world::{Session, World, earlier::doubts},
};

use super::{
    executor::SimExecutor,
    model::Kind,
    scene::{ENOSPC, EROFS, Scene, held},
};
use crate::{driver::adopt::adopt, driver::tests::Bell};
use descent_store::{
    CommitContent, StatePlace,
    testing::{
        lossy::{Fate, Lossy},
        whole,
    },
};
use descent_system::{clock::Clock, signal::Signal};

const TEN_YEARS_MS: i64 = 10 * 365 * 86_400_000;
const NIGHT_MS: i64 = 8 * 3_600_000;
const PAUSE_MS: usize = 2_500;
/// Disk calls in about two commits.
const CALLS: usize = 30;

pub(super) struct Person {
    pub(super) scene: Arc<Scene>,
    pub(super) disk: Lossy,
    pub(super) place: StatePlace,
    pub(super) executor: SimExecutor,
    /// An opened file, with the text typed since.
    buffer: Option<Vec<u8>>,
    /// The future content of the file, once it is mended.
    to_mend: Option<Vec<u8>>,
    /// The last mended content.
    mended: Vec<u8>,
    edits: u32,
    requests: u32,
}

impl Person {
    pub(super) fn new(
        scene: Arc<Scene>,
        disk: Lossy,
        place: StatePlace,
        executor: SimExecutor,
    ) -> Self {
        Self {
            scene,
            disk,
            place,
            executor,
            buffer: None,
            to_mend: None,
            mended: Vec::new(),
            edits: 0,
            requests: 0,
        }
    }

    /// Acts for ever.
    pub(super) async fn acts(&mut self, bell: Bell) {
        loop {
            self.rests(PAUSE_MS).await;
            if self.to_mend.is_some() {
                self.mend();
                continue;
            }
            match self.scene.below(16) {
                0..=3 => self.edit_now(),
                4 => self.buffer = self.present(),
                5 | 6 => self.edit_the_buffer(),
                7 => self.leaves_half_a_file(),
                8 => self.asks(RequestKind::Stop),
                9 => self.asks(RequestKind::Redirect),
                10 => self.sets_the_clock(),
                11 => self.closes_the_lid(),
                12 => self.rings(&bell),
                13 => self.fills_the_disk().await,
                _ => self.edits_in_between(),
            }
        }
    }

    async fn rests(&self, most_ms: usize) {
        let ms = 1 + self.scene.below(most_ms) as u64;
        self.scene.clock.sleep(Duration::from_millis(ms)).await;
    }

    /// The file, if it is whole.
    fn present(&self) -> Option<Vec<u8>> {
        let bytes = fs::read(&self.place.state).ok()?;
        whole(&bytes).is_some().then_some(bytes)
    }

    /// A new word for one atom, and the atom.
    fn typed(&mut self, into: &[u8]) -> Option<(String, String, Vec<u8>)> {
        let atoms = self.executor.open_to_edits();
        let atom = atoms.get(self.scene.below(atoms.len()))?.clone();
        self.edits += 1;
        let words = format!("d-{atom}-{}.", self.edits);
        let bytes = reworded(into, &atom, &words)?;
        Some((atom, words, bytes))
    }

    fn save(&mut self, (atom, words, bytes): (String, String, Vec<u8>), what: &'static str) {
        self.scene.saw(what);
        self.scene.tell(format_args!("  {words}"));
        let mut watchman = held(&self.scene.watchman);
        watchman.edits(&atom, &words);
        watchman.may_save(&bytes);
        drop(watchman);
        self.disk.save(&bytes, self.scene.percent(50));
    }

    fn edit_now(&mut self) {
        let typed = self.present().and_then(|bytes| self.typed(&bytes));
        if let Some(typed) = typed {
            self.save(typed, "an edit");
        }
    }

    /// Not over a save that nobody read: that would be the person's own loss.
    fn edit_the_buffer(&mut self) {
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        if held(&self.scene.watchman).is_edited() {
            return;
        }
        if let Some(typed) = self.typed(&buffer) {
            if self.scene.percent(50) {
                self.buffer = Some(typed.2.clone());
            }
            self.save(typed, "an edit from an old buffer");
        }
    }

    fn leaves_half_a_file(&mut self) {
        let typed = self.present().and_then(|bytes| self.typed(&bytes));
        let Some((atom, words, bytes)) = typed else {
            return;
        };
        self.scene.saw("half a file is left");
        let half = if self.scene.percent(50) {
            bytes[..1 + self.scene.below(bytes.len() - 1)].to_vec()
        } else {
            String::from_utf8_lossy(&bytes)
                .replacen("\"depends_on\": [", "\"depends_on\": {", 1)
                .into_bytes()
        };
        let mut watchman = held(&self.scene.watchman);
        watchman.edits(&atom, &words);
        watchman.may_save(&half);
        watchman.may_save(&bytes);
        drop(watchman);
        self.disk.save(&half, self.scene.percent(50));
        self.to_mend = Some(bytes);
    }

    pub(super) fn mend(&mut self) {
        if let Some(bytes) = self.to_mend.take() {
            self.scene.saw("the file is mended");
            self.disk.save(&bytes, false);
            self.mended = bytes;
        }
    }

    /// A power cut may have restored the half-written file.
    pub(super) fn mend_again(&mut self) {
        self.mend();
        if self.present().is_none() {
            self.disk.save(&self.mended, false);
        }
    }

    fn edits_in_between(&mut self) {
        let atoms = self.executor.open_to_edits();
        let Some(atom) = atoms.get(self.scene.below(atoms.len())).cloned() else {
            return;
        };
        self.edits += 1;
        let words = format!("d-{atom}-{}.", self.edits);
        let (scene, disk, state) =
            (Arc::clone(&self.scene), self.disk.clone(), self.place.state.clone());
        let is_in_place = self.scene.percent(50);
        let save = move || {
            let bytes = fs::read(&state).ok().filter(|bytes| whole(bytes).is_some());
            let Some(bytes) = bytes.and_then(|bytes| reworded(&bytes, &atom, &words)) else {
                return;
            };
            scene.saw("an edit in the middle of a commit");
            scene.tell(format_args!("  {words}"));
            let mut watchman = held(&scene.watchman);
            watchman.edits(&atom, &words);
            watchman.may_save(&bytes);
            drop(watchman);
            disk.save(&bytes, is_in_place);
        };
        let after = self.scene.below(CALLS) as u64;
        self.scene.intrude(after, Box::new(save));
    }

    /// Requests something by another process.
    fn asks(&mut self, kind: RequestKind) {
        self.requests += 1;
        let id = RequestId::new(format!("q{}", self.requests));
        let now = self.scene.clock.now();
        let mut store = self.disk.store(self.place.clone());
        // Like `stop`: an edit that nobody adopted yet goes first.
        if held(&self.scene.watchman).is_edited() {
            return;
        }
        let asked = store.commit(|loaded| {
            let request = Request {
                id: id.clone(),
                run: loaded.state.run.id.clone(),
                by: "bob".to_owned(),
                at: now.rfc3339(),
                kind,
                extra: Extra::default(),
            };
            let event = Input::Asked { request, reason: None };
            let seen = Observation { now, active_ms: 0, event };
            let next = step::step(&World::new(loaded.state.clone()), &Session::default(), seen)?;
            Ok::<_, step::Refusal>(Some(CommitContent {
                state: next.world.facts.state,
                touched: next.touched,
                at: next.at,
                events: next.events,
            }))
        });
        if asked.is_ok() {
            self.scene.saw(match kind {
                RequestKind::Redirect => "a redirect by another process",
                RequestKind::Stop | RequestKind::StopNow => "a stop by another process",
            });
        }
    }

    fn sets_the_clock(&self) {
        let forward = self.scene.percent(50);
        self.scene.saw(if forward {
            "the clock goes ten years on"
        } else {
            "the clock goes ten years back"
        });
        self.scene.clock.put_forward(if forward { TEN_YEARS_MS } else { -TEN_YEARS_MS });
    }

    fn closes_the_lid(&self) {
        self.scene.saw("the machine sleeps");
        self.scene.clock.put_forward(NIGHT_MS);
    }

    fn rings(&self, bell: &Bell) {
        if bell.try_send(Signal::Terminate).is_ok() {
            self.scene.saw("a signal");
        }
    }

    async fn fills_the_disk(&mut self) {
        let is_full = self.scene.percent(50);
        self.scene.saw(if is_full { "the disk is full" } else { "the disk is read-only" });
        self.scene.fail_with(if is_full { ENOSPC } else { EROFS });
        self.rests(PAUSE_MS * 2).await;
        self.scene.heal();
        self.scene.saw("the disk can be written again");
    }

    /// Resolves each effect in doubt.
    pub(super) fn resolves(&mut self) {
        let now = self.scene.clock.now();
        let mut store = self.disk.store(self.place.clone());
        let is_in_doubt = store.read().is_ok_and(|loaded| !doubts(&loaded.state).is_empty());
        // Like the command, which first adopts what was saved by hand.
        if !is_in_doubt || adopt(&mut store, None, "ada", now).is_err() {
            return;
        }
        for _ in 0..self.executor.model.nodes.len() {
            let resolved = store.commit(|loaded| {
                let Some(doubt) = doubts(&loaded.state).into_iter().next() else {
                    return Ok(None);
                };
                let mut repo = held(&self.executor.repo);
                let atom = doubt.atom.to_string();
                let happened = repo.effects.get(&atom).copied().unwrap_or(0);
                let said =
                    if happened > 0 { Resolution::Done(None) } else { Resolution::Retry(None) };
                if happened > 0 {
                    repo.allowed.insert(atom, happened);
                }
                self.scene.saw("an effect in doubt is resolved");
                let adopted = change::resolve(&loaded.state, &doubt.attempt, said, "ada", now)?;
                Ok::<_, ChangeRefusal>(Some(CommitContent {
                    state: adopted.state,
                    touched: adopted.touched,
                    at: adopted.at,
                    events: adopted.events,
                }))
            });
            if resolved.is_err() {
                return;
            }
        }
    }
}

/// The text with another description of one atom.
fn reworded(bytes: &[u8], atom: &str, words: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let key = format!("\"description\": \"d-{atom}-");
    let at = text.find(&key).filter(|at| *at < text.find("\"trail\":").unwrap_or(usize::MAX))?;
    let start = at + "\"description\": \"".len();
    let end = start + text[start..].find('"')?;
    Some([&text[..start], words, &text[end..]].concat().into_bytes())
}

impl SimExecutor {
    /// The atoms that a person may change: nothing outside hangs on them.
    pub(super) fn open_to_edits(&self) -> Vec<String> {
        let nodes = &self.model.nodes;
        let outside = (0..nodes.len()).filter(|x| nodes[*x].is_external);
        let fixed: BTreeSet<usize> =
            outside.flat_map(|x| self.model.upstream(x).into_iter().chain([x])).collect();
        let tasks = (0..nodes.len()).filter(|x| nodes[*x].kind == Kind::Task && !fixed.contains(x));
        tasks.map(|x| nodes[x].id.clone()).collect()
    }
}
