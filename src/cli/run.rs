//! `descent run`: starts the loop, or resumes it, and ends with one typed result. Also the run in a process of its own
//! (`--detach`), and `descent wait`.

use std::ops::ControlFlow;

use clap::Args;
use descent_core::{
    audit::{self, AuditCode},
    event::Reason,
    id::{RunId, Serial},
    state::{Run, RunStatus, fields::DurationText, final_result::FinalResultRecord},
    step::run_end,
    view::{self, Surroundings},
};
use serde::Serialize;

use super::{
    Context, End, Failure, Page, align,
    apply::{self, ApplyArgs},
    clock, constraints, exit, interruptible,
    live::LiveArea,
    render, runtime, signals,
};
use descent_agent::config::{self, Config, resolve};
use descent_engine::ops::{
    self,
    detach::{DetachOutcome, DetachedRun},
    run::{RunOptions, RunReport, RunView},
    watch::WaitLimit,
};
use descent_process::detached;
use descent_store::{Store, evidence};
use descent_workspace::{self as workspace, Checkout, Workspaces, Worktrees};

#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// Change a constraint first, such as max_attempts=3 (may be given again)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Bring the result into the working tree when the run completes
    #[arg(long)]
    apply: bool,
    /// Start from this commit, tag or branch instead of from the working tree (a run that has not begun)
    #[arg(long, value_name = "REV")]
    from: Option<String>,
    /// Return after the first commit; the run goes on without this terminal, and prints into a log
    #[arg(long)]
    detach: bool,
    /// Run this command at the ending, and when the run waits for somebody: the result is its standard input
    #[arg(long, value_name = "CMD")]
    notify: Option<String>,
    /// Read no lessons of earlier runs of the project, and write none
    #[arg(long)]
    no_memory: bool,
    /// Give a role to an agent of the configuration, such as worker=claude (may be given again)
    #[arg(long = "agent", value_name = "ROLE=NAME")]
    agent: Vec<String>,
    /// The caller asks what becomes of a result.
    #[arg(skip)]
    is_part: bool,
}

impl RunArgs {
    /// The run of `do`.
    pub(super) fn of_errand(apply: bool, is_part: bool) -> Self {
        Self { apply, is_part, ..Self::default() }
    }
}

pub(super) fn run(context: &Context, flags: &RunArgs) -> Result<End, Failure> {
    let run = RunId::new(uuid::Uuid::now_v7().to_string());
    if flags.detach && detached::is_one() {
        return within(context, flags, run);
    }
    // Faults of the flags are told before anything starts.
    constraints::changes(&flags.set)?;
    notify_command(flags, &Config::default())?;
    resolve::of_flags(&flags.agent)?;
    match align::first(context, context.store()?)? {
        ControlFlow::Break(end) => Ok(end),
        ControlFlow::Continue(store) if flags.detach => detach(context, store),
        ControlFlow::Continue(store) => here(context, flags, store, run, None),
    }
}

/// The run in the detached process: whoever started it gets its failure.
fn within(context: &Context, flags: &RunArgs, run: RunId) -> Result<End, Failure> {
    let begun = context.store().and_then(|store| DetachedRun::begin(store.place(), &run));
    let apart = begun.inspect_err(|failure| {
        ops::detach::report_failure(failure);
    })?;
    let ran = context.store();
    let ran = ran.and_then(|store| here(context, flags, store, run, Some(&apart)));
    ran.inspect_err(|failure| apart.failed(failure))
}

/// The run in this process.
fn here(
    context: &Context,
    flags: &RunArgs,
    mut store: Store,
    run: RunId,
    apart: Option<&DetachedRun>,
) -> Result<End, Failure> {
    ops::ready(&mut store)?;
    let changes = constraints::changes(&flags.set)?;
    let config = config::load(&store.place().project)?;
    let config = config.chosen_first(&resolve::of_flags(&flags.agent)?);
    // The clock is made first: its whole seconds are the runtime's.
    let clock = clock::real();
    let runtime = runtime()?;
    let programs = ops::programs(store.place());
    let options = RunOptions {
        changes: &changes,
        run,
        log: apart.map(DetachedRun::log),
        notify: notify_command(flags, &config)?,
        from: flags.from.as_deref(),
        memory: !flags.no_memory,
        clock,
        programs,
        runtime: &runtime,
    };
    let (mut live, out) = (None, context.out);
    let client = context.client(Some(&config));
    let report = ops::run::run(&client, store, &options, |work| {
        live = Some(LiveArea::of_loop(context, work));
        Ok(RunView {
            signals: runtime.block_on(async { signals() })?,
            on_turn: Box::new(move |world| apart.into_iter().for_each(|apart| apart.turn(world))),
            warn: Box::new(move |text| out.say(text)),
        })
    });
    drop(live);
    let report = report?;
    let end = finish(context, flags, &report);
    if let Some(notifier) = &report.notifier {
        let input = result_json(&report).to_string();
        runtime.block_on(notifier.tell_ending(&context.client(None), input));
    }
    end
}

