//! The control law, lessons and rests change no verdict: weights, lessons and blocks by chance, against brute force.
//!
//! The base case of these graphs asks for all that is live. A few hundred of them, or with `DESCENT_SOAK_STEERED=<count>`
//! so many for each test, from `DESCENT_SOAK_SEED=<seed>` on.

use descent_core::{
    event::Event,
    id::{Digest, LessonId},
    law::approach,
    state::{
        Lesson, LessonKind, LessonSource, Reason,
        encode::StateText,
        law::{BlockedRecord, LawRecord},
    },
    world::World,
};

use super::{
    model::Model,
    planners::{ADVERSARIES, Planner},
    random::STORMY,
    replan::{reason, told},
    resting::{WITHOUT, rests, stubborn},
    rng::Rng,
    sim::{Faults, Sim},
};

/// Planners that plan nothing which could be carried out: brute force tells the verdict of their runs.
const BARREN: [Planner; 4] = [Planner::Silent, Planner::Nonsense, Planner::Stranger, Planner::Same];

fn seeds(first: u64, small: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let first = first + number("DESCENT_SOAK_SEED").unwrap_or(0);
    first..first + number("DESCENT_SOAK_STEERED").unwrap_or(small)
}

const ACTS: &str = r#", "law": "act""#;

/// Lessons about half of the choices, and some about choices that nobody has.
fn lessons(rng: &mut Rng, world: &World) -> Vec<Lesson> {
    let graph = &world.graph;
    let kids = graph.groups().flat_map(|x| graph.vertex(x).kids.clone());
    let mut known: Vec<Digest> = kids.map(|x| graph.choice_digest(x)).collect();
    known.push(Digest::sha256(b"nobody has it"));
    let mut lessons = Vec::new();
    for choice in known {
        if !rng.percent(50) {
            continue;
        }
        let is_good = rng.percent(50);
        let number = lessons.len();
        lessons.push(Lesson {
            id: LessonId::new(format!("m{number}")),
            kind: if is_good { LessonKind::Prefer } else { LessonKind::MustNot },
            tool: "worker".to_owned(),
            target: String::new(),
            choice: Some(choice),
            group: None,
            lesson: "by chance".to_owned(),
            because: String::new(),
            seen: 2,
            runs: Vec::new(),
            first: String::new(),
            last: format!("{}", rng.below(100)),
            by: LessonSource::Person,
            extra: Default::default(),
        });
    }
    lessons
}

/// Blocks what some of the atoms go about, and what none does.
fn blocked(rng: &mut Rng, model: &Model, world: &World) -> LawRecord {
    let one = |tool: String, target: Option<String>| BlockedRecord {
        tool,
        target,
        pass: 1,
        because: None,
        atom: None,
        extra: Default::default(),
    };
    let mut blocked = vec![one("cargo test".to_owned(), None)];
    if rng.percent(20) {
        blocked.push(one("worker".to_owned(), None));
    }
    for atom in world.state.atoms.values() {
        for tried in approach::of_atom(atom) {
            if rng.percent(40) {
                blocked.push(one(tried.tool, Some(tried.target)));
            }
        }
    }
    for node in (0..model.nodes.len()).filter(|x| model.is_planned(*x)) {
        if rng.percent(10) {
            let task = format!("do {}", model.nodes[node].id);
            let target = Digest::sha256(task.as_bytes()).to_string();
            blocked.push(one("worker".to_owned(), Some(target)));
        }
    }
    LawRecord { blocked, ..LawRecord::default() }
}

impl Sim<'_> {
    /// Gives it lessons and blocks by chance.
    fn steer(&mut self, seed: u64) {
        let mut rng = Rng::new(seed + 1_000_000);
        self.remembered = Some(lessons(&mut rng, &self.world));
        self.session = self.new_session();
        let mut state = self.world.state.clone();
        std::sync::Arc::make_mut(&mut state.run).law =
            Some(blocked(&mut rng, self.model, &self.world));
        self.is_anew(StateText::of(&state));
        self.world = World::new(state);
    }

    fn saw(&self, is_one: fn(&Event) -> bool) -> bool {
        self.events.iter().any(is_one)
    }

    /// Whether a proposal was refused for what the law blocks, or no planner was asked.
    fn was_held_back(&self) -> bool {
        let is_told = |text: &str| self.story.contains(text);
        let is_refused = is_told("blocked: ") || is_told("it goes about it like the plan of");
        is_refused || reason(self) == Some(Reason::Abandoned)
    }
}

#[derive(Debug, Default)]
struct Seen {
    all: usize,
    solved: usize,
    rested: usize,
    points: usize,
    held_back: usize,
    lessons: usize,
}

