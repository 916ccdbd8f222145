//! The agreement as a plan, a pattern, a proposal and flags say it: the first state, or every fault in them.
//!
//! Not here: asking for what is missing (`questions`, `proposed`).

use std::path::{Path, PathBuf};

use descent_core::{
    doc::did_you_mean,
    graph::validate::{self, MissingPart},
    id::{AgentName, Lineage},
    plan::PlanReading,
    proposal::Clarification,
    state::{Check, Leaf, Objective, State},
    trust::TrustList,
};

use super::{
    super::{constraints, context::Context},
    AlignArgs,
};
use descent_engine::plan_file::{self, Notation, PlanFile};
use descent_system::failure::{Failure, quoted};

/// A plan, and where it is from.
#[derive(Debug)]
pub(super) struct PlanText {
    pub(super) file: PlanFile,
    pub(super) from: PlanOrigin,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlanOrigin {
    /// A file that the person names.
    Named,
    /// It comes with the program.
    Pattern,
    /// By that aligner.
    Proposed(AgentName),
    /// The person edited it: it is all that counts, without flags.
    Edited,
}

/// The first state that a plan and flags make.
pub(super) struct FirstState {
    pub(super) state: State,
    /// The plan's own commands.
    pub(super) carried: Option<TrustList>,
    pub(super) warnings: Vec<String>,
    /// A person can be asked for these.
    pub(super) missing: Vec<MissingPart>,
}

/// The state from plan and flags; or every fault in them.
pub(super) fn read(flags: &AlignArgs) -> Result<FirstState, Failure> {
    let (none, text) = (PlanFile::none(), flags.text.as_ref());
    let (file, from) = text.map_or((&none, None), |text| (&text.file, Some(&text.from)));
    let mut plan = from.map_or_else(PlanReading::default, |_| file.plan());
    let mut carried = None;
    if flags.errand.is_some_and(|errand| errand.is_unseen) {
        plan.drop_checks();
    }
    if from == Some(&PlanOrigin::Named) {
        carried = Some(TrustList::of_plan(&plan.objective, &plan.atoms));
        plan.keep();
    }
    if from != Some(&PlanOrigin::Edited) {
        apply_flags(&mut plan, flags)?;
    }
    let lineage = Lineage::new(uuid::Uuid::now_v7().to_string());
    let draft = plan_file::draft(plan, lineage);
    let lines = file.lines(&draft.warnings).into_iter();
    let warnings = lines.map(|line| format!("warning: {line}")).collect();
    file.refuse(&draft.faults)?;
    let missing = validate::missing_parts(&draft.state);
    Ok(FirstState { state: draft.state, carried, warnings, missing })
}

/// Refuses the name of a plan that would be taken for the goal in words.
pub(super) fn refuse_a_plan_as_a_goal(context: &Context, flags: &AlignArgs) -> Result<(), Failure> {
    let Some(goal) = flags.goal.as_deref().filter(|_| flags.plan.is_none()) else {
        return Ok(());
    };
    let path = Path::new(goal);
    let is_plan = |kind| ["json", "yaml", "yml"].iter().any(|plan| kind == *plan);
    if !path.extension().is_some_and(is_plan) || !context.dir.join(path).is_file() {
        return Ok(());
    }
    let message = format!("`{goal}` is a file, and a goal is said in words");
    let hint = format!("if it is the plan: descent align -f {}", quoted(path));
    Err(Failure::usage(message, hint))
}

/// The part that a step lacks. One with `=` must have a name and a command: without a command it would be the worker's.
pub(super) fn missing_of_step(step: &str) -> Option<&'static str> {
    let (name, command) = step.split_once('=').unwrap_or((step, "none"));
    match (name.trim(), command.trim()) {
        ("", _) => Some("name"),
        (_, "") => Some("command"),
        _ => None,
    }
}

fn refuse_half_a_step(step: &str) -> Result<(), Failure> {
    let message = match missing_of_step(step) {
        None => return Ok(()),
        Some(_) if step.trim().is_empty() => "`--step` is given an empty text".to_owned(),
        Some(missing) => format!("the step `{step}` has no {missing}"),
    };
    let hint = "write --step 'NAME=COMMAND', or --step 'NAME' for the worker";
    Err(Failure::usage(message, hint))
}