/// The command of the flag, else that of the configuration.
fn notify_command<'a>(flags: &'a RunArgs, config: &'a Config) -> Result<Option<&'a str>, Failure> {
    match flags.notify.as_deref() {
        Some(command) if command.trim().is_empty() => Err(Failure::usage(
            "--notify names no command",
            "descent run --notify 'mail -s descent ada'",
        )),
        Some(command) => Ok(Some(command)),
        None => Ok(config.notify()),
    }
}

fn finish(context: &Context, flags: &RunArgs, report: &RunReport) -> Result<End, Failure> {
    let ending = &report.ending;
    if let (Some(signal), true) = (ending.signal, ending.has_no_result) {
        return Ok(End::Signal(signal));
    }
    let run = &ending.world.state.run;
    let applies = flags.apply && run.status == RunStatus::Completed;
    show_result(context, report, !applies && !flags.is_part);
    if let Some(signal) = ending.signal
        && run.status == RunStatus::Stopped
    {
        return Ok(End::Signal(signal));
    }
    if applies {
        return apply_here(context);
    }
    Ok(End::Code(code_of(run)))
}

/// Prints the result; with `leads_on`, what to do next after a run that completed.
pub(super) fn show_result(context: &Context, report: &RunReport, leads_on: bool) {
    if context.out.json {
        return context.out.json(&result_json(report));
    }
    let ending = &report.ending;
    // Whoever ended without a result came to another end before.
    let Some(result) = run_end::last_result(&ending.world) else { return };
    let path = report.path().map(|path| path.display().to_string());
    let lies_at = |one: &_| Some(evidence::find(&report.place, one)?.display().to_string());
    let mut page = render::result(&result, path.as_deref(), &lies_at, context.out.width());
    judged_where(&mut page, &report.workspaces, Checkout::Pristine);
    let audited = audit::audit(&ending.world);
    if let Some(findings) = render::findings_in_short(&audited) {
        page.push(render::row("audit").plain(format!("{findings} (descent report --audit)")));
    }
    let is_completed = ending.world.state.run.status == RunStatus::Completed;
    if is_completed && leads_on {
        // The result may have been applied already.
        let applied = workspace::applied(&report.place, &ending.world.state.lineage);
        page.next(&view::next(&ending.world, &Surroundings { live: false, applied }));
    } else if !is_completed {
        render::next_moves(&mut page, &result);
    }
    context.out.page(&page);
}

/// Names the things that a deciding verdict shared with other trees.
pub(super) fn judged_where(page: &mut Page, workspaces: &Workspaces, which: Checkout) {
    let Some(trees) = workspaces.trees() else {
        let words = "checked in place: there is no fresh checkout here";
        return page.whole(render::row("shared").plain(words));
    };
    for kept in trees.keeps() {
        let words = format!("{kept}: it may be left over from an earlier checkout");
        page.whole(render::row("kept").plain(words));
    }
    for link in trees.linked(which) {
        let words = format!("{link}: the checks saw what stands there now");
        page.whole(render::row("linked").plain(words));
    }
}

/// The paths that the checks shared with the project.
pub(super) fn linked(workspaces: &Workspaces, which: Checkout) -> Vec<String> {
    let trees = workspaces.trees();
    trees.map_or(Vec::new(), |trees| trees.linked(which))
}

/// Signals are caught by now and must be answered, so a thread of its own waits for git.
fn apply_here(context: &Context) -> Result<End, Failure> {
    let (over, is_over) = tokio::sync::oneshot::channel::<()>();
    std::thread::scope(|scope| {
        let applying = scope.spawn(move || {
            let applied = apply::apply(context, &ApplyArgs::default());
            drop(over);
            applied
        });
        let waited = interruptible(|_| async {
            // Its end is the message.
            let _ = is_over.await;
            Ok(())
        });
        let applied = applying.join().map_err(|_| Failure::bug("apply broke"))?;
        match waited? {
            Err(signal) => Ok(End::Signal(signal)),
            Ok(()) => applied,
        }
    })
}

