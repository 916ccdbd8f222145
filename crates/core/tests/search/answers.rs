//! A model of the host: attempts, merges, rebuilds, measurements.

use descent_core::state::limits::REPAIRS_MAX;
use std::collections::{BTreeMap, BTreeSet};

use descent_core::{
    desired::{self, Work, WorkKey},
    doc,
    event::{AgentEnd, ConsultAnswer, ConsultEnd, Input, Merge, Outcome, Scope},
    id::{AtomId, AttemptId, CommitId, Digest, TreeId},
    measure,
    state::{Consult, Intent, Question, ResultCommit},
    verdict::{Basis, CommandEnd, Measurement, MeasurementKind},
    world::World,
};

use super::{
    model::Kind,
    planners::{INSTEAD, MEND},
    random::ROOMY,
    sim::{Piece, Sim, outcome},
};

impl Sim<'_> {
    pub(crate) fn answer(&mut self, key: &WorkKey, effect: Work) -> Input {
        match effect {
            Work::Attempt(intent) => self.attempt(&intent),
            Work::Merge { intent, onto, .. } => self.merge(&intent, onto),
            Work::Rebuild { start, from, stays, keep } => self.rebuild(start, &from, stays, keep),
            Work::Stage { speculation, start, wanted, from, keep } => {
                let stays = wanted[..wanted.len() - keep.len()].to_vec();
                let (head, _, dropped) = self.build(&from, stays, keep);
                Input::Staged { speculation, start, wanted, head, dropped }
            }
            Work::Consult(consult) if consult.question != Question::Plan => {
                self.refinement(&consult)
            }
            Work::Consult(consult) => self.opinion(&consult),
            Work::Learn(commit) => Input::Learned { tree: self.tree_of(commit.as_str()), commit },
            Work::Judge { scope, basis, commit, onto, check } => {
                if let Scope::Atom(attempt) = &scope
                    && self.rng.percent(self.faults.broken)
                {
                    return Input::Tried {
                        attempt: attempt.clone(),
                        onto,
                        merge: Merge::Broken("no checkout".to_owned()),
                    };
                }
                let pieces = match &commit {
                    Some(commit) => self.commits[commit.as_str()].clone(),
                    None if self.is_shared() => self.in_place(&scope),
                    None => panic!("a commit to check out for {key:?}"),
                };
                let (mut session, mut seen) = (self.session.clone(), Vec::new());
                while let Some(leaf) = desired::next_leaf(&session, &self.world, &check, &basis) {
                    let leaf_key = leaf.key();
                    if seen.iter().any(|(known, _)| *known == leaf_key) {
                        break;
                    }
                    let mut measurement = self.measure_leaf(&scope, &pieces, &leaf_key);
                    if scope == Scope::BaseCase && matches!(basis, Basis::Warm(_)) {
                        self.leave_over(&mut measurement);
                    }
                    session.evidence.record(leaf, &basis, measurement.clone());
                    seen.push((leaf_key, measurement));
                }
                Input::Judged { scope, basis, seen }
            }
        }
    }

    /// A judging agent that says anything about a plan.
    fn opinion(&mut self, consult: &Consult) -> Input {
        let atoms: Vec<String> =
            self.world.state.all_atoms().keys().map(ToString::to_string).collect();
        let at = &atoms[self.rng.below(atoms.len())];
        let severity = ["high", "medium", "low"][self.rng.below(3)];
        let issue = format!(
            r#"{{"type": "relevance", "severity": "{severity}", "location": "{at}", "description": "d", "proposed_repair": "r"}}"#
        );
        let issues = [String::new(), issue.clone(), issue.replace(at, "nowhere")];
        let answer = match self.rng.below(10) {
            0 => ConsultAnswer::Faulty("prose".to_owned()),
            1 | 2 => ConsultAnswer::Silent("nobody is there".to_owned()),
            3 => ConsultAnswer::Ended(AgentEnd::Limited { until: None }),
            9 => ConsultAnswer::Ended(AgentEnd::Down("500".to_owned())),
            n => {
                let text = format!(r#"{{"issues": [{}]}}"#, issues[n % 3]);
                let parsed = doc::parse(&text, &doc::Limits::default());
                ConsultAnswer::Value(parsed.node.expect("JSON"))
            }
        };
        consulted(consult, answer)
    }

    /// Leftovers in a used checkout may turn a verdict round.
    fn leave_over(&mut self, measurement: &mut Measurement) {
        if let MeasurementKind::Command { how, .. } = &mut measurement.what
            && self.rng.percent(self.faults.left_over)
        {
            *how = match how {
                CommandEnd::Exit(0) => CommandEnd::Exit(1),
                _ => CommandEnd::Exit(0),
            };
        }
    }

    /// The content of the one working directory, if nothing is isolated.
    fn in_place(&self, scope: &Scope) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for id in self.world.state.all_atoms().into_keys() {
            let Some(known) = self.known(id) else {
                continue;
            };
            let node = &self.model.nodes[known];
            let x = self.world.graph.ix(id).expect("an atom of the graph");
            if self.world.solved()[x] && node.kind == Kind::Task && !node.is_silent {
                pieces.push(Piece { atom: id.to_string(), content: String::new(), is_good: true });
            }
        }
        if let Scope::Atom(id) = scope {
            let intent = self
                .world
                .state
                .run
                .in_flight
                .iter()
                .find(|intent| intent.id == *id)
                .expect("in flight");
            let is_good = self.succeeds(intent);
            pieces.push(Piece { atom: intent.atom.to_string(), content: String::new(), is_good });
        }
        pieces
    }

    fn measure_leaf(&mut self, scope: &Scope, pieces: &[Piece], leaf: &Digest) -> Measurement {
        let holds = match scope {
            Scope::BaseCase => {
                let name = |piece: &Piece| self.name(&AtomId::new(piece.atom.as_str()));
                let atoms: BTreeSet<String> = pieces.iter().map(name).collect();
                let enough = &self.model.enough;
                let is_enough = match enough.is_empty() {
                    true if atoms.contains(MEND) => true,
                    true => self.good_trees.contains(&atoms),
                    false => enough
                        .iter()
                        .all(|x| atoms.contains(&self.model.nodes[*x].id) || atoms.contains(MEND)),
                };
                pieces.iter().all(|piece| piece.is_good) && is_enough
            }
            Scope::Atom(id) => {
                let atom = atom_of(&self.world, id);
                if self.known(&AtomId::new(atom.as_str())).is_none() {
                    // A closing atom: what it keeps the checks of was done another way.
                    let mut done = pieces.iter().map(|piece| self.proposed_of(piece));
                    return self.command(i32::from(!done.any(|name| name.starts_with(INSTEAD))));
                }
                pieces.iter().any(|piece| piece.atom == atom && piece.is_good)
            }
        };
        let is_new = self.asked.insert((leaf.to_string(), format!("{pieces:?}")));
        let code =
            if is_new && self.rng.percent(self.faults.unknown) { 127 } else { i32::from(!holds) };
        self.command(code)
    }

    fn command(&self, code: i32) -> Measurement {
        let what =
            MeasurementKind::Command { how: CommandEnd::Exit(code), matched: None, number: None };
        Measurement {
            what,
            duration_ms: 0,
            excerpt: "more than a line\nof evidence\n".into(),
            whole: None,
        }
    }

    fn attempt(&mut self, intent: &Intent) -> Input {
        let Some(x) = self.known(&intent.atom) else {
            return self.unknown(intent);
        };
        let node = &self.model.nodes[x];
        if let Some(chance) = self.chance.as_ref().filter(|_| node.kind == Kind::Task) {
            let outcome = chance.attempt(&node.id, intent);
            return ended(intent, outcome);
        }
        let outcome = if self.rng.percent(self.faults.transient) {
            outcome(75)
        } else if node.kind == Kind::Plan {
            self.planned(x, intent)
        } else {
            self.acted(intent, node.has_check)
        };
        ended(intent, outcome)
    }

    /// The end of an action or of a worker's task.
    fn acted(&mut self, intent: &Intent, has_check: bool) -> Outcome {
        let state = &self.world.state;
        let task = state.atom(&intent.atom).and_then(|atom| atom.task()).expect("a task");
        let is_warm =
            measure::has_cold_try(state, task) && !measure::decides_alone(state, task, intent.n);
        let is_stale = is_warm && self.rng.percent(self.faults.stale);
        let fails = !has_check && (is_stale || !self.succeeds(intent));
        Outcome { is_warm, ..outcome(i32::from(fails)) }
    }

    /// The fragment that a planner prints in this round; beyond its rounds, the one that it printed before.
    fn planned(&mut self, x: usize, intent: &Intent) -> Outcome {
        let atom = self.world.state.atom(&intent.atom).expect("an atom");
        let plan = atom.plan().expect("a planning step");
        let round = plan.made_in(&intent.context).count();
        let kids = &self.model.nodes[x].kids;
        let fragment = kids[round.min(kids.len() - 1)];
        let node = &self.model.nodes[fragment];
        let is_due = intent.n > node.fails_before;
        let stdout = match (is_due, node.fails_by_faults) {
            (true, _) if self.model.plans_for_ever => {
                let words = r#""description": "do "#;
                let other = format!(r#""description": "round {round}: do "#);
                self.model.fragment(fragment).replace(words, &other)
            }
            (true, _) => self.model.fragment(fragment),
            (false, true) => r#"{"atoms": {"a": {"depends_on": ["nowhere"]}}}"#.to_owned(),
            (false, false) => return outcome(1),
        };
        Outcome { stdout: Some(stdout), ..outcome(0) }
    }

    /// The node for an atom; none where a change of the plan brought it.
    pub(crate) fn known(&self, id: &AtomId) -> Option<usize> {
        if self.is_new(id) {
            return None;
        }
        Some(self.model.ix(&self.proposed(id)))
    }

    fn succeeds(&self, intent: &Intent) -> bool {
        let Some(x) = self.known(&intent.atom) else {
            return self.is_good(&intent.atom);
        };
        if let Some(chance) = &self.chance {
            return chance.succeeds(&self.model.nodes[x].id, intent);
        }
        let pair = |(group, choice): (&AtomId, &AtomId)| {
            let (group, choice) = (self.known(group)?, self.known(choice)?);
            match self.model.nodes[group].kind {
                Kind::Plan => Some((group, self.model.nodes[choice].parent.expect("a fragment"))),
                _ => Some((group, choice)),
            }
        };
        let choices: BTreeMap<usize, usize> = intent.choices.iter().filter_map(pair).collect();
        let n = intent.n.min(self.model.max_attempts);
        self.model.succeeds(x, n, |group| choices.get(&group).copied())
    }

    fn merge(&mut self, intent: &Intent, onto: Option<CommitId>) -> Input {
        let is_silent = match self.known(&intent.atom) {
            Some(x) => self.model.nodes[x].is_silent,
            None => self.changes_nothing(&intent.atom),
        };
        let Some(base) = onto.clone() else {
            assert!(self.is_shared());
            return Input::Tried {
                attempt: intent.id.clone(),
                onto,
                merge: Merge::Unchanged { tree: None },
            };
        };
        let merge = if is_silent {
            Merge::Unchanged { tree: Some(self.tree_of(base.as_str())) }
        } else if self.rng.percent(self.faults.conflict) && self.may_break(&intent.atom) {
            Merge::Conflict(vec!["file".to_owned()])
        } else {
            let is_good = self.succeeds(intent);
            let content = format!("{} {}", intent.context, if is_good { 0 } else { intent.n });
            let piece = Piece { atom: intent.atom.to_string(), content, is_good };
            let commit = self.put(base.as_str(), piece.clone());
            Merge::Clean {
                tree: self.tree_of(commit.as_str()),
                commit,
                change: Digest::sha256(format!("{piece:?}").as_bytes()),
                files: vec![intent.atom.to_string()],
                protected: Vec::new(),
            }
        };
        Input::Tried { attempt: intent.id.clone(), onto, merge }
    }

    fn put(&mut self, onto: &str, piece: Piece) -> CommitId {
        let mut pieces = self.commits[onto].clone();
        assert!(
            pieces.iter().all(|known| known.atom != piece.atom),
            "{} stands in the tree twice",
            piece.atom
        );
        let name = Digest::sha256(format!("{onto} {piece:?}").as_bytes()).to_string();
        pieces.push(piece);
        let root = self.roots[onto].clone();
        self.roots.insert(name.clone(), root);
        self.commits.insert(name.clone(), pieces);
        CommitId::new(name)
    }

    fn rebuild(
        &mut self,
        start: CommitId,
        from: &CommitId,
        stays: Vec<ResultCommit>,
        keep: Vec<ResultCommit>,
    ) -> Input {
        let (head, line, dropped) = self.build(from, stays, keep);
        Input::Built { start, head, line, dropped }
    }

    fn build(
        &mut self,
        from: &CommitId,
        stays: Vec<ResultCommit>,
        keep: Vec<ResultCommit>,
    ) -> (CommitId, Vec<ResultCommit>, Vec<AtomId>) {
        assert_eq!(
            self.commits[from.as_str()].len(),
            stays.len(),
            "what stays is what stands there"
        );
        let (mut line, mut dropped, mut head) = (stays, Vec::new(), from.clone());
        for placed in keep {
            if self.rng.percent(self.faults.dropped) && self.may_break(&placed.atom) {
                dropped.push(placed.atom);
                continue;
            }
            let piece = self.commits[placed.commit.as_str()].last().cloned().expect("a change");
            assert_eq!(piece.atom, placed.atom.as_str());
            head = self.put(head.as_str(), piece);
            line.push(ResultCommit::new(placed.atom, head.clone()));
        }
        (head, line, dropped)
    }

    /// In a roomy model nothing breaks an atom that has few repairs left.
    fn may_break(&self, atom: &AtomId) -> bool {
        let is_roomy = self.model.constraints.starts_with(ROOMY);
        let task = self.world.state.atom(atom).and_then(|atom| atom.task());
        let most = task.and_then(|task| task.tries.iter().map(|tried| tried.repairs).max());
        !is_roomy || most.unwrap_or_default() + 1 < REPAIRS_MAX
    }

    pub(crate) fn tree_of(&self, commit: &str) -> TreeId {
        let pieces: BTreeSet<&Piece> = self.commits[commit].iter().collect();
        let root = &self.roots[commit];
        TreeId::new(Digest::sha256(format!("{root} {pieces:?}").as_bytes()).to_string())
    }
}

fn ended(intent: &Intent, outcome: Outcome) -> Input {
    Input::Ended { attempt: intent.id.clone(), epoch: intent.epoch, outcome: Box::new(outcome) }
}

fn atom_of(world: &World, attempt: &AttemptId) -> String {
    let intent = world.state.run.in_flight.iter().find(|intent| intent.id == *attempt);
    intent.expect("it is in flight").atom.to_string()
}

/// The end of a question with that answer.
pub(crate) fn consulted(consult: &Consult, answer: ConsultAnswer) -> Input {
    Input::Consulted {
        consult: consult.id.clone(),
        end: Box::new(ConsultEnd {
            answer,
            usage: Default::default(),
            duration_ms: 1,
            facts: Default::default(),
            shell_faults: Vec::new(),
        }),
    }
}
