//! Derives the desired work from the state. The host starts desired work that does not run, and
//! ends running work that is not desired. Start, resume, stop and backtrack are this one
//! difference.

use crate::doc::prelude::*;
use crate::{
    event::{Merge, Outcome, Product, Scope},
    id::{AtomId, AttemptId, CommitId, ConsultId, Epoch},
    state::{Check, Consult, Intent, ResultCommit, RunStatus},
    verdict::{Basis, CheckProgress, Verdict},
    wording,
    world::{
        AttemptProgress, Session, World, results,
        speculation::{self, BaseProgress},
    },
};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkKey {
    Attempt(AttemptId, Epoch),
    Merge(AttemptId, Option<CommitId>),
    /// The start, and the commits that shall stand on it.
    Rebuild(CommitId, Vec<(AtomId, CommitId)>),
    Stage((AtomId, AtomId), CommitId, Vec<(AtomId, CommitId)>),
    Judge(Scope, Basis),
    Learn(CommitId),
    Consult(ConsultId),
}

#[derive(Debug, Clone)]
pub enum Work {
    /// Make this attempt.
    Attempt(Intent),
    /// Merge its result onto the head; move nothing.
    Merge { intent: Intent, made: Option<Product>, onto: Option<CommitId> },
    /// Make the tree of the kept results: `keep` in order on `from`.
    Rebuild { start: CommitId, from: CommitId, stays: Vec<ResultCommit>, keep: Vec<ResultCommit> },
    /// Make the tree of a speculative selection: `keep` in order on `from` is `wanted`.
    Stage {
        speculation: (AtomId, AtomId),
        start: CommitId,
        wanted: Vec<ResultCommit>,
        from: CommitId,
        keep: Vec<ResultCommit>,
    },
    /// Measure the leaves of this check until it is decided, on this commit.
    Judge {
        scope: Scope,
        basis: Basis,
        commit: Option<CommitId>,
        /// The head that a candidate was made on; for the base case, the head.
        onto: Option<CommitId>,
        check: Check,
    },
    /// Look up the tree of this commit.
    Learn(CommitId),
    /// Ask a judging role.
    Consult(Consult),
}

/// All desired work, and the latest time of the next look.
#[derive(Debug, Default)]
pub struct DesiredWork {
    pub effects: Vec<(WorkKey, Work)>,
    pub wake_in_ms: Option<u64>,
    /// The run has ended.
    pub is_over: bool,
}

impl DesiredWork {
    fn learn(&mut self, commit: &CommitId) {
        let key = WorkKey::Learn(commit.clone());
        self.effects.push((key, Work::Learn(commit.clone())));
    }
}

/// `passed_ms` is the active time since the last observation.
pub fn desired_work(world: &World, session: &Session, passed_ms: u64) -> DesiredWork {
    let now_ms = session.active_ms.saturating_add(passed_ms);
    let mut desired =
        DesiredWork { is_over: !world.state.run.status.is_active(), ..DesiredWork::default() };
    if world.state.run.status != RunStatus::Running {
        return desired;
    }
    learn(world, session, &mut desired);
    rebuild(world, &mut desired);
    stage(world, session, &mut desired);
    attempts(world, session, now_ms, &mut desired);
    base_case(world, session, &mut desired);
    consult(world.state.run.consult.as_ref(), &mut desired);
    wake(world, session, now_ms, &mut desired);
    desired
}

/// The work of a loop whose run has ended and is delivered: the question for the wording of the final answer.
pub fn after_the_end(world: &World) -> DesiredWork {
    let mut desired = DesiredWork::default();
    consult(wording::asked(&world.state), &mut desired);
    desired.is_over = desired.effects.is_empty();
    desired
}

fn learn(world: &World, session: &Session, desired: &mut DesiredWork) {
    let run = &world.state.run;
    let Some(head) = &run.head else { return };
    let is_start = run.started_from.as_ref().is_some_and(|start| start.commit == *head);
    if !is_start && !session.trees.contains_key(head) {
        desired.learn(head);
    }
}

