//! Every check runs twice: in the working directory, and in a fresh checkout as a run makes it. Where the verdicts
//! differ, what git ignores is the likely cause, and is offered as `link` or `setup`.
//!
//! Invariant: one after the other, never both at once. In the workspace `shared` there is one place, and one look.

use std::{path::Path, sync::Arc, time::Duration};

use descent_core::{
    advice::{self, Advice, LeafFacts},
    id::CommitId,
    state::{Check, Leaf, State},
    verdict::{self, Measurement, Verdict},
    view::VerdictView,
};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        ask::{self, ListAnswer},
        context::Context,
        evaluate,
    },
    proposals, questions,
};
use crate::{
    driver,
    failure::{Failure, quoted},
    process::{self, environment::Environment, programs::RealPrograms},
    store::StatePlace,
    survey::Proposal,
    verify,
    workspace::{Checkout, Stamps, Workspaces},
};

/// Paths offered at most.
const OFFERS_MAX: usize = 8;

/// What is made by tools and seldom what a check needs: offered last.
const CACHES: &[&str] = &[
    "target",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".DS_Store",
    ".idea",
    ".vscode",
    "coverage",
    ".cache",
];

/// One leaf, as it was seen in one place.
type LeafResult = Vec<Option<Measurement>>;

/// The two looks.
#[derive(Debug, Default)]
pub(super) struct CheckoutComparison {
    /// In a fresh checkout (in place, where the workspace is shared): what a run goes by.
    pub(super) fresh: Vec<VerdictView>,
    /// In the working directory; empty where the workspace is shared.
    pub(super) here: Vec<VerdictView>,
    /// Ignored paths that the checkout lacks, and that the working directory lacks.
    pub(super) not_fresh: Vec<String>,
    pub(super) not_here: Vec<String>,
    pub(super) advice: Vec<Advice>,
    /// How long `setup` took in the fresh checkout, and the ignored paths that were there after it.
    pub(super) setup_ms: Option<u64>,
    pub(super) made_by_setup: Vec<String>,
    seen_here: LeafResult,
    changed: Vec<Vec<String>>,
}

/// Where and how checks are measured.
pub(super) struct CheckoutBench<'a> {
    pub(super) context: &'a Context,
    pub(super) top: &'a Path,
    pub(super) place: &'a StatePlace,
    pub(super) start: Option<CommitId>,
    pub(super) cancel: CancellationToken,
}

impl CheckoutComparison {
    pub(super) fn differ(&self) -> bool {
        let pairs = self.here.iter().zip(&self.fresh);
        pairs
            .into_iter()
            .any(|(here, fresh)| here.verdict != fresh.verdict)
    }

    /// Titles of the checks that failed in the fresh checkout.
    pub(super) fn failed(&self) -> Vec<String> {
        let failed = self.fresh.iter().filter(|one| one.verdict == Verdict::Fail);
        failed.map(|one| one.check.clone()).collect()
    }

    /// What the checkout lacks and could be linked, the likely ones first.
    pub(super) fn links(&self) -> Vec<Proposal> {
        let mut paths: Vec<&String> = self.not_fresh.iter().collect();
        paths.sort_by_key(|path| is_cache(path));
        let offer = |path: &String| Proposal {
            text: path.clone(),
            from: "ignored by git".to_owned(),
        };
        paths.into_iter().take(OFFERS_MAX).map(offer).collect()
    }

    /// As flags to add to a command line; what tools leave only where there is nothing else.
    pub(super) fn flags(&self) -> Vec<String> {
        let links = self.links();
        let likely = links.iter().filter(|link| !is_cache(&link.text)).count();
        let count = if likely == 0 { links.len() } else { likely };
        let flag = |link: &Proposal| format!("--link {}", quoted(&link.text));
        links.iter().take(count).map(flag).collect()
    }
}

/// What a tool leaves behind.
fn is_cache(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    CACHES.contains(&name) || name.ends_with(".log") || name.ends_with(".egg-info")
}

