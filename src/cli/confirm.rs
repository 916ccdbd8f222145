//! `descent confirm`: what only a person can say, recorded as a correction.

use clap::Args;
use descent_core::{
    doc::suggest,
    event::Event,
    id::{CommitId, TreeId},
    state::{Confirmation, State},
    step::{
        World,
        correct::{self, Answer},
    },
    verdict::assertions::{self, Assertion},
    view,
};

use super::{
    End,
    adoption::{AGAIN_TIMES, restless, settled},
    context::Context,
};
use crate::{
    clock,
    failure::Failure,
    render,
    store::{CommitContent, CommitError, LoadedState, Store},
    workspace::Workspaces,
};

#[derive(Debug, Args)]
pub struct ConfirmArgs {
    /// The assertion, by its name or its words; without it all are listed
    name: Option<String>,
    /// Say that it does not hold
    #[arg(long, requires = "name")]
    no: bool,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", requires = "name")]
    reason: Option<String>,
}

pub(super) fn confirm(context: &Context, flags: &ConfirmArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = settled(context, &mut store, None)?;
    let all = assertions::assertions(&loaded.state);
    let Some(name) = &flags.name else {
        report(context, &loaded.state, store.is_live(), "listed", &all);
        return Ok(End::Code(0));
    };
    let Some(assertion) = all.iter().find(|one| one.is_called(name)) else {
        return Err(unknown(name, &all));
    };
    let said = record(context, &mut store, loaded, assertion, flags)?;
    let (state, result) = match said {
        ConfirmOutcome::Now(state, notices) => {
            notices.iter().for_each(|notice| say(context, notice));
            (state, if flags.no { "denied" } else { "confirmed" })
        }
        ConfirmOutcome::Before(state, word) => {
            context
                .out
                .say(&format!("{} already", render::line(&told(&word))));
            (state, "unchanged")
        }
    };
    let live = store.is_live();
    if !live {
        store.remember();
    }
    report(
        context,
        &state,
        live,
        result,
        std::slice::from_ref(assertion),
    );
    Ok(End::Code(0))
}

fn say(context: &Context, notice: &Event) {
    if let Event::Corrected { what, .. } = notice {
        context.out.say(&render::line(what));
    }
}

enum ConfirmOutcome {
    Now(State, Vec<Event>),
    Before(State, Confirmation),
}

enum ConfirmRefusal {
    /// The result is another one, or the file was edited: look again.
    Moved,
    /// With the state that holds the word: another `confirm` may have just written it.
    Already(Box<(State, Confirmation)>),
}

fn record(
    context: &Context,
    store: &mut Store,
    mut loaded: std::sync::Arc<LoadedState>,
    assertion: &Assertion,
    flags: &ConfirmArgs,
) -> Result<ConfirmOutcome, Failure> {
    for _ in 0..AGAIN_TIMES {
        let result = loaded.state.run.result().cloned();
        let tree = if assertion.is_of_one_tree(&loaded.state) {
            tree_of(store, &loaded.state, result.as_ref())?
        } else {
            None
        };
        let mut notices = Vec::new();
        let written = store.commit(|fresh| {
            if fresh.is_foreign || fresh.state.run.result() != result.as_ref() {
                return Err(ConfirmRefusal::Moved);
            }
            let word = Answer {
                assertion,
                holds: !flags.no,
                on: tree.as_ref(),
                reason: flags.reason.as_deref(),
            };
            let adopted = correct::confirm(&fresh.state, &word, &Context::by(), clock::now())
                .map_err(|earlier| {
                    ConfirmRefusal::Already(Box::new((fresh.state.clone(), *earlier)))
                })?;
            notices = adopted.notices;
            Ok(Some(CommitContent {
                state: adopted.state,
                touched: adopted.touched,
            }))
        });
        match written {
            Ok(loaded) => return Ok(ConfirmOutcome::Now(loaded.state.clone(), notices)),
            Err(CommitError::Decide(ConfirmRefusal::Already(said))) => {
                let (state, earlier) = *said;
                return Ok(ConfirmOutcome::Before(state, earlier));
            }
            Err(CommitError::Decide(ConfirmRefusal::Moved)) => {
                loaded = settled(context, store, None)?
            }
            Err(CommitError::Store(error)) => return Err(error.into()),
        }
    }
    Err(restless(store))
}

