//! A preview of an agreement for a person, in eighty columns.
//!
//! Not here: the same as one value for a program (`output`).

use std::path::Path;

use descent_core::{
    doc::{self, Node},
    id::AtomId,
    judging::Issue,
    state::{Check, CheckKind, Lesson, StartedFrom, Workspace},
    verdict::Verdict,
    view::{self, BoundView, VerdictView, graph::NodeView},
    world::World,
};

use super::{
    costs, output, remembered,
    verdict_text::{WIDTH, ended, last_line, two},
};
use crate::{
    config::Config,
    ops::{
        agents,
        align::locks,
        compare::{CheckoutComparison, OFFERS_MAX},
        evaluate,
    },
    render::{self, Line, Meaning, Page},
    workspace::{Workspaces, Worktrees},
};
use descent_core::state::limits::{self as constraint_limits, INTERRUPTIONS_MAX, REPAIRS_MAX};

/// Atoms at most that are shown one by one.
const ATOMS_MAX: usize = 40;
/// Lines at most of a person's words about the goal.
const LINES_MAX: usize = 8;
/// Words before a colon that tell what the line is about.
const LEADS: [&str; 12] = [
    "profile",
    "remembered",
    "runs",
    "setup",
    "starts from",
    "starts in",
    "workspace",
    "the worker",
    "notify",
    "chosen",
    "do",
    "left out",
];

/// The data shown beside the agreement itself.
pub(super) struct Preview<'a> {
    pub(super) comparison: &'a CheckoutComparison,
    pub(super) issues: &'a [Issue],
    pub(super) top: &'a Path,
    /// The directory that checks and steps start in.
    pub(super) project: &'a Path,
    /// The directory that the command was given in.
    pub(super) dir: &'a Path,
    pub(super) workspaces: &'a Workspaces,
    pub(super) start: Option<&'a StartedFrom>,
    pub(super) uncommitted: usize,
    /// Whether every atom is shown, however many there are.
    pub(super) is_whole: bool,
    pub(super) config: &'a Config,
    /// The lessons of earlier runs that a run would be given now.
    pub(super) remembered: &'a [Lesson],
}

pub(super) fn page(world: &World, shown: &Preview<'_>) -> Page {
    let objective = &world.state.objective;
    let mut page = Page::new(WIDTH);
    let head = |name: &str| Line::new().dim(name);
    page.wrapped(head("goal: "), Meaning::Strong, &objective.goal, LINES_MAX);
    let why = &objective.background_intent;
    page.wrapped(head("why:  "), Meaning::Plain, why, LINES_MAX);
    page.gap();
    checks(&mut page, world, shown.comparison);
    let bound = view::bound_of_start(world, &shown.config.table());
    if let Some(one) = output::yes_or_no(world, &bound) {
        add(&mut page, &wrapped("  ", one.what));
    }
    page.gap();
    page.push(head("the work:"));
    work(&mut page, world, shown.is_whole);
    page.gap();
    add(&mut page, &limits(world, &bound));
    add(&mut page, &profile(world));
    remembered::lines(&mut page, world, shown.remembered);
    page.gap();
    add(&mut page, &places(world, shown));
    let warnings = warnings(world, shown);
    if !warnings.is_empty() {
        page.gap();
        add(&mut page, &warnings);
    }
    issues(&mut page, shown);
    page
}

/// Adds lines that are wrapped already; their subject comes before the colon.
fn add(page: &mut Page, text: &str) {
    for line in text.lines() {
        let (lead, rest) = line.split_once(": ").unwrap_or(("", line));
        let is_lead = LEADS.contains(&lead.trim());
        page.whole(match lead.trim() {
            "warning" => Line::new().put(Meaning::Unknown, "warning: ").plain(rest),
            _ if is_lead => Line::new().dim(format!("{lead}: ")).plain(rest),
            _ => Line::of(line),
        });
    }
}

/// The tree of checks, with today's verdicts.
fn checks(page: &mut Page, world: &World, comparison: &CheckoutComparison) {
    let where_to =
        if comparison.here.is_empty() { "today" } else { "today, here and in a fresh checkout" };
    let head = format!("it is reached when this holds ({where_to}):");
    page.push(Line::new().dim(head));
    let mut leaves = comparison.fresh.iter().enumerate();
    if let Some(base_case) = &world.state.objective.base_case {
        tree(base_case, 1, comparison, &mut leaves, page);
    }
    if evaluate::whole(&world.state, &comparison.fresh) == Verdict::Pass {
        let words = "  it holds already: a run would end at once, without an agent";
        page.push(Line::new().put(Meaning::Unknown, words));
        page.push(Line::of("  add what fails until the goal is reached: --check COMMAND"));
    }
    if comparison.differ() {
        add(page, &difference(comparison));
    }
}