pub(super) fn code_of(run: &Run) -> u8 {
    match run.status {
        RunStatus::Stopped if run.ending.reason == Some(Reason::Unavailable) => exit::UNAVAILABLE,
        RunStatus::Completed => 0,
        RunStatus::Stopped | RunStatus::Aligned => exit::STOPPED,
        RunStatus::Exhausted => exit::EXHAUSTED,
        RunStatus::NeedsGuidance => exit::PERSON_NEEDED,
        RunStatus::Running | RunStatus::Redirecting => exit::BUG,
    }
}

/// How a run ended: the last line of `descent run --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ResultOutput<'a> {
    schema: &'static str,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "FinalResultRecord"))]
    result: Option<&'a FinalResultRecord>,
    /// The commit of the ending.
    serial: Serial,
    /// The kinds of findings of the auditor, with the number of cases of each.
    findings: Vec<FoundOutput>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FoundOutput {
    code: AuditCode,
    count: u64,
}

fn result_json(report: &RunReport) -> serde_json::Value {
    let world = &report.ending.world;
    let result = run_end::last_result(world);
    // In the state alone: the journal may be long.
    let findings = audit::audit(world).into_iter();
    let output = ResultOutput {
        schema: "descent/result/1",
        result: result.as_ref(),
        serial: world.state.serial,
        findings: findings.map(|one| FoundOutput { code: one.code, count: one.count }).collect(),
    };
    let mut value = serde_json::to_value(&output).unwrap_or_default();
    let workspace = value.get_mut("workspace");
    if let Some(workspace) = workspace.and_then(|workspace| workspace.as_object_mut()) {
        let path = report.path().map(|path| path.display().to_string());
        workspace.insert("path".to_owned(), path.into());
        let branch = report.workspaces.trees().map(Worktrees::result_ref);
        workspace.insert("branch".to_owned(), branch.into());
        let linked = linked(&report.workspaces, Checkout::Pristine);
        workspace.insert("linked".to_owned(), linked.into());
    }
    evidence::locate(&report.place, &mut value);
    value
}

/// The start of a detached run: `descent run --detach --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DetachOutput<'a> {
    schema: &'static str,
    run: &'a RunId,
    pid: u32,
    /// The file that holds all that the run prints.
    log: &'a str,
    /// Its first commit.
    serial: Serial,
}

/// Starts the run, and ends with its first commit or with its error.
fn detach(context: &Context, mut store: Store) -> Result<End, Failure> {
    ops::ready(&mut store)?;
    let config = config::load(&store.place().project)?;
    ops::trust::gate(&context.client(Some(&config)), &mut store)?;
    let outcome = runtime()?.block_on(async {
        let mut signals = signals()?;
        let args = std::env::args_os().skip(1);
        ops::detach::start(args, &mut signals).await
    })?;
    let begun = match outcome {
        DetachOutcome::Begun(begun) => begun,
        DetachOutcome::Signal(signal) => return Ok(End::Signal(signal)),
    };
    let (run, pid, log, serial) = (&begun.run, begun.pid, &begun.log, begun.serial);
    let output = DetachOutput { schema: "descent/detach/1", run, pid, log, serial };
    let head = format!("detached: the run is at work by itself (pid {pid})");
    Ok(context.answer(&output, || format!("{head}\n  log     {log}\nnext: descent wait")))
}

#[derive(Debug, Args)]
pub struct WaitArgs {
    /// Wait for so long at most, such as 90s or 2h; then end with 75
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
}

pub(super) fn wait(context: &Context, flags: &WaitArgs) -> Result<End, Failure> {
    let limit = flags.timeout.as_deref().map(limit).transpose()?;
    let mut store = context.store()?;
    let (client, runtime) = (context.client(None), runtime()?);
    let waiting = ops::watch::wait(&client, &mut store, clock::real(), limit.as_ref());
    let report = runtime.block_on(waiting)?;
    show_result(context, &report, true);
    Ok(End::Code(code_of(&report.ending.world.state.run)))
}

fn limit(text: &str) -> Result<WaitLimit, Failure> {
    let parsed = DurationText::parse(text).ok_or_else(|| {
        let message = format!("--timeout {text}: that is not a duration");
        Failure::usage(message, "a number and a unit: 90s, 10m, 1h30m")
    })?;
    Ok(WaitLimit { ms: parsed.ms, text: parsed.as_str().to_owned() })
}