impl CheckoutBench<'_> {
    /// Both looks.
    pub(super) async fn look(
        &self,
        state: &State,
        workspaces: &Workspaces,
    ) -> Result<CheckoutComparison, Failure> {
        process::prepare()?;
        let mut looks = CheckoutComparison::default();
        // The checkout of a shared workspace is the working directory.
        if self.start.is_some() {
            (looks.seen_here, looks.changed) = self.measure(state, self.top, workspaces).await?;
            looks.here = judged(state, &looks.seen_here);
        }
        self.look_fresh(state, workspaces, &mut looks).await?;
        Ok(looks)
    }

    /// The look into a fresh checkout, again: what a workspace gets has changed.
    pub(super) async fn look_fresh(
        &self,
        state: &State,
        workspaces: &Workspaces,
        looks: &mut CheckoutComparison,
    ) -> Result<(), Failure> {
        let environment = self.context.environment(state);
        let mark = self.mark();
        let at = driver::prepare_checkout(
            workspaces,
            Checkout::Judging,
            self.start.clone(),
            &environment,
            &RealPrograms,
            &mark,
            &self.cancel,
        );
        let Some(driver::ReadyCheckout { at, setup_ms, .. }) = at.await?.or_fail(workspaces)?
        else {
            return Ok(());
        };
        looks.setup_ms = setup_ms;
        looks.made_by_setup = match setup_ms {
            Some(_) => workspaces.ignored_in(Checkout::Judging)?,
            None => Vec::new(),
        };
        let (seen, changed) = self.measure(state, &at, workspaces).await?;
        if self.start.is_none() {
            looks.changed = changed;
        }
        looks.fresh = judged(state, &seen);
        (looks.not_fresh, looks.not_here) = match looks.differ() {
            true => lacking(workspaces, &at, self.top)?,
            false => Default::default(),
        };
        looks.advice = self.advise(state, workspaces, looks, &seen)?;
        Ok(())
    }

    fn mark(&self) -> String {
        format!("{}/judging", self.place.mark())
    }

    /// Every leaf in one directory, in the order written, with the tracked files of the project that changed.
    async fn measure(
        &self,
        state: &State,
        at: &Path,
        workspaces: &Workspaces,
    ) -> Result<(LeafResult, Vec<Vec<String>>), Failure> {
        let environment: Environment = self.context.environment(state);
        let mark = self.mark();
        let bench = verify::MeasureContext {
            at,
            env: &environment,
            programs: &RealPrograms,
            timeout_default: Duration::from_millis(
                state.objective.constraints.attempt_timeout_ms(),
            ),
            mark: &mark,
            cancel: &self.cancel,
            keep: None,
        };
        let (mut seen, mut changed) = (Vec::new(), Vec::new());
        let is_here = at == self.top;
        let look = || match is_here {
            true => workspaces.stamps(),
            false => Ok(Stamps::default()),
        };
        let mut before = look()?;
        for leaf in leaves(state) {
            let Some(rule) = leaf.leaf().filter(|rule| rule.is_machine()) else {
                seen.push(None);
                changed.push(Vec::new());
                continue;
            };
            let Some(measured) = verify::measure(rule, &bench).await else {
                break;
            };
            seen.push(Some(measured));
            let after = look()?;
            changed.push(after.changed_since(&before));
            before = after;
        }
        Ok((seen, changed))
    }

    fn advise(
        &self,
        state: &State,
        workspaces: &Workspaces,
        looks: &CheckoutComparison,
        fresh: &LeafResult,
    ) -> Result<Vec<Advice>, Failure> {
        let timeout_ms = state.objective.constraints.attempt_timeout_ms();
        let mut found: Vec<Advice> = Vec::new();
        // A command that does not pass today may make a file once the work is done.
        let mut may_be_made = false;
        for (at, leaf) in leaves(state).into_iter().enumerate() {
            let seen = |list: &'_ LeafResult| list.get(at).cloned().flatten();
            let (here, fresh) = (seen(&looks.seen_here), seen(fresh));
            let is_ignored = match leaf.leaf() {
                Some(Leaf::File { path, .. }) => workspaces.is_ignored(path)?,
                _ => false,
            };
            let facts = LeafFacts {
                here: here.as_ref(),
                fresh: fresh.as_ref(),
                timeout_ms,
                is_ignored,
                may_be_made,
                changed: looks.changed.get(at).map_or(&[], Vec::as_slice),
            };
            found.extend(advice::of_leaf(leaf, &facts));
            if let (Some(rule @ Leaf::Command(_)), Some(fresh)) = (leaf.leaf(), &fresh) {
                may_be_made |= verdict::of_leaf(rule, fresh) != Verdict::Pass;
            }
        }
        found.extend(state.objective.base_case.iter().flat_map(advice::of_tree));
        Ok(found)
    }

    /// Shows the difference and offers to mend it; whether something was taken into the state.
    pub(super) async fn offer(&self, state: &mut State, looks: &CheckoutComparison) -> bool {
        let out = self.context.out;
        out.say("Some checks end otherwise in a fresh checkout, where a run makes them:");
        for (here, fresh) in looks.here.iter().zip(&looks.fresh) {
            if here.verdict != fresh.verdict {
                out.say(&super::verdict_text::two(here, fresh));
            }
        }
        let links = looks.links();
        let mut offers = links.clone();
        offers.extend(proposals::of(self.top).setup);
        // What was taken before and did not help is not offered again.
        let setup = state.objective.constraints.setup.clone();
        offers.retain(|offer| {
            setup
                .as_deref()
                .is_none_or(|setup| !setup.contains(&offer.text))
        });
        if offers.is_empty() {
            out.say("What a fresh one needs can be made by a command.  (--setup COMMAND)");
            out.say("Enter: go on as it is; or a setup command.");
        } else {
            out.say("It has only what git keeps. What does it need of the rest?");
            out.say(&questions::numbered(&questions::named(
                &offers,
                links.len(),
            )));
            out.say("Enter: go on as it is; or numbers, such as 1; or a setup command.");
        }
        loop {
            let said = tokio::select! {
                said = ask::beside(out, "> ") => said,
                () = self.cancel.cancelled() => None,
            };
            let Some(said) = said else { return false };
            match ask::taken(&said, offers.len()) {
                ListAnswer::Text(text) if text.is_empty() => return false,
                ListAnswer::Text(text) => add_setup(state, &text),
                ListAnswer::Items(places) => {
                    for at in places {
                        if at < links.len() {
                            constraints(state).link.push(offers[at].text.clone());
                        } else {
                            add_setup(state, &offers[at].text);
                        }
                    }
                }
                ListAnswer::Wrong(number) => {
                    out.say(&format!("There is no {number} in the list."));
                    continue;
                }
            }
            return true;
        }
    }
}

