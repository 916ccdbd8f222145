//! One story: a project, loops that die in it one after the other, and a last one that may end in peace.

use std::{
    collections::BTreeMap,
    fs,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use descent_core::{
    id::{Lineage, RunId, UnixMillis},
    plan,
    state::{RunStatus, State, encode::StateText},
};
use tokio::sync::mpsc;

use super::{
    executor::SimExecutor,
    model::{Kind, Model},
    person::Person,
    repo::Repo,
    rng::Rng,
    scene::{Scene, held, is_death},
};
use crate::driver::{
    LoopHost, Observer, RunEnding, Watch,
    adopt::{self, AdoptionRefusal},
    run,
    tests::bell,
};
use descent_store::{
    LoadedState, StatePlace, Store,
    testing::lossy::{Fate, Lossy},
};
use descent_system::{
    clock::Clock,
    failure::{Failure, exit},
};

const LIVES_MAX: u32 = 4;
const PEACEFUL_LIVES_MAX: u32 = 40;
/// A limit in simulated time.
const PEACE_MAX: Duration = Duration::from_secs(6 * 3_600);
const LIFE_MAX: Duration = Duration::from_secs(120);
const STEPS: usize = 700;

const ROOMY: &str = r#", "max_transient": 1000"#;

pub(super) struct Story {
    _dir: tempfile::TempDir,
    place: StatePlace,
    scene: Arc<Scene>,
    disk: Lossy,
    person: Person,
    executor: SimExecutor,
    runs: u32,
}

/// The end of a loop.
enum End {
    Ended(Box<RunEnding>),
    Failed(Failure),
    Died,
    /// It went on longer than it was watched.
    Left,
}

/// Dies when the scene demands it, also at an await.
struct Mortal<'s, T> {
    life: Pin<Box<dyn Future<Output = T> + 's>>,
    scene: Arc<Scene>,
}

