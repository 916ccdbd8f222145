//! A redirect in the person's own words: an aligner proposes the change, asks what it cannot settle, and the difference
//! is shown.
//!
//! Invariant: nothing of it counts before a yes. Without a proposal, flags are typed as ever.

use descent_core::{
    change::Redirect,
    doc::Node,
    id::AtomId,
    plan,
    proposal::Clarification,
    state::Objective,
    trust::{TrustGroup, TrustItem, TrustList},
    world::World,
};

use super::{STANDS, lines, make};
use crate::{
    cli::{
        End,
        align::survey_of,
        asking::{self, AskEnd},
        context::{Context, runtime},
    },
    clock,
    config::{self, Config},
    failure::Failure,
    ops::{
        self,
        aligner::{Aligner, AlignerQuestion, AligningTask, ProposedChange},
        redirect::{OpenRedirect, RedirectOrder, Unchanged},
    },
    render::{self, Bounds},
    store::Store,
};

/// Everything: the answer of an aligner is bounded.
const WHOLE: Bounds = Bounds { items_max: usize::MAX, chars_max: usize::MAX };

/// The end of a dialogue.
pub(super) enum DialogueEnd {
    End(End),
    /// The person types what is to be another; their answers stand.
    Typing(Vec<Clarification>),
}

pub(super) fn hold(
    context: &Context,
    store: &mut Store,
    open: &OpenRedirect,
    words: &str,
) -> Result<DialogueEnd, Failure> {
    let none = || DialogueEnd::Typing(Vec::new());
    if !asking::is_seen(context) {
        return Ok(none());
    }
    let top = store.place().project.clone();
    let config = config::load(&top).unwrap_or_else(|error| {
        context.out.say(&format!("warning: {error}"));
        Config::default()
    });
    let survey = survey_of(&top);
    let aligner = match Aligner::of(&config, &top, &survey, clock::now()) {
        Ok(Some(aligner)) => aligner,
        Ok(None) => return Ok(none()),
        Err(failure) => {
            context.out.failure(&failure);
            return Ok(none());
        }
    };
    // A configuration that may be another's starts nobody unasked.
    let with_agents = context.client(Some(&config));
    ops::trust::gate_plan(&with_agents, &top, store.place(), &config, None)?;
    let client = context.client(None);
    let world = World::new(ops::current(&client, store)?.state.clone());
    let dialogue = Dialogue { context, aligner: &aligner, world: &world, words };
    let (first, answer) = match dialogue.turn(&[], None)? {
        ChangeTurn::Proposed(proposed, answer) => (*proposed, answer),
        ChangeTurn::Nothing => return Ok(none()),
        ChangeTurn::Ended(end) => return taken_back(context, store, end),
    };
    let name = aligner.agent.name.as_str();
    let Some(answers) = asking::answers(context.out, name, &first.questions) else {
        return Ok(none());
    };
    let mut redirect = if answers.is_empty() {
        first.redirect
    } else {
        match dialogue.turn(&answers, Some(&answer))? {
            ChangeTurn::Proposed(proposed, _) => proposed.redirect,
            ChangeTurn::Nothing => return Ok(DialogueEnd::Typing(answers)),
            ChangeTurn::Ended(end) => return taken_back(context, store, end),
        }
    };
    if redirect.is_empty() {
        context.out.say(&format!("the aligner `{name}` proposes no change"));
        return Ok(DialogueEnd::Typing(answers));
    }
    redirect.clarifications.clone_from(&answers);
    let order = RedirectOrder { redirect, reason: Some(words.to_owned()), moved: Vec::new() };
    Ok(match decide(context, store, open, &order, name)? {
        Some(end) => DialogueEnd::End(end),
        None => DialogueEnd::Typing(answers),
    })
}

