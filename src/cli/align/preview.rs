//! A preview of an agreement for a person, in eighty columns.
//!
//! Not here: the value that it shows (`ops::align`).

use std::path::Path;

use descent_core::{
    id::AtomId,
    state::{
        Check, CheckKind, StartedFrom, Workspace,
        limits::{self as constraint_limits, INTERRUPTIONS_MAX, REPAIRS_MAX},
    },
    verdict::Verdict,
    view::{self, VerdictView},
    world::World,
};

use crate::render::{self, Line, Meaning, Page};
use descent_engine::ops::{align::agreement_view::AgreementView, compare::OFFERS_MAX, evaluate};
use descent_system::phrase;
use descent_workspace::{CarriedDirs, CopyWay};

/// Columns of a page.
pub(super) const WIDTH: usize = 80;
/// Atoms at most that are shown one by one.
const ATOMS_MAX: usize = 40;
/// Issues at most that are shown one by one.
const ISSUES_MAX: usize = 8;
/// Lessons at most that are shown one by one, and lines of one.
const LESSONS_MAX: usize = 3;
const LESSON_LINES_MAX: usize = 2;
/// Lines at most of a person's words about the goal.
const LINES_MAX: usize = 8;

/// `project` is where checks and steps start, `dir` where the command was given. Everything is shown where it `is_whole`.
pub(super) fn page(shown: &AgreementView, project: &Path, dir: &Path, is_whole: bool) -> Page {
    let world = &shown.world;
    let mut page = Page::new(WIDTH);
    let head = |name: &str| Line::new().dim(name);
    page.wrapped(head("goal: "), Meaning::Strong, &shown.goal, LINES_MAX);
    page.wrapped(head("why:  "), Meaning::Plain, &shown.why, LINES_MAX);
    page.gap();
    checks(&mut page, shown);
    if let Some(one) = &shown.yes_or_no {
        prose(&mut page, "  ", one.what);
    }
    page.gap();
    page.push(head("the work:"));
    work(&mut page, world, is_whole);
    page.gap();
    limits(&mut page, shown);
    profile(&mut page, world);
    remembered(&mut page, &shown.remembered);
    page.gap();
    places(&mut page, shown, project, dir);
    warnings(&mut page, shown);
    issues(&mut page, shown, is_whole);
    page
}

/// A text below its subject, whole.
fn prose(page: &mut Page, lead: &str, text: &str) {
    page.prose(Line::new().dim(lead), Meaning::Plain, text);
}

/// The tree of checks, with today's verdicts.
fn checks(page: &mut Page, shown: &AgreementView) {
    let where_to =
        if shown.here.is_empty() { "today" } else { "today, here and in a fresh checkout" };
    let head = format!("it is reached when this holds ({where_to}):");
    page.push(Line::new().dim(head));
    let mut leaves = shown.base_case.iter().enumerate();
    let state = &shown.world.state;
    if let Some(base_case) = &state.objective.base_case {
        tree(base_case, 1, &shown.here, &mut leaves, page);
    }
    if evaluate::whole(state, &shown.base_case) == Verdict::Pass {
        let words = "  it holds already: a run would end at once, without an agent";
        page.push(Line::new().put(Meaning::Unknown, words));
        page.push(Line::of("  add what fails until the goal is reached: --check COMMAND"));
    }
    if shown.differ() {
        difference(page, shown);
    }
}