impl<T> Future for Mortal<'_, T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        let polled = catch_unwind(AssertUnwindSafe(|| {
            this.scene.step("at an await");
            this.life.as_mut().poll(context)
        }));
        this.scene.check();
        match polled {
            Ok(polled) => polled.map(Some),
            Err(death) if is_death(&*death) => Poll::Ready(None),
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl Story {
    /// A small random graph, in a project of its own.
    pub(super) fn new(scene: &Arc<Scene>, dir: &Path, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut model = Model::random(&mut rng);
        outside(&mut model, &mut rng);
        let slots = 1 + rng.below(3);
        model.constraints = format!("{ROOMY}, \"max_parallel_agents\": {slots}");
        scene.tell(format_args!("seed {seed}, {slots} slots, wanted {:?}", model.wanted));
        model
            .nodes
            .iter()
            .enumerate()
            .for_each(|(x, node)| scene.tell(format_args!("{x}: {node:?}")));
        let dir = tempfile::tempdir_in(dir).unwrap();
        let place = StatePlace::create(dir.path(), None).unwrap();
        let fate: Arc<dyn Fate> = scene.clone();
        let disk = Lossy::new(&place, fate);
        let mut watchman = held(&scene.watchman);
        watchman.max_attempts = model.max_attempts;
        watchman.durable.insert(descent_core::id::CommitId::new(super::repo::START));
        drop(watchman);
        disk.calm().store(place.clone()).create(first(&model)).unwrap();
        let executor = SimExecutor {
            scene: Arc::clone(scene),
            repo: Arc::new(Mutex::new(Repo::new())),
            good_trees: Arc::new(model.good_trees()),
            model: Arc::new(model),
            is_calm: false,
        };
        Self {
            person: Person::new(Arc::clone(scene), disk.calm(), place.clone(), executor.clone()),
            _dir: dir,
            scene: Arc::clone(scene),
            place,
            disk,
            executor,
            runs: 0,
        }
    }

    pub(super) async fn tell(&mut self) {
        let lives = 1 + self.scene.below(LIVES_MAX as usize);
        for _ in 0..lives {
            self.troubled_life().await;
            self.scene.check();
        }
        self.peace().await;
        self.scene.check();
    }

    async fn troubled_life(&mut self) {
        if self.scene.percent(70) {
            self.scene.die_in(Some(self.scene.below(STEPS) as u64));
        }
        if self.scene.percent(25) {
            self.scene.fail_soon();
        }
        let end = self.life(false).await;
        self.scene.die_in(None);
        self.scene.heal();
        match end {
            End::Ended(ending) => self.scene.saw(word(&ending)),
            End::Failed(failure) => self.failed(&failure),
            End::Left => self.died(false).await,
            End::Died => {
                let cut = self.scene.percent(50);
                self.died(cut).await;
            }
        }
    }

    fn failed(&self, failure: &Failure) {
        self.scene.tell(format_args!("it fails: {}", failure.code));
        self.scene.saw("a loop fails");
        if failure.exit == exit::BUG || failure.hint.is_empty() {
            self.scene.wrong(format!("{failure:?}"));
        }
    }

    async fn died(&mut self, is_power_cut: bool) {
        if is_power_cut {
            self.scene.saw("the power is cut");
            self.disk.cut();
            held(&self.executor.repo).cut();
            held(&self.scene.watchman).power_was_cut();
            self.tears_the_journal();
        } else {
            self.scene.saw("the loop dies alone");
            let ms = self.scene.below(3_000) as u64;
            self.scene.clock.sleep(Duration::from_millis(ms)).await;
        }
    }

    /// Damages the journal, of which nothing is needed to go on.
    fn tears_the_journal(&self) {
        let journal = self.place.dir.join("journal");
        let mut paths: Vec<_> = fs::read_dir(journal)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        paths.sort();
        for path in paths.into_iter().filter(|_| self.scene.percent(30)) {
            let bytes = fs::read(&path).unwrap_or_default();
            fs::write(&path, &bytes[..self.scene.below(bytes.len() + 1)]).unwrap();
        }
    }

    /// Without faults it reaches an end of the model.
    async fn peace(&mut self) {
        self.scene.tell("peace");
        self.executor.is_calm = true;
        self.person.mend_again();
        for _ in 0..PEACEFUL_LIVES_MAX {
            let status = match self.life(true).await {
                End::Ended(ending) => ending.world.state.run.status,
                End::Failed(failure) => return self.scene.wrong(format!("in peace: {failure:?}")),
                End::Died | End::Left => return self.scene.wrong("it does not end".to_owned()),
            };
            if matches!(status, RunStatus::Completed | RunStatus::Exhausted) {
                return self.ends(status);
            }
        }
        self.scene.wrong("it never comes to an end".to_owned());
    }

    fn ends(&self, status: RunStatus) {
        let expected = if self.executor.model.is_solvable() {
            RunStatus::Completed
        } else {
            RunStatus::Exhausted
        };
        self.scene.saw(if status == RunStatus::Completed {
            "completed in the end"
        } else {
            "exhausted in the end"
        });
        if status != expected {
            self.scene.wrong(format!("it ends as {}", status.word()));
        }
        let texts: Vec<String> = self.texts();
        let watchman = held(&self.scene.watchman);
        let sound = watchman.no_edit_is_lost(&texts).and_then(|()| watchman.is_within_bound());
        drop(watchman);
        if let Err(what) = sound {
            self.scene.wrong(what);
        }
    }

    /// The texts of the state, and of files kept beside it because they came too late.
    fn texts(&self) -> Vec<String> {
        let mut store = self.disk.calm().store(self.place.clone());
        // Files that wait to come to rest are looked at.
        store.tend(UnixMillis(u64::MAX)).unwrap();
        let rescued = store.rescued().into_iter().map(|path| fs::read(path).unwrap());
        let mut texts: Vec<Vec<u8>> = rescued.collect();
        let now = store.read().unwrap();
        texts.push(now.bytes().to_vec());
        if now.is_foreign {
            // A late save may just have got the name: the next run merges it with the newest commit.
            let newest = store.newest().unwrap();
            texts.push(StateText::of(&newest).text(&newest).into_bytes());
        }
        texts.into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
    }

    async fn life(&mut self, is_peaceful: bool) -> End {
        let bytes = fs::read(&self.place.state).unwrap();
        let found = held(&self.scene.watchman).found(&bytes);
        match found {
            Ok(lines) => lines.iter().for_each(|line| self.scene.tell(line)),
            Err(what) => self.scene.wrong(what),
        }
        self.person.resolves();
        self.runs += 1;
        self.scene.tell(format_args!("run {} begins", self.runs));
        let (bell, signals) = bell();
        let (news, heard) = mpsc::channel(1);
        self.scene.hears(self.scene.percent(80).then_some(news.clone()));
        let disk = if is_peaceful { self.disk.calm() } else { self.disk.clone() };
        let host = |store| LoopHost {
            store,
            clock: self.scene.clock.clone(),
            signals,
            watch: Watch::with_events(heard),
            executor: Arc::new(self.executor.clone()),
            agents: Arc::default(),
            usage: Default::default(),
            run: RunId::new(format!("run{}", self.runs)),
            by: "ada".to_owned(),
            gap: None,
            from: None,
            remembered: None,
        };
        let scene = Arc::clone(&self.scene);
        let store = disk.store(self.place.clone());
        let life = loop_of(Arc::clone(&scene), store, host);
        let mortal = Mortal { life: Box::pin(life), scene: Arc::clone(&scene) };
        let longest = if is_peaceful { PEACE_MAX } else { LIFE_MAX };
        let ended = tokio::select! {
            biased;
            ended = mortal => ended,
            () = self.person.acts(bell), if !is_peaceful => None,
            () = scene.clock.sleep(longest) => return End::Left,
        };
        drop(news);
        match ended {
            None => End::Died,
            Some(Ok(ending)) => End::Ended(Box::new(ending)),
            Some(Err(failure)) => End::Failed(failure),
        }
    }
}

async fn loop_of(
    scene: Arc<Scene>,
    mut store: Store,
    host: impl FnOnce(Store) -> LoopHost,
) -> Result<RunEnding, Failure> {
    let mut loaded = store.read()?;
    if loaded.is_foreign {
        loaded = taken_in(&scene, &mut store)?;
    }
    // Names of files differ between runs of one story.
    let dir = store.place().project.display().to_string();
    let (told, said) = (Arc::clone(&scene), Arc::clone(&scene));
    let observer = Observer {
        on_events: &mut |events, _| {
            for event in events {
                let text = serde_json::to_string(event).unwrap();
                told.tell(format_args!("  {}", text.replace(&dir, "…")));
            }
        },
        on_input: &mut |_, _| (),
        on_note: &mut |text| {
            said.tell(format_args!(
                "  says: {}",
                text.replace(&dir, "…").split('`').next().unwrap()
            ))
        },
        on_turn: &mut |world, _, _| held(&scene.watchman).reported(world.state.serial),
    };
    run(host(store), loaded, observer).await
}

/// A person's edit while no loop lived goes first, as in `run`.
fn taken_in(scene: &Scene, store: &mut Store) -> Result<Arc<LoadedState>, Failure> {
    match adopt::adopt(store, None, "ada", scene.clock.now()) {
        Ok(done) => Ok(done.loaded),
        Err(AdoptionRefusal::Store(error)) => Err(error.into()),
        Err(AdoptionRefusal::OtherLineage) => panic!("another lineage"),
    }
}

fn word(ending: &RunEnding) -> &'static str {
    ending.world.state.run.status.word()
}