/// The agent of a planning step, by its name.
fn planner(flags: &AlignArgs) -> Result<Option<AgentName>, Failure> {
    let Some(name) = flags.plan_with.as_deref().map(str::trim) else {
        return Ok(None);
    };
    if !AgentName::is_valid(name) {
        let message = format!("`--plan-with {}` names no agent", name.escape_debug());
        let hint = "the name of an agent of descent.toml: 1 to 64 of a-z, 0-9, `_`, `.` and `-`";
        return Err(Failure::usage(message, hint));
    }
    Ok(Some(AgentName::from(name)))
}

fn apply_flags(plan: &mut PlanReading, flags: &AlignArgs) -> Result<(), Failure> {
    flags.step.iter().try_for_each(|step| refuse_half_a_step(step))?;
    let objective: &mut Objective = &mut plan.objective;
    let mut put = |field: fn(&mut Objective) -> &mut String, text: &Option<String>| {
        if let Some(text) = text {
            field(objective).clone_from(text);
        }
    };
    // A proposal has a goal in words of its own, and a pattern has none.
    if !flags.has_draft() || flags.pattern.is_some() {
        put(|objective| &mut objective.goal, &flags.goal);
    }
    put(|objective| &mut objective.raw_input, &flags.goal);
    put(|objective| &mut objective.background_intent, &flags.why);
    put(|objective| &mut objective.deliverables, &flags.deliver);
    put(|objective| &mut objective.definition_of_done, &flags.done);
    let all = &objective.clarifications;
    objective.clarifications = Clarification::added(all.as_ref(), &flags.clarifications);
    for check in &flags.check {
        // A proposal may have it already.
        if !flags.has_draft() || !has_check(&plan.objective, check) {
            plan.add_check(check);
        }
    }
    flags.step.iter().for_each(|step| plan.add_step(step));
    plan.judge_last_step();
    if let Some(agent) = planner(flags)? {
        plan.add_planning(agent);
    }
    if !flags.set.is_empty() {
        plan.objective.constraints = constraints::set(&plan.objective.constraints, &flags.set)?;
    }
    let constraints = &mut plan.objective.constraints;
    add(&mut constraints.protected, &flags.protect);
    add(&mut constraints.link, &flags.link);
    if let Some(setup) = &flags.setup {
        constraints.setup.run = Some(setup.clone());
    }
    Ok(())
}

fn has_check(objective: &Objective, command: &str) -> bool {
    let mut leaves = objective.base_case.iter().flat_map(Check::leaves).filter_map(Check::leaf);
    leaves.any(|leaf| matches!(leaf, Leaf::Command(leaf) if leaf.command == command))
}

fn add(to: &mut Vec<String>, more: &[String]) {
    for text in more {
        if !to.contains(text) {
            to.push(text.clone());
        }
    }
}

/// Patterns by name: plans that come with the program. A person gives the goal and the checks, sees the whole and agrees.
const PATTERNS: [(&str, &str); 4] = [
    ("recon", include_str!("../../../patterns/recon.yaml")),
    ("iterate", include_str!("../../../patterns/iterate.yaml")),
    ("map", include_str!("../../../patterns/map.yaml")),
    ("triage", include_str!("../../../patterns/triage.yaml")),
];

/// The patterns that there are, a line each: the first of its text, without its name.
pub(super) fn patterns() -> String {
    let line = |(name, text): &(&str, &str)| {
        let first = text.lines().next().unwrap_or_default();
        format!("{name:<8}  {}\n", first.split_once(": ").map_or("", |(_, about)| about))
    };
    let example =
        "next: descent align \"the goal\" --why \"…\" --check \"a command\" --pattern recon";
    PATTERNS.iter().map(line).collect::<String>() + example
}

/// The plan of the named pattern.
pub(super) fn pattern(name: &str) -> Result<PlanText, Failure> {
    let Some((_, text)) = PATTERNS.iter().find(|(one, _)| *one == name) else {
        let names = PATTERNS.map(|(name, _)| name);
        let near = did_you_mean(name, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("; {near}"));
        let message = format!("there is no pattern `{}`{near}", name.escape_debug());
        let hint = format!("one of {}; descent align --pattern shows them", names.join(", "));
        return Err(Failure::usage(message, hint));
    };
    let name = PathBuf::from(format!("pattern {name}"));
    let file = PlanFile { name, bytes: text.as_bytes().to_vec(), notation: Notation::Yaml };
    Ok(PlanText { file, from: PlanOrigin::Pattern })
}