/// Shows the difference with every command in it, and makes it after a yes.
fn decide(
    context: &Context,
    store: &mut Store,
    open: &OpenRedirect,
    order: &RedirectOrder,
    name: &str,
) -> Result<Option<End>, Failure> {
    let client = context.client(None);
    let loaded = ops::current(&client, store)?;
    let planned = match ops::redirect::plan(&client, &loaded.state, order) {
        Ok(Ok(planned)) => planned,
        Ok(Err(Unchanged)) => {
            context.out.say(STANDS);
            return Ok(None);
        }
        Err(failure) => {
            context.out.failure(&failure);
            return Ok(None);
        }
    };
    context.out.say(&format!("\nproposed by `{name}`; nothing of it counts yet:"));
    context.out.say(&render::clean(&lines(context, store, &planned).join("\n")));
    let carried = carried(&order.redirect);
    if !carried.is_empty() {
        context.out.say("all that it sets, whole:");
        for line in render::carried(&carried, WHOLE, "descent redirect") {
            context.out.say(&format!("  {line}"));
        }
    }
    if !runtime()?.block_on(context.consents("redirect?")) {
        return Ok(None);
    }
    make(context, store, loaded, order, Some(open), false).map(Some)
}

/// Everything that a redirect sets.
fn carried(redirect: &Redirect) -> TrustList {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut objective = Objective {
        goal: text(&redirect.goal),
        deliverables: text(&redirect.deliverables),
        definition_of_done: text(&redirect.definition_of_done),
        clarifications: Clarification::added(None, &redirect.clarifications),
        ..Objective::default()
    };
    for command in redirect.checks.iter().chain(&redirect.more_checks) {
        plan::add_check(&mut objective.base_case, command);
    }
    let set = TrustList::of_plan(&objective, &redirect.atoms);
    set.and(TrustList::of_items(moves(redirect)))
}

/// The moves of a redirect among the atoms and checks that stand.
fn moves(redirect: &Redirect) -> Vec<TrustItem> {
    let ids = |ids: &[AtomId]| ids.iter().map(ToString::to_string).collect();
    let choices = redirect.selected.iter();
    let choices = choices.map(|one| format!("{} in {}", one.choice, one.group));
    let checks = if redirect.checks.is_empty() {
        Vec::new()
    } else {
        vec!["takes the place of all that stand".to_owned()]
    };
    let moves: [(&str, Vec<String>); 6] = [
        ("base case", checks),
        ("new atoms into", redirect.into.iter().map(ToString::to_string).collect()),
        ("takes out", ids(&redirect.removed)),
        ("chooses", choices.collect()),
        ("makes again", ids(&redirect.forgotten)),
        ("tries again", ids(&redirect.retried)),
    ];
    let each = moves.into_iter().flat_map(|(at, texts)| {
        texts.into_iter().map(move |text| TrustItem {
            group: TrustGroup::Setting,
            at: at.to_owned(),
            text,
        })
    });
    each.collect()
}

/// The process ends: the loop goes on as before.
fn taken_back(context: &Context, store: &mut Store, end: End) -> Result<DialogueEnd, Failure> {
    ops::redirect::abort(&context.client(None), store)?;
    Ok(DialogueEnd::End(end))
}

struct Dialogue<'a> {
    context: &'a Context,
    aligner: &'a Aligner<'a>,
    world: &'a World,
    words: &'a str,
}

enum ChangeTurn {
    Proposed(Box<ProposedChange>, Node),
    Nothing,
    Ended(End),
}

impl Dialogue<'_> {
    /// One question to it: the first, or the last after the person's answers.
    fn turn(
        &self,
        answers: &[Clarification],
        before: Option<&Node>,
    ) -> Result<ChangeTurn, Failure> {
        let may_ask = before.is_none();
        let question = AlignerQuestion {
            task: AligningTask::Change(self.world),
            words: self.words,
            why: "",
            given: &[],
            answers,
            before,
            may_ask,
        };
        let what = if may_ask { "a change" } else { "the change with your answers" };
        Ok(match asking::put(self.context, self.aligner, &question, what)? {
            AskEnd::Answer(node) => {
                let state = &self.world.state;
                let proposed = self.aligner.change(&node, may_ask, state);
                ChangeTurn::Proposed(Box::new(proposed.map_err(Failure::bug)?), node)
            }
            AskEnd::Nothing => ChangeTurn::Nothing,
            AskEnd::Signal(signal) => ChangeTurn::Ended(End::Signal(signal)),
        })
    }
}