fn constraints(state: &mut State) -> &mut descent_core::state::Constraints {
    &mut Arc::make_mut(&mut state.objective).constraints
}

fn add_setup(state: &mut State, command: &str) {
    let constraints = constraints(state);
    constraints.setup = Some(questions::joined(constraints.setup.take(), command));
}

fn leaves(state: &State) -> Vec<&Check> {
    let base_case = state.objective.base_case.iter();
    base_case.flat_map(Check::leaves).collect()
}

fn judged(state: &State, seen: &LeafResult) -> Vec<VerdictView> {
    let pairs = leaves(state).into_iter().zip(seen);
    pairs
        .map(|(leaf, seen)| match (leaf.leaf(), seen) {
            (Some(rule), Some(seen)) => evaluate::of(leaf, rule, seen.clone()),
            // Nobody has confirmed anything yet.
            _ => evaluate::by_person(leaf, state, None),
        })
        .collect()
}

/// What git ignores and one of the two places lacks.
fn lacking(
    workspaces: &Workspaces,
    fresh: &Path,
    here: &Path,
) -> Result<(Vec<String>, Vec<String>), Failure> {
    let not_in = |paths: Vec<String>, place: &Path| -> Vec<String> {
        let is_missing = |path: &String| place.join(path).symlink_metadata().is_err();
        paths.into_iter().filter(is_missing).collect()
    };
    Ok((
        not_in(workspaces.ignored()?, fresh),
        not_in(workspaces.ignored_in(Checkout::Judging)?, here),
    ))
}