fn attempts(world: &World, session: &Session, now_ms: u64, desired: &mut DesiredWork) {
    let landing_context = world.landing_context(session);
    let next = speculation::next_to_land(&landing_context).map(|intent| &intent.id);
    let (in_force, speculative) = speculation::by_force(&landing_context);
    for intent in in_force.into_iter().chain(speculative) {
        let Some(progress) = session.progress.get(&intent.id) else {
            let key = WorkKey::Attempt(intent.id.clone(), intent.epoch);
            desired.effects.push((key, Work::Attempt(intent.clone())));
            continue;
        };
        let head = landing_context.landing(intent);
        let Some(head) = head.filter(|_| next == Some(&intent.id)) else {
            continue;
        };
        let seen = speculation::of_candidate(&landing_context, intent);
        match (progress, seen) {
            (AttemptProgress::Merged { merge, onto, outcome }, Some((basis, seen))) => {
                let has_held = seen == CheckProgress::Decided(Verdict::Pass);
                let on_base = || speculation::on_base(&world.state, session, intent, outcome);
                let until_ms = session.checks_wait_until_ms.get(&intent.id);
                match has_held.then(on_base).flatten() {
                    Some(BaseProgress::Learn(base)) => desired.learn(&base),
                    _ if until_ms.is_some_and(|until_ms| *until_ms > now_ms) => {}
                    Some(BaseProgress::Measure(basis, base)) => {
                        judge_attempt(world, intent, Some(base), onto, basis, desired);
                    }
                    Some(BaseProgress::Holds) | None => {
                        let commit = match &**merge {
                            Merge::Clean { commit, .. } => Some(commit.clone()),
                            _ => onto.clone(),
                        };
                        judge_attempt(world, intent, commit, onto, basis, desired);
                    }
                }
            }
            (AttemptProgress::Merged { onto, .. }, None) if *onto == head => {}
            (AttemptProgress::Finished(outcome) | AttemptProgress::Merged { outcome, .. }, _) => {
                merge(intent, outcome, &head, desired);
            }
        }
    }
}

fn merge(intent: &Intent, outcome: &Outcome, head: &Option<CommitId>, desired: &mut DesiredWork) {
    let key = WorkKey::Merge(intent.id.clone(), head.clone());
    desired.effects.push((
        key,
        Work::Merge { intent: intent.clone(), made: outcome.made.clone(), onto: head.clone() },
    ));
}

fn judge_attempt(
    world: &World,
    intent: &Intent,
    commit: Option<CommitId>,
    onto: &Option<CommitId>,
    basis: Basis,
    desired: &mut DesiredWork,
) {
    let task = world.state.atoms.get(&intent.atom).and_then(|atom| atom.task());
    let Some(check) = task.and_then(|task| task.spec.checks.clone()) else {
        return;
    };
    let scope = Scope::Atom(intent.id.clone());
    desired.effects.push((
        WorkKey::Judge(scope.clone(), basis.clone()),
        Work::Judge { scope, basis, commit, onto: onto.clone(), check },
    ));
}

fn rebuild(world: &World, desired: &mut DesiredWork) {
    if world.is_line_settled {
        return;
    }
    let wanted = world.line_wanted();
    let start = world.state.run.started_from.as_ref();
    let split = start.zip(results::split_line(&world.state, &wanted));
    if let Some((start, (from, stays, keep))) = split {
        let start = start.commit.clone();
        desired.effects.push((
            WorkKey::Rebuild(start.clone(), names(&wanted)),
            Work::Rebuild { start, from, stays: stays.to_vec(), keep: keep.to_vec() },
        ));
    }
}

fn names(line: &[ResultCommit]) -> Vec<(AtomId, CommitId)> {
    let pairs = line.iter();
    pairs.map(|placed| (placed.atom.clone(), placed.commit.clone())).collect()
}