/// Moves some work without changes to the tree outside, if nothing upstream can be chosen again.
fn outside(model: &mut Model, rng: &mut Rng) {
    for x in 0..model.nodes.len() {
        let is_fixed = |y: &usize| model.nodes[*y].kind != Kind::Any;
        let is_fit = model.nodes[x].is_silent && model.upstream(x).iter().all(is_fixed);
        model.nodes[x].is_external = is_fit && rng.percent(60);
    }
}

/// The first state; each part that a person can edit has a text of its own.
fn first(model: &Model) -> State {
    let mut plan: serde_json::Value = serde_json::from_str(&model.plan()).unwrap();
    for node in &model.nodes {
        plan["work_graph"]["atoms"][&node.id]["description"] = format!("d-{}-0.", node.id).into();
    }
    let plan = plan::read(plan.to_string().as_bytes());
    assert!(plan.faults.is_empty(), "{:?}", plan.faults);
    plan.into_state(Lineage::new("lineage"))
}

/// Runs the story of a seed; returns the events, and the violation if there was one.
pub(super) fn story_of(
    seed: u64,
    dir: &Path,
) -> (BTreeMap<&'static str, u32>, Option<String>, String) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let scene = Scene::new(Rng::new(seed ^ 0x5EED));
        let mut story = Story::new(&scene, dir, seed);
        let told = Told { story: Box::pin(story.tell()) };
        let wrong = told.await.err();
        (scene.seen(), wrong, scene.story())
    })
}

/// Prints a story at its end, or at a violation.
struct Told<'s> {
    story: Pin<Box<dyn Future<Output = ()> + 's>>,
}

impl Future for Told<'_> {
    type Output = Result<(), String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.story.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let word = panic.downcast_ref::<&str>().map(ToString::to_string);
                Poll::Ready(Err(text.or(word).unwrap_or_else(|| "a panic".to_owned())))
            }
        }
    }
}