fn tree<'l>(
    check: &Check,
    depth: usize,
    comparison: &CheckoutComparison,
    leaves: &mut impl Iterator<Item = (usize, &'l VerdictView)>,
    page: &mut Page,
) {
    let (parts, word) = match &check.kind {
        CheckKind::Leaf(_) => {
            if let Some((at, fresh)) = leaves.next() {
                let here = comparison.here.get(at);
                match here.filter(|here| here.verdict != fresh.verdict) {
                    Some(here) => add(page, &two(here, fresh)),
                    None => one(page, depth * 2, fresh),
                }
            }
            return;
        }
        CheckKind::All(parts) => (parts, "all of"),
        CheckKind::Any(parts) => (parts, "any of"),
    };
    // The outermost `all` is implied by "this holds".
    let is_plain = depth == 1 && word == "all of" && check.name.is_none();
    if !is_plain {
        let name = check.name.as_ref().map(|name| format!(" ({})", render::line(name)));
        let word = format!("{word}{}", name.unwrap_or_default());
        page.push(Line::indent(depth * 2).dim(word));
    }
    let deeper = if is_plain { depth } else { depth + 1 };
    for part in parts {
        tree(part, deeper, comparison, leaves, page);
    }
}

/// The tree, with the command of each atom under it; for a large plan the counts.
fn work(page: &mut Page, world: &World, is_whole: bool) {
    let view = view::graph::graph(world);
    if view.nodes.len() > ATOMS_MAX && !is_whole {
        add(page, &wrapped("  ", &counts(world, &view.nodes)));
        page.push(Line::of("  -v shows each of them, with its command"));
        return;
    }
    for (line, node) in render::graph_lines(&view).into_iter().zip(&view.nodes) {
        page.push(line);
        if let Some(run) = command(world, &node.id) {
            add(page, &wrapped("      runs: ", &render::visible(run)));
        }
    }
}

/// The command of an atom, unless its description shows it already.
fn command<'w>(world: &'w World, id: &AtomId) -> Option<&'w str> {
    let atom = world.state.atom(id)?;
    let run = atom.task()?.spec.action.as_ref()?.run.as_str();
    (!atom.description.contains(run)).then_some(run)
}

