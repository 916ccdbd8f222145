//! The roles of agents, questions to judging ones, and the ratings that judges gave.
//!
//! Invariant: a question is in the state before it is asked, and its answer before anything follows from it. Not here:
//! when one is asked (`step/consult`), its words (`prompt`).

use alloc::{format, string::String};

use super::{
    Usage,
    check::{QualityLeaf, Thousandths},
    fields::Fields,
    table::{record, words},
};
use crate::{
    doc,
    id::{AgentName, AtomId, CommitId, ConsultId, Digest, Epoch},
};

/// Ratings kept at most: the newest.
pub const RATINGS_MAX: usize = 50;

record! {
    /// A question to a judging role: durable before it is asked
    #[derive(PartialEq)]
    pub struct Consult {
        required(plain_name)[program] id: ConsultId,
        required[program] role: Role,
        /// A digest of all that is judged: of anything else the answer is void
        required[program] subject: Digest,
        required[program] agent: AgentName,
        always[program] epoch: Epoch,
        /// How often the same is asked, from 1
        always[program] n: u32 = 1,
        /// The planning step whose plan is judged, or whose results are put in short
        optional[program] atom: AtomId,
        /// The quality leaf that is rated
        optional[program] leaf: Digest,
        /// The tree that is looked at
        optional[program] on: String,
        optional[program] commit: CommitId,
        /// An estimate of what it will use, by earlier ones
        filled[program] reserved: Usage,
        always[program] at: String,
    }
}

record! {
    /// A judge's rating of a quality leaf on one tree
    #[derive(PartialEq)]
    pub struct Rating {
        required[program] leaf: Digest,
        /// The tree that it is of
        required[program] on: String,
        required[program] by: AgentName,
        /// A share of the highest score; absent while no answer could be used
        optional[program] score: Thousandths,
        /// How often it was asked for
        always[program] asked: u32 = 1,
        /// The judge's reason, or why there is no score
        filled[program] because: String,
        /// The pass that it was given in; 0 where that is not known
        filled[program] pass: u64,
        always[program] at: String,
    }
}

impl Consult {
    /// The digest that distinguishes this question from every other, also from one with the same name.
    pub fn digest(&self) -> Digest {
        Digest::of(doc::canonical(&self.node()).as_bytes())
    }

    /// The subject, in words, of a question about the plan as a whole.
    pub fn about_whole_plan(role: Role) -> Option<&'static str> {
        match role {
            Role::Refine => Some("the plan, where nothing is left to try"),
            Role::Validate => Some("what does not fit across the phases"),
            Role::Assess => Some("the pass that came to its end"),
            Role::Profile => Some("the kind of task"),
            Role::Answer => Some("the final answer"),
            _ => None,
        }
    }

    /// The subject, in words, of a question about a planning step.
    pub fn about_step(role: Role, step: &AtomId, title: &str) -> String {
        match role {
            Role::Summarise => format!("the results of {step}: {title}"),
            _ => format!("the plan of {step}: {title}"),
        }
    }

    /// The subject of a quality leaf on a tree, by one agent.
    pub fn subject_of_leaf(leaf: &Digest, on: &str, agent: &AgentName) -> Digest {
        Digest::of(format!("{leaf}\n{on}\n{agent}").as_bytes())
    }
}

impl Rating {
    /// Whether it passes; `None` without a score.
    pub fn passes(&self, leaf: &QualityLeaf) -> Option<bool> {
        self.score.map(|score| leaf.passes(score))
    }

    /// It in words, for evidence.
    pub fn text(&self, leaf: &QualityLeaf) -> String {
        let because =
            if self.because.is_empty() { String::new() } else { format!(": {}", self.because) };
        match self.score {
            Some(score) => {
                let (score, wanted) = (score.text(), leaf.threshold_text());
                format!("rated {score} by {} (wanted {wanted}){because}", self.by)
            }
            None => format!("{} gave no rating{because}", self.by),
        }
    }
}

/// The id of a question: a plain name, since its files lie under it.
fn plain_name(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<ConsultId> {
    let name = fields.attempt(key)?;
    Some(ConsultId::new(name.as_str()))
}

words! {
    /// The kind of answer that an agent is asked for
    pub enum Role {
        /// Does a task
        Worker = "worker",
        /// Plans the atoms of a planning step
        Planner = "planner",
        /// Finds out, before it is tried, whether something can be done
        Probe = "probe",
        /// Judges a result by a rubric
        Judge = "judge",
        /// Proposes an agreement
        Aligner = "aligner",
        /// Says what kind of task a goal is
        Profile = "profile",
        /// Says what is wrong with a plan
        Validate = "validate",
        /// Says how complete and coherent a pass of a run was
        Assess = "assess",
        /// Improves a plan
        Refine = "refine",
        /// Makes the results of a phase shorter
        Summarise = "summarise",
        /// Words the final answer
        Answer = "answer",
    }
}
