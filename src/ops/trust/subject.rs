//! The subjects of trust questions: a state, a plan or a worker, with the consequences of allowing it.

use std::path::Path;

use descent_core::{
    id::{Digest, Lineage},
    trust::{Hand, Origin, TrustList, is_another_hand},
};

use super::{BY_ATTEMPT, by_attempt, configured, origin};
use crate::{
    config::{self, Config},
    failure::{Failure, quoted},
    plan_file, render,
    store::{LoadedState, Store},
    trust::{self, Fact, RecordState, Records},
};

/// Why a person is asked about a state of their own.
const CHANGED_MEANWHILE: &str = "it was changed while attempts ran that can write it";

/// Why something may not run; empty if nothing speaks against it.
#[derive(Debug, Default)]
pub struct Doubts {
    pub lines: Vec<String>,
    /// Whether the state itself is another's, and with it its sidecars.
    pub is_of_state: bool,
}

impl Doubts {
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn add(&mut self, why: &str) {
        if !self.lines.iter().any(|line| line == why) {
            self.lines.push(why.to_owned());
        }
    }
}

#[derive(Debug)]
pub struct TrustQuestion {
    pub kind: &'static str,
    /// Its name within a sentence.
    pub name: String,
    /// The title above the commands.
    pub title: String,
    /// Everything that is shown, and over which the digest is taken.
    pub carried: TrustList,
    /// The facts that allowing it records.
    pub(super) facts: Vec<Fact>,
    /// The facts that must be recorded before it may run, with the words for a missing one.
    needs: Vec<(Fact, String)>,
    /// The command that shows it and asks.
    pub command: String,
    /// The command to type when it is allowed.
    pub next: &'static str,
    pub lineage: Option<Lineage>,
    /// Whether it is a state whose file is another's as it stands, allowed or not.
    pub(super) is_anothers: bool,
}

impl TrustQuestion {
    /// `config` is given if the worker would be started too; `committed` is the reason why git says that the file is
    /// another's.
    pub(super) fn of_state(
        store: &Store,
        loaded: &LoadedState,
        config: Option<&Config>,
        committed: Option<&str>,
        records: &Records,
    ) -> Self {
        let state = &loaded.state;
        let (lineage, path) = (state.lineage.clone(), store.place().state.display());
        let (carried, worker) = (loaded.carried().clone(), configured::of_project(config));
        let here = Fact::Lineage(lineage.clone());
        let as_it_is = Fact::State(lineage.clone(), carried.digest());
        let mut facts = vec![here.clone(), as_it_is.clone()];
        let mut needs = vec![(here, "it was not made on this machine".to_owned())];
        let owner = another(store.hand());
        let owner = owner.map(|uid| format!("the file belongs to another account ({uid})"));
        let why = owner.or_else(|| committed.map(str::to_owned));
        let is_anothers = why.is_some();
        needs.extend(why.map(|why| (as_it_is, why)));
        let whole = carried.digest();
        if records.holds(&Fact::ByAttempt(whole.clone())) != RecordState::No {
            let allowed = Fact::Content(whole);
            facts.push(allowed.clone());
            needs.push((allowed, CHANGED_MEANWHILE.to_owned()));
        }
        if let Some(worker) = &worker {
            let fact = Fact::Worker(lineage.clone(), worker.digest());
            facts.push(fact.clone());
            // A person's own file asks nothing, however new it is.
            let file = store.place().project.join(config::FILE_NAME);
            if let Origin::Another(whose) = origin::origin_of(&store.place().project, &file) {
                let why = format!("descent.toml {whose}, and what it starts was not agreed on");
                needs.push((fact, why));
            }
            // Agreed on as it stands, wherever: a lineage that was made with it earlier says nothing of this text.
            let as_it_is = Fact::Content(worker.digest());
            if by_attempt::has_written(&store.place().project, worker, records) {
                facts.push(as_it_is.clone());
                needs.push((as_it_is, format!("descent.toml {BY_ATTEMPT}")));
            }
        }
        let goal = render::visible(&render::line(&state.objective.goal));
        Self {
            kind: "state",
            name: "this state".to_owned(),
            title: format!("the state {path}, with the goal `{goal}`"),
            carried: carried.and(worker.unwrap_or_default()).and(configured::of_person(config)),
            facts,
            needs,
            command: "descent trust".to_owned(),
            next: "descent run",
            lineage: Some(lineage),
            is_anothers,
        }
    }

    pub(super) fn of_plan(path: &Path, plan: TrustList, worker: Option<TrustList>) -> Self {
        let name = plan_name(path);
        let why = "it may not be yours".to_owned();
        let mut needs = vec![(Fact::Content(plan.digest()), why.clone())];
        if let Some(worker) = &worker {
            needs.push((Fact::Content(worker.digest()), why));
        }
        Self {
            kind: "plan",
            title: format!("the plan {}", render::visible(&name)),
            facts: needs.iter().map(|(fact, _)| fact.clone()).collect(),
            needs,
            carried: plan.and(worker.unwrap_or_default()),
            command: format!(
                "descent trust --plan {}",
                quoted(render::visible(&path.to_string_lossy()))
            ),
            name,
            next: "descent align --plan, as before",
            lineage: None,
            is_anothers: false,
        }
    }

    pub(super) fn of_worker(worker: TrustList) -> Self {
        let fact = Fact::Content(worker.digest());
        Self {
            kind: "worker",
            name: "the worker of descent.toml".to_owned(),
            title: "the worker of descent.toml".to_owned(),
            facts: vec![fact.clone()],
            needs: vec![(fact, "it may not be yours".to_owned())],
            carried: worker,
            command: "descent trust --worker".to_owned(),
            next: "descent align",
            lineage: None,
            is_anothers: false,
        }
    }

    /// Why it may not run; empty if all the needed facts are recorded.
    pub(super) fn doubts(&self, records: &Records) -> Doubts {
        let mut doubts = Doubts::default();
        for (fact, why) in &self.needs {
            let not_believed = match records.holds(fact) {
                RecordState::Yes => continue,
                RecordState::No => None,
                RecordState::NotBelieved(not) => Some(not),
            };
            doubts.is_of_state |= matches!(fact, Fact::Lineage(_) | Fact::State(..));
            doubts.add(why);
            if let Some(not) = not_believed {
                doubts.add(&not);
            }
            if matches!(fact, Fact::Lineage(_)) {
                // All further doubts follow from this one.
                break;
            }
        }
        doubts
    }

    /// The hint if nobody can answer.
    pub fn by_hash(&self, hash: &Digest) -> String {
        format!("{} --hash {hash}", self.command)
    }
}

fn another(hand: Option<Hand>) -> Option<u32> {
    hand.filter(|hand| is_another_hand(*hand, trust::me())).map(|hand| hand.uid)
}

pub(super) fn plan_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The commands that a plan itself can run: flags of `align` that are laid over it are the person's own.
pub(super) fn read_plan(dir: &Path, path: &Path) -> Result<TrustList, Failure> {
    let file = plan_file::read(dir, path)?;
    let plan = file.plan_or_atoms();
    file.refuse(&plan.faults)?;
    Ok(TrustList::of_plan(&plan.objective, &plan.atoms))
}