fn tree<'l>(
    check: &Check,
    depth: usize,
    here: &[VerdictView],
    leaves: &mut impl Iterator<Item = (usize, &'l VerdictView)>,
    page: &mut Page,
) {
    let (parts, word) = match &check.kind {
        CheckKind::Leaf(_) => {
            if let Some((at, fresh)) = leaves.next() {
                match here.get(at).filter(|here| here.verdict != fresh.verdict) {
                    Some(here) => two(here, fresh).into_iter().for_each(|line| page.whole(line)),
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
        let name = check.name.as_ref().map(|name| format!(" ({})", phrase::line(name)));
        let word = format!("{word}{}", name.unwrap_or_default());
        page.push(Line::indent(depth * 2).dim(word));
    }
    let deeper = if is_plain { depth } else { depth + 1 };
    for part in parts {
        tree(part, deeper, here, leaves, page);
    }
}

/// The tree, with the command of each atom under it; of a large plan its beginning.
fn work(page: &mut Page, world: &World, is_whole: bool) {
    let view = view::graph::graph(world);
    let most = if is_whole { view.nodes.len() } else { ATOMS_MAX };
    for (line, node) in render::graph_lines(&view).into_iter().zip(&view.nodes).take(most) {
        page.push(line);
        if let Some(run) = command(world, &node.id) {
            prose(page, "      runs: ", &phrase::visible(run));
        }
    }
    if let more @ 1.. = view.nodes.len().saturating_sub(most) {
        let words = format!("  and {more} more; -v shows each of them, with its command");
        page.push(Line::of(words));
    }
}

/// The command of an atom, unless its description shows it already.
fn command<'w>(world: &'w World, id: &AtomId) -> Option<&'w str> {
    let atom = world.state.atom(id)?;
    let run = atom.task()?.spec.action.as_ref()?.run.as_str();
    (!atom.description.contains(run)).then_some(run)
}

/// One verdict; its end goes on a line of its own if it would not fit.
fn one(page: &mut Page, indent: usize, judged: &VerdictView) {
    let verdict = Line::new().word(judged.verdict.word()).pad(8);
    let head = Line::indent(indent).then(verdict).plain(phrase::line(&judged.check));
    let ended = ended(judged);
    let ended = if ended.is_empty() { Line::new() } else { Line::new().dim(format!("({ended})")) };
    if head.width() + ended.width() + 2 <= WIDTH {
        page.whole(if ended.is_empty() { head } else { head.plain("  ").then(ended) });
    } else {
        page.whole(head);
        page.whole(Line::indent(indent + 8).then(ended));
    }
    page.extend(last_line(judged).map(|line| Line::indent(indent + 10).dim(line)));
}

/// Two verdicts that differ.
pub(super) fn two(here: &VerdictView, fresh: &VerdictView) -> Vec<Line> {
    let mut lines = vec![Line::of(format!("  differs {}", phrase::line(&here.check)))];
    for (place, judged) in [("here", here), ("in a fresh checkout", fresh)] {
        let (word, ended) = (judged.verdict.word(), ended(judged));
        lines.push(Line::indent(10).plain(format!("{place}: {word}, {ended}")));
        lines.extend(last_line(judged).map(|output| Line::indent(12).dim(output)));
    }
    lines
}

fn ended(judged: &VerdictView) -> String {
    match judged.ended.as_str() {
        "" => String::new(),
        ended if judged.by_person || judged.duration_ms == 0 => ended.to_owned(),
        ended => format!("{ended}, {}", phrase::time(judged.duration_ms)),
    }
}

/// The last output line of a check that does not pass.
fn last_line(judged: &VerdictView) -> Option<String> {
    let mut lines = judged.output.lines().rev().map(str::trim);
    let output = lines.find(|line| !line.is_empty())?;
    (judged.verdict != Verdict::Pass).then(|| Line::of(output).cut(WIDTH - 14).text(false))
}

fn difference(page: &mut Page, shown: &AgreementView) {
    let first = |paths: &[String]| paths[..paths.len().min(OFFERS_MAX)].join(", ");
    let lacking = &shown.lacking;
    if !lacking.checkout.is_empty() {
        let paths = first(&lacking.checkout);
        prose(page, "  ", &format!("a fresh checkout lacks, since git ignores it: {paths}"));
        if shown.suggested.is_empty() {
            page.push(Line::of("  add what makes it: --setup COMMAND"));
        } else {
            prose(page, "  ", &format!("add what it needs: {}", shown.suggested.join(" ")));
            page.push(Line::of("  or what makes it:  --setup COMMAND"));
        }
    }
    if !lacking.here.is_empty() {
        prose(page, "  ", &format!("only a fresh checkout has: {}", first(&lacking.here)));
    }
    if lacking.checkout.is_empty() && lacking.here.is_empty() {
        page.push(Line::of(
            "  both hold the same files: the check may depend on where it runs, or on chance",
        ));
    }
}

fn limits(page: &mut Page, shown: &AgreementView) {
    let constraints = &shown.world.state.objective.constraints;
    let attempt = constraints.attempt_timeout.as_ref();
    let budget = constraints.budget.time.as_ref();
    let words = render::BoundWords::of(&shown.bound);
    page.whole(Line::of(format!(
        "at most {}, then it ends; {} an attempt; {}{}",
        words.attempts,
        attempt.map_or("30m", |length| length.as_str()),
        budget.map_or("no time budget".to_owned(), |length| format!("{} in all", length.as_str())),
        words.kept,
    )));
    page.whole(Line::of(format!(
        "  (and {} transient retries an attempt, {REPAIRS_MAX} repairs and {INTERRUPTIONS_MAX} interruptions an atom)",
        constraints.max_transient(),
    )));
    if !words.questions.is_empty() {
        page.whole(Line::of(format!("  (and {})", words.questions)));
    }
}

/// The kind of task, and what follows from it.
fn profile(page: &mut Page, world: &World) {
    let Some(profile) = view::judged::profile(&world.state) else {
        return;
    };
    let words = format!(
        "depth {}, information {}, tools {}, breadth {}, confidence {}: {}, plans nest {} deep, judging {}",
        profile.reasoning_depth,
        profile.information_sufficiency,
        profile.expected_tool_usage.word(),
        profile.output_breadth.word(),
        profile.confidence_requirement.word(),
        phrase::passes(profile.passes),
        profile.fragment_depth,
        profile.judging.word()
    );
    let by = match (&profile.agent, profile.fault.as_str()) {
        (Some(agent), "") => format!("; by {agent}: {}", phrase::line(&profile.raw_inference)),
        (Some(agent), fault) => format!("; a default: {agent}: {}", phrase::line(fault)),
        (None, _) => String::new(),
    };
    prose(page, "profile: ", &(words + &by));
}

/// The lessons of earlier runs of the project.
fn remembered(page: &mut Page, lessons: &[String]) {
    for one in lessons.iter().take(LESSONS_MAX) {
        let head = Line::new().dim("remembered: ");
        page.wrapped(head, Meaning::Plain, &phrase::visible(one), LESSON_LINES_MAX);
    }
    if let left @ 1.. = lessons.len().saturating_sub(LESSONS_MAX) {
        page.push(Line::of(format!("  and {left} more: descent memory lists them")));
    }
}

/// The start commit, the workspace, and the commands of the configuration.
fn places(page: &mut Page, shown: &AgreementView, project: &Path, dir: &Path) {
    let constraints = &shown.world.state.objective.constraints;
    let workspace = constraints.workspace();
    if let Some(from) = &shown.start {
        let words = match workspace {
            Workspace::Shadow => "the files as they are".to_owned(),
            Workspace::Git | Workspace::Shared => of_commit(from, shown.uncommitted),
        };
        prose(page, "starts from: ", &words);
    }
    let how = match workspace {
        Workspace::Shadow => {
            "shadow: each attempt works in a copy of its own, with a repository beside the state"
        }
        Workspace::Git => "git: each attempt works in a copy of its own",
        Workspace::Shared => {
            "shared: agents work in place, nothing is undone when a choice is abandoned, and checks run there too, not in a fresh checkout"
        }
    };
    prose(page, "workspace: ", how);
    if let Some(words) = starting_place(project, dir) {
        prose(page, "starts in: ", &words);
    }
    for (lead, text) in [("the worker: ", &shown.worker), ("notify: ", &shown.notify)] {
        text.iter().for_each(|text| prose(page, lead, &phrase::visible(text)));
    }
    let all = constraint_limits::in_force(constraints).into_iter();
    // The workspace is shown above.
    let chosen = all.filter(|one| one.is_chosen && one.key != "workspace");
    let chosen: Vec<String> = chosen
        .map(|one| format!("{} = {}", one.key, constraint_limits::plain(&one.value)))
        .collect();
    if !chosen.is_empty() {
        prose(page, "chosen: ", &chosen.join("; "));
    }
    if shown.is_nobody {
        let who =
            "commits will be by descent <descent@localhost>: git has no user.name and user.email";
        prose(page, "", who);
    }
    if let Some(took) = shown.setup_ms.map(phrase::time) {
        let words = format!("it took {took}; it runs in every fresh checkout that decides");
        prose(page, "setup: ", &words);
    }
    if let Some(carried) = &shown.carried {
        prose(page, "carries along: ", &phrase::visible(&of_carried(carried)));
    }
    shown.notes.iter().flat_map(|note| note.lines()).for_each(|line| page.whole(Line::of(line)));
}

/// Build state that trees begin with.
fn of_carried(carried: &CarriedDirs) -> String {
    let dirs = carried.dirs.join(", ");
    let size = phrase::megabytes(carried.bytes);
    let how = match carried.how {
        CopyWay::Reflink => "reflink",
        CopyWay::Copy => "copy",
        CopyWay::Overlay => "overlay",
        CopyWay::TooLarge => {
            return format!("nothing: {dirs} has {size}, too much to be copied here");
        }
    };
    format!("{dirs}: {size} by {how}; verdicts that decide are taken cold")
}

/// A person in a directory below may take that one for the place.
fn starting_place(project: &Path, dir: &Path) -> Option<String> {
    let [project, dir] =
        [project, dir].map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    let below = dir.strip_prefix(&project).ok().filter(|below| !below.as_os_str().is_empty())?;
    Some(format!(
        "{} (checks and steps), not in {} (`mkdir .descent` there begins a project of its own)",
        phrase::visible(&project.display().to_string()),
        phrase::visible(&below.display().to_string())
    ))
}

fn of_commit(start: &StartedFrom, uncommitted: usize) -> String {
    let branch = start.branch.as_ref();
    let branch = branch.map_or("no branch".to_owned(), |branch| format!("branch {branch}"));
    let commit = start.head.as_str().get(..12).unwrap_or_default();
    let more = match uncommitted {
        0 => String::new(),
        n => format!(", with {}", phrase::count(n, "uncommitted file")),
    };
    format!("{branch} at {commit}{more}")
}

/// The issues that the rules find in the work.
fn issues(page: &mut Page, shown: &AgreementView, is_whole: bool) {
    let all = &shown.issues;
    if all.is_empty() {
        return;
    }
    page.gap();
    let count = render::issue_count(all);
    page.push(Line::new().dim(format!("looked at by rules: {count}; {}", render::ADVICE)));
    let most = if is_whole { all.len() } else { ISSUES_MAX.min(all.len()) };
    render::issues(page, &all[..most]);
    if let left @ 1.. = all.len() - most {
        page.push(Line::of(format!("  and {left} more; -v shows each of them")));
    }
}

fn warnings(page: &mut Page, shown: &AgreementView) {
    if !shown.warnings.is_empty() {
        page.gap();
    }
    for one in &shown.warnings {
        let mut what = phrase::line(&one.what);
        if !one.check.is_empty() {
            what = format!("`{}`: {what}", phrase::line(&one.check));
        }
        page.prose(Line::new().put(Meaning::Unknown, "warning: "), Meaning::Plain, &what);
        let mut lines = one.hint.lines();
        prose(page, "      do: ", lines.next().unwrap_or_default());
        // Not wrapped, because it is to be copied.
        lines.for_each(|line| page.whole(Line::indent(10).plain(line)));
    }
}
