//! The subjects of trust questions: a state, a plan or a worker, why they are asked about, and what allowing them records.

use std::path::Path;

use descent_core::{
    id::{Digest, Lineage},
    trust::TrustList,
};

use super::authorship::{self, of_layer};
use crate::{
    plan_file,
    trust::{Fact, RecordState, Records},
};
use descent_agent::config::Config;
use descent_store::{LoadedState, Store};
use descent_system::{
    failure::{Failure, quoted},
    files::private,
    phrase,
};

/// The reason to ask about a state of one's own.
const CHANGED_MEANWHILE: &str = "it was changed while attempts ran that can write it";

#[derive(Debug)]
pub struct TrustQuestion {
    pub kind: &'static str,
    /// Its name within a sentence.
    pub name: String,
    /// The title above the commands.
    pub title: String,
    /// Everything that is shown, and over which the digest is taken.
    pub carried: TrustList,
    /// Why it may not run; empty if nothing speaks against it.
    pub doubts: Vec<String>,
    /// Whether the state itself is in doubt, and with it its sidecars.
    pub(super) doubts_state: bool,
    /// The facts that allowing it records.
    pub(super) facts: Vec<Fact>,
    /// A fact that is recorded unasked: this account wrote it.
    pub(super) unasked: Option<Fact>,
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
        let (state, place) = (&loaded.state, store.place());
        let (lineage, carried) = (state.lineage.clone(), loaded.carried().clone());
        let (here, as_it_is) = (Fact::Lineage(lineage.clone()), Fact::Content(carried.digest()));
        let by_attempt = Fact::ByAttempt(carried.digest());
        let owner = store.hand().and_then(private::another).map(|why| format!("the file {why}"));
        let anothers = owner.or_else(|| committed.map(str::to_owned));
        let goal = phrase::visible(&phrase::line(&state.objective.goal));
        let worker = config.map(|config| of_layer(&config.project)).unwrap_or_default();
        let mut question = Self {
            lineage: Some(lineage.clone()),
            is_anothers: anothers.is_some(),
            title: format!("the state {}, with the goal `{goal}`", place.state.display()),
            ..Self::new("state", "this state", "descent trust", carried)
        };
        question.next = "descent run";
        question.facts = vec![here.clone(), as_it_is.clone()];
        let unknown = question.need(records, &here, "it was not made on this machine");
        question.doubts_state = unknown;
        // All further doubts would follow from that one.
        if !unknown {
            question.doubts_state =
                anothers.is_some_and(|why| question.need(records, &as_it_is, &why));
            if records.holds(&by_attempt) != RecordState::No {
                question.need(records, &as_it_is, CHANGED_MEANWHILE);
            }
        }
        match authorship::config_doubt(&place.project, &worker, Some(&lineage), records) {
            Some(why) if !unknown => question.needs_worker(records, &worker, &why),
            Some(_) => {}
            None => question.unasked = in_lineage(&lineage, &worker),
        }
        question.carries(worker);
        // The person's own file is shown, and asks nothing.
        let own = config.map(|config| of_layer(&config.own)).unwrap_or_default();
        question.carried = question.carried.and(own);
        question
    }

    /// `is_found`: it is the state file, which nobody named.
    pub(super) fn of_plan(path: &Path, plan: TrustList, worker: TrustList, is_found: bool) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let shown = quoted(phrase::visible(&path.to_string_lossy()));
        let fact = Fact::Content(plan.digest());
        let mut question = Self {
            title: format!("the plan {}", phrase::visible(&name)),
            ..Self::new("plan", &name, &format!("descent trust --plan {shown}"), plan)
        };
        question.next = "descent align --plan, as before";
        if is_found {
            (question.name, question.title) =
                ("this state".to_owned(), format!("the state {shown}"));
            (question.command, question.next) = ("descent trust".to_owned(), "descent run");
        }
        question.facts.push(fact);
        question.carries(worker);
        question
    }

    pub(super) fn of_worker(worker: TrustList) -> Self {
        let command = "descent trust --worker";
        let mut question =
            Self::new("worker", "the worker of descent.toml", command, TrustList::default());
        question.carries(worker);
        question
    }

    fn new(kind: &'static str, name: &str, command: &str, carried: TrustList) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            title: name.to_owned(),
            carried,
            doubts: Vec::new(),
            doubts_state: false,
            facts: Vec::new(),
            unasked: None,
            command: command.to_owned(),
            next: "descent align",
            lineage: None,
            is_anothers: false,
        }
    }

    /// Adds a worker to what is shown and allowed.
    fn carries(&mut self, worker: TrustList) {
        if !worker.is_empty() {
            self.facts.push(Fact::Content(worker.digest()));
            self.carried = std::mem::take(&mut self.carried).and(worker);
        }
    }

    pub(super) fn needs_worker(&mut self, records: &Records, worker: &TrustList, why: &str) {
        self.need(records, &Fact::Content(worker.digest()), &format!("descent.toml {why}"));
    }

    /// Adds a doubt unless the fact that ends it is recorded.
    pub(super) fn need(&mut self, records: &Records, fact: &Fact, why: &str) -> bool {
        let not_believed = match records.holds(fact) {
            RecordState::Yes => return false,
            RecordState::No => None,
            RecordState::NotBelieved(not) => Some(not),
        };
        for line in [Some(why.to_owned()), not_believed].into_iter().flatten() {
            if !self.doubts.contains(&line) {
                self.doubts.push(line);
            }
        }
        true
    }

    /// The hint if nobody can answer.
    pub fn by_hash(&self, hash: &Digest) -> String {
        format!("{} --hash {hash}", self.command)
    }
}

/// The fact that a configuration was met in a lineage, if it starts anything.
pub(super) fn in_lineage(lineage: &Lineage, worker: &TrustList) -> Option<Fact> {
    (!worker.is_empty()).then(|| Fact::InLineage(lineage.clone(), worker.digest()))
}

/// The commands that a plan itself can run: flags of `align` that are laid over it are the person's own.
pub(super) fn read_plan(dir: &Path, path: &Path) -> Result<TrustList, Failure> {
    let file = plan_file::read(dir, path)?;
    let plan = file.plan_or_atoms();
    file.refuse(&plan.faults)?;
    Ok(TrustList::of_plan(&plan.objective, &plan.atoms))
}