/// The tree of the result as it stands; before the first run the one that it would start from.
fn tree_of(
    store: &Store,
    state: &State,
    head: Option<&CommitId>,
) -> Result<Option<TreeId>, Failure> {
    let constraints = &state.objective.constraints;
    let workspaces = Workspaces::open(store.place(), &state.lineage, constraints)?;
    match head {
        Some(head) => Ok(workspaces.tree_of(head)?),
        None => Ok(workspaces.snapshot()?.map(|start| start.tree)),
    }
}

fn unknown(name: &str, all: &[Assertion]) -> Failure {
    if all.is_empty() {
        let hint = "add {\"assertion\": \"what shall be so\"} to the base case, or descent status";
        return Failure::usage(
            format!("no assertion is called `{name}`: there is none"),
            hint,
        );
    }
    let names = || {
        all.iter()
            .flat_map(|one| [one.name.as_str(), one.statement.as_str()])
    };
    let wanted = name.to_lowercase();
    let near = suggest(name, names())
        .or_else(|| names().find(|known| known.to_lowercase().contains(&wanted)));
    let hint = near.map_or_else(
        || "descent confirm lists them".to_owned(),
        |near| format!("did you mean this? {}", assertions::command(near)),
    );
    Failure::usage(format!("no assertion is called `{name}`"), hint)
}

fn told(word: &Confirmation) -> String {
    let verb = if word.holds { "confirmed" } else { "denied" };
    format!("{verb} by {} at {}", word.by, word.at)
}

fn report(context: &Context, state: &State, live: bool, result: &str, shown: &[Assertion]) {
    let next = match result {
        _ if live => "descent status".to_owned(),
        "denied" => "descent run".to_owned(),
        _ => view::next(&World::new(state.clone()), false),
    };
    if context.out.json {
        let all: Vec<serde_json::Value> = shown.iter().map(|one| json(one, state)).collect();
        context.out.json(&serde_json::json!({
            "schema": "descent/confirm/1",
            "result": result,
            "assertions": all,
            "next": next,
        }));
        return;
    }
    let mut lines: Vec<String> = shown.iter().map(|one| row(one, state)).collect();
    if shown.is_empty() {
        lines.push("nothing here waits for a person's word".to_owned());
    }
    lines.push(format!("next: {next}"));
    context.out.data(&render::clean(&lines.join("\n")));
}

fn row(one: &Assertion, state: &State) -> String {
    let word = one.said(state);
    let verdict = match word {
        Some(word) if word.holds => "pass",
        Some(_) => "fail",
        None => "unknown",
    };
    let earlier = || assertions::newest(&state.corrections, &one.name, &one.statement, |_| true);
    let told = match (word, word.is_none().then(earlier).flatten()) {
        (Some(word), _) => told(word),
        (None, Some(earlier)) => format!("{}, of another tree", told(earlier)),
        (None, None) => "nobody said anything of it yet".to_owned(),
    };
    let atoms: Vec<&str> = one.atoms.iter().map(|id| id.as_str()).collect();
    let whose = match (one.in_base_case, atoms.is_empty()) {
        (_, true) => String::new(),
        (true, false) => format!("; also of {}", atoms.join(", ")),
        (false, false) => format!("; of {}", atoms.join(", ")),
    };
    format!("  {verdict:<8}{}  ({told}{whose})", render::line(&one.name))
}

fn json(one: &Assertion, state: &State) -> serde_json::Value {
    let word = one.said(state);
    serde_json::json!({
        "name": one.name,
        "statement": one.statement,
        "base_case": one.in_base_case,
        "atoms": one.atoms,
        "holds": word.map(|word| word.holds),
        "by": word.map(|word| &word.by),
        "at": word.map(|word| &word.at),
        "on": word.and_then(|word| word.on.as_ref()),
        "reason": word.and_then(|word| word.reason.as_ref()),
    })
}