fn counts(world: &World, nodes: &[NodeView]) -> String {
    let of_kind = |kind: &str| nodes.iter().filter(|node| node.kind == kind).count();
    let runs = |node: &&NodeView| {
        let task = world.state.atom(&node.id).and_then(|atom| atom.task());
        task.is_some_and(|task| task.spec.action.is_some())
    };
    let with_command = nodes.iter().filter(runs).count();
    let parts = [
        (with_command, "with a command"),
        (of_kind("task").saturating_sub(with_command), "for the worker"),
        (of_kind("plan"), "that plan"),
        (of_kind("any"), "that choose one of several"),
        (of_kind("all"), "that take several together"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    format!("{} atoms: {}", nodes.len(), parts.join(", "))
}

/// One verdict; its end goes on a line of its own if it would not fit.
fn one(page: &mut Page, indent: usize, judged: &VerdictView) {
    let verdict = Line::new().word(judged.verdict.word()).pad(8);
    let head = Line::indent(indent).then(verdict).plain(render::line(&judged.check));
    let ended = match ended(judged).as_str() {
        "" => Line::new(),
        ended => Line::new().dim(format!("({ended})")),
    };
    if head.width() + ended.width() + 2 <= WIDTH {
        page.whole(if ended.is_empty() { head } else { head.plain("  ").then(ended) });
    } else {
        page.whole(head);
        page.whole(Line::indent(indent + 8).then(ended));
    }
    page.extend(last_line(judged).map(|line| Line::indent(indent + 10).dim(line)));
}

fn difference(comparison: &CheckoutComparison) -> String {
    let first = |paths: &[String]| paths[..paths.len().min(OFFERS_MAX)].join(", ");
    let mut text = Vec::new();
    if !comparison.not_fresh.is_empty() {
        text.push(wrapped(
            "  a fresh checkout lacks, since git ignores it: ",
            &first(&comparison.not_fresh),
        ));
        let flags = comparison.link_flags().join(" ");
        if flags.is_empty() {
            text.push("  add what makes it: --setup COMMAND".to_owned());
        } else {
            text.push(wrapped("  add what it needs: ", &flags));
            text.push("  or what makes it:  --setup COMMAND".to_owned());
        }
    }
    if !comparison.not_here.is_empty() {
        let paths = first(&comparison.not_here);
        text.push(wrapped("  only a fresh checkout has: ", &paths));
    }
    if text.is_empty() {
        text.push(
            "  both hold the same files: the check may depend on where it runs, or on chance"
                .to_owned(),
        );
    }
    text.join("\n")
}

fn limits(world: &World, bound: &BoundView) -> String {
    let constraints = &world.state.objective.constraints;
    let attempt = constraints.attempt_timeout.as_ref();
    let budget = constraints.budget.time.as_ref();
    let questions = match render::questions_of(bound) {
        none if none.is_empty() => none,
        some => format!("\n  (and {some})"),
    };
    format!(
        "at most {}, then it ends; {} an attempt; {}{}\n  (and {} transient retries an attempt, {} repairs and {} interruptions an atom){questions}",
        render::most_of(bound),
        attempt.map_or("30m", |length| length.as_str()),
        budget.map_or("no time budget".to_owned(), |length| format!("{} in all", length.as_str())),
        render::kept_of(bound),
        constraints.max_transient(),
        REPAIRS_MAX,
        INTERRUPTIONS_MAX
    )
}

/// The kind of task, and what follows from it.
fn profile(world: &World) -> String {
    let Some(profile) = view::passes::profile(&world.state) else {
        return String::new();
    };
    let words = format!(
        "depth {}, information {}, tools {}, breadth {}, confidence {}: {}, plans nest {} deep, judging {}",
        profile.reasoning_depth,
        profile.information_sufficiency,
        profile.expected_tool_usage.word(),
        profile.output_breadth.word(),
        profile.confidence_requirement.word(),
        render::passes(profile.passes),
        profile.fragment_depth,
        profile.judging.word()
    );
    let by = match (&profile.agent, profile.fault.as_str()) {
        (Some(agent), "") => format!("; by {agent}: {}", render::line(&profile.raw_inference)),
        (Some(agent), fault) => format!("; a default: {agent}: {}", render::line(fault)),
        (None, _) => String::new(),
    };
    wrapped("profile: ", &(words + &by))
}

/// The start commit, the workspace, and the commands of the configuration.
fn places(world: &World, shown: &Preview<'_>) -> String {
    let constraints = &world.state.objective.constraints;
    let mut text = Vec::new();
    if let Some(start) = shown.start {
        text.push(match constraints.workspace() {
            Workspace::Shadow => "starts from: the files as they are".to_owned(),
            Workspace::Git | Workspace::Shared => from(start, shown.uncommitted),
        });
    }
    text.push(match constraints.workspace() {
        Workspace::Shadow => "workspace: shadow: each attempt works in a copy of its own, with a repository\nbeside the state".to_owned(),
        Workspace::Git => "workspace: git: each attempt works in a copy of its own".to_owned(),
        Workspace::Shared => "workspace: shared: agents work in place, nothing is undone when a choice is\nabandoned, and checks run there too, not in a fresh checkout".to_owned(),
    });
    text.extend(starting_place(shown.project, shown.dir));
    if let Some(worker) = shown.config.worker_line() {
        text.push(wrapped("the worker: ", &render::visible(&worker)));
    }
    if let Some(notify) = shown.config.notify() {
        text.push(wrapped("notify: ", &render::visible(notify)));
    }
    let all = constraint_limits::in_force(constraints).into_iter();
    // The workspace is shown above.
    let chosen = all.filter(|one| one.is_chosen && one.key != "workspace");
    let chosen: Vec<String> =
        chosen.map(|one| format!("{} = {}", one.key, value(&one.value))).collect();
    if !chosen.is_empty() {
        text.push(wrapped("chosen: ", &chosen.join("; ")));
    }
    let trees = shown.workspaces.trees();
    let is_nobody = trees.is_some_and(|trees| trees.git().identity_is_default());
    if constraints.workspace() == Workspace::Git && is_nobody {
        let who = "descent <descent@localhost>: git has no user.name and user.email";
        text.push(wrapped("commits will be by ", who));
    }
    text.extend(costs::of_setup(&world.state, shown.comparison, shown.top));
    text.extend(trees.map(Worktrees::notes).unwrap_or_default());
    text.join("\n")
}

/// A person in a directory below may take that one for the place.
fn starting_place(project: &Path, dir: &Path) -> Option<String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (project, dir) = (real(project), real(dir));
    let below = dir.strip_prefix(&project).ok();
    let below = below.filter(|below| !below.as_os_str().is_empty())?;
    let words = format!(
        "{} (checks and steps), not in {} (`mkdir .descent` there begins a project of its own)",
        render::visible(&project.display().to_string()),
        render::visible(&below.display().to_string())
    );
    Some(wrapped("starts in: ", &words))
}

/// A value as a person writes it: texts bare, a list with commas.
fn value(node: &Node) -> String {
    match (node.as_str(), node.as_array()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(items)) => items.iter().map(value).collect::<Vec<_>>().join(", "),
        (None, None) => doc::write_compact(node),
    }
}