/// Trees for speculative work to begin on.
fn stage(world: &World, session: &Session, desired: &mut DesiredWork) {
    let landing_context = world.landing_context(session);
    let Some(start) = &world.state.run.started_from else {
        return;
    };
    if !landing_context.is_line_settled {
        return;
    }
    let start = &start.commit;
    let wanted = landing_context.speculations.iter();
    for speculation in wanted.filter(|speculation| speculation.wants_staging(&landing_context)) {
        let Some((from, _, keep)) = results::split_line(&world.state, &speculation.line) else {
            continue;
        };
        let name = speculation.name(&world.graph);
        desired.effects.push((
            WorkKey::Stage(name.clone(), start.clone(), names(&speculation.line)),
            Work::Stage {
                speculation: name,
                start: start.clone(),
                wanted: speculation.line.clone(),
                from,
                keep: keep.to_vec(),
            },
        ));
    }
}

fn base_case(world: &World, session: &Session, desired: &mut DesiredWork) {
    let (Some(basis), Some(check)) = (&session.base_target, &world.state.objective.base_case)
    else {
        return;
    };
    if next_leaf(session, world, check, basis).is_none() {
        // A judge rates the rest.
        return;
    }
    let effect = Work::Judge {
        scope: Scope::BaseCase,
        basis: basis.clone(),
        commit: commit_of(world, session, basis),
        onto: world.state.run.head.clone(),
        check: check.clone(),
    };
    desired.effects.push((WorkKey::Judge(Scope::BaseCase, basis.clone()), effect));
}

fn consult(asked: Option<&Consult>, desired: &mut DesiredWork) {
    if let Some(consult) = asked {
        let key = WorkKey::Consult(consult.id.clone());
        desired.effects.push((key, Work::Consult(consult.clone())));
    }
}

/// The commit to check out for a basis: the head if it has that tree, else any known one.
fn commit_of(world: &World, session: &Session, basis: &Basis) -> Option<CommitId> {
    let tree = basis.tree()?;
    let run = &world.state.run;
    let start =
        run.started_from.as_ref().filter(|start| start.tree == *tree).map(|start| &start.commit);
    let head = run.head.as_ref().filter(|head| session.trees.get(*head) == Some(tree));
    let any = session.trees.iter().find(|(_, known)| *known == tree).map(|(commit, _)| commit);
    let judged = run.verdicts.iter().chain(&session.verdicts);
    let mut judged = judged.filter(|verdict| verdict.tree == *tree);
    head.or(start).or(any).or_else(|| judged.next().map(|verdict| &verdict.commit)).cloned()
}

fn wake(world: &World, session: &Session, now_ms: u64, desired: &mut DesiredWork) {
    let waits = session
        .waits_until_ms
        .values()
        .chain(session.checks_wait_until_ms.values())
        .chain(session.provider_waits.values().map(|wait| &wait.until_ms))
        .chain(session.base_again_at_ms.iter())
        .chain(session.silent.values().map(|wait| &wait.again_at_ms));
    let later = waits.filter_map(|at_ms| at_ms.checked_sub(now_ms));
    let later = later.filter(|in_ms| *in_ms > 0);
    let spent_ms = world.state.run.spent.active.ms + session.unwritten_ms;
    let budget = world.state.objective.constraints.budget.time.as_ref();
    let of_run = budget.map(|budget| budget.ms.saturating_sub(spent_ms));
    let of_phase = world.phase_over_in_ms(spent_ms);
    // A budget that is over was handled already.
    let budgets = of_run.into_iter().chain(of_phase);
    let mut wake_in_ms = later.chain(budgets.filter(|left_ms| *left_ms > 0)).min();
    if session.has_more {
        wake_in_ms = Some(0);
    }
    desired.wake_in_ms = wake_in_ms;
}

/// The next leaf to measure of a check under evaluation, by the known evidence and the newest
/// measurements.
pub fn next_leaf<'c>(
    session: &Session,
    world: &World,
    check: &'c Check,
    basis: &Basis,
) -> Option<&'c Check> {
    session.evaluator(&world.state, basis).next_leaf(check)
}