impl Seen {
    fn add(&mut self, sim: &Sim<'_>, word: &str) {
        let lessons = sim.world.state.run.memory_used.as_ref();
        self.all += 1;
        self.solved += usize::from(word == "completed");
        self.rested += usize::from(rests(sim) > 0);
        self.points += usize::from(sim.saw(|event| matches!(event, Event::Law { .. })));
        self.held_back += usize::from(sim.was_held_back());
        self.lessons += usize::from(lessons.is_some_and(|used| !used.lessons.is_empty()));
    }

    fn tells(&self, has_points: bool) {
        println!("{self:?}");
        let tenth = self.all / 10;
        let is_mixed = self.solved > tenth && self.solved < self.all - tenth;
        assert!(is_mixed, "{self:?}: too uniform to tell");
        assert!(self.rested > self.all / 30, "{self:?}: too few rested");
        assert!(self.lessons > self.all / 2, "{self:?}: too few lessons");
        if has_points {
            assert!(self.points > tenth, "{self:?}: too few points");
            assert!(self.held_back > self.all / 30, "{self:?}: too few blocks");
        }
    }
}

/// Runs it with rests and without; `judge` says whether the word is right.
fn each_way(
    seed: u64,
    plans: usize,
    faults: Faults,
    planner: Option<Planner>,
    seen: &mut Seen,
    judge: fn(&Model, &Sim<'_>, &str) -> bool,
) {
    let mut model = stubborn(seed, plans);
    let common = model.constraints.clone() + ACTS;
    let slots = 1 + u32::try_from(seed % 3).expect("small");
    for constraints in ["", WITHOUT] {
        model.constraints = common.clone() + constraints;
        let mut sim = Sim::new(&model, seed, slots, faults);
        sim.planner = planner;
        sim.steer(seed);
        let word = sim.run();
        assert!(
            judge(&model, &sim, word),
            "seed {seed}, {planner:?}{}: {word}\n{}",
            model.constraints,
            sim.story
        );
        sim.check_counts();
        let (ended, attempts, begun, starts) = told(&sim.events);
        let is_whole = faults.stop == 0 && sim.moves == 0;
        assert!(
            !is_whole || (begun <= starts && (sim.repairs > 0 || ended <= attempts)),
            "seed {seed}: {ended} of {attempts} attempts, {begun} of {starts} starts"
        );
        seen.add(&sim, word);
    }
}

fn is_as_expected(model: &Model, _: &Sim<'_>, word: &str) -> bool {
    word == if model.is_solvable() { "completed" } else { "exhausted" }
}

#[test]
fn lessons_and_blocks_change_no_verdict() {
    let mut seen = Seen::default();
    for seed in seeds(200_000, 100) {
        each_way(seed, 0, Faults::default(), None, &mut seen, is_as_expected);
    }
    seen.tells(false);
    for seed in seeds(210_000, 40) {
        each_way(seed, 0, STORMY, None, &mut seen, is_as_expected);
    }
}

/// Nothing that these planners say can be carried out, so the plan alone decides.
#[test]
fn beside_a_barren_planner_no_directive_changes_a_verdict() {
    let mut seen = Seen::default();
    for seed in seeds(220_000, 70) {
        let planner = BARREN[Rng::new(seed).below(BARREN.len())];
        let faults = match seed % 3 {
            0 => Faults { crash: 3, reads_back: seed % 4 == 0, ..Faults::default() },
            _ => Faults::default(),
        };
        each_way(seed, 0, faults, Some(planner), &mut seen, is_as_expected);
    }
    seen.tells(true);
}

/// Whatever a planner says, the run finds the solution that the plan has.
#[test]
fn beside_any_planner_no_directive_takes_a_solution_away() {
    let mut seen = Seen::default();
    for seed in seeds(230_000, 50) {
        let planner = ADVERSARIES[Rng::new(seed).below(ADVERSARIES.len())];
        let judge =
            |model: &Model, _: &Sim<'_>, word: &str| word == "completed" || !model.is_solvable();
        each_way(seed, 0, Faults::default(), Some(planner), &mut seen, judge);
    }
    seen.tells(true);
}

/// Fragments of planning steps are proposals: one that is refused is none. So brute force says what can be completed, and
/// where nothing was refused it says what is.
#[test]
fn with_planning_steps_the_law_completes_nothing_and_takes_refused_fragments_alone() {
    let mut seen = Seen::default();
    for seed in seeds(240_000, 100) {
        let judge = |model: &Model, sim: &Sim<'_>, word: &str| {
            if model.is_solvable() {
                word == "completed" || sim.was_held_back()
            } else {
                word == "exhausted"
            }
        };
        each_way(seed, 40, Faults::default(), None, &mut seen, judge);
    }
    seen.tells(true);
}