fn from(start: &StartedFrom, uncommitted: usize) -> String {
    let branch = match &start.branch {
        Some(branch) => format!("branch {branch}"),
        None => "no branch".to_owned(),
    };
    let commit = start.head.as_str().get(..12).unwrap_or_default();
    let more = match uncommitted {
        0 => String::new(),
        1 => ", with 1 uncommitted file".to_owned(),
        n => format!(", with {n} uncommitted files"),
    };
    format!("starts from: {branch} at {commit}{more}")
}

/// Issues at most that are shown one by one.
const ISSUES_MAX: usize = 8;

/// The issues that the rules find in the work.
fn issues(page: &mut Page, shown: &Preview<'_>) {
    let all = shown.issues;
    if all.is_empty() {
        return;
    }
    page.gap();
    let count = render::issue_count(all);
    let head = format!("looked at by rules: {count}; {}", render::ADVICE);
    page.push(Line::new().dim(head));
    let most = if shown.is_whole { all.len() } else { ISSUES_MAX.min(all.len()) };
    render::issues(page, &all[..most]);
    if most < all.len() {
        let left = all.len() - most;
        page.push(Line::of(format!("  and {left} more; -v shows each of them")));
    }
}

fn warnings(world: &World, shown: &Preview<'_>) -> String {
    let mut text = Vec::new();
    let mut warn = |what: &str, hint: &str| {
        text.push(wrapped("warning: ", what));
        text.push(wrapped("      do: ", hint));
    };
    let mut to_copy = Vec::new();
    for advice in &shown.comparison.advice {
        let check = render::line(&advice.check);
        warn(&format!("`{check}`: {}", render::line(&advice.what)), &advice.hint);
    }
    let is_shared = world.state.objective.constraints.workspace() == Workspace::Shared;
    if is_shared && world.graph.groups().next().is_some() {
        warn(
            "there are groups: what an abandoned choice did stays in the files",
            "take the workspace git or shadow, or plan without groups",
        );
    }
    for (link, lock) in locks::stale_links(&world.state, shown.top) {
        warn(
            &format!(
                "`{link}` is linked, so a result that changes {lock} is judged with what stands there now"
            ),
            "make it in each checkout instead: --setup with the command that installs",
        );
    }
    if let Some(what) = agents::lacks_worker(&world.state, shown.config) {
        warn(
            &format!("{what}, and none is named yet"),
            "before the run, write this or the like in descent.toml, at the top of the project:",
        );
        // Not wrapped, because it is to be copied.
        let lines = agents::example().into_iter();
        to_copy.extend(lines.map(|line| format!("          {line}")));
    }
    text.extend(to_copy);
    text.join("\n")
}

/// `lead` and a text, wrapped at words; further lines are indented under the first.
fn wrapped(lead: &str, text: &str) -> String {
    let hang = " ".repeat(lead.chars().count().min(10));
    let mut lines = vec![lead.to_owned()];
    let mut is_new = true;
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if !is_new && line + 1 + word.chars().count() > WIDTH {
            lines.push(hang.clone());
            is_new = true;
        }
        if let Some(line) = lines.last_mut() {
            if !is_new {
                line.push(' ');
            }
            line.push_str(word);
        }
        is_new = false;
    }
    lines.join("\n")
}
