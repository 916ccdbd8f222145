//! Offers files that a fresh checkout lacks as `link` or `setup`, if a check ends differently there.

use std::path::Path;

use descent_core::state::Constraints;
use tokio_util::sync::CancellationToken;

use super::{
    super::ask::{self, ListAnswer},
    preview, questions,
};
use crate::{
    ops::{align::survey_of, compare::CheckoutComparison},
    render::Out,
};

/// Shows the difference and offers to mend it; whether something was taken into the constraints.
pub(super) async fn offer(
    out: Out,
    top: &Path,
    constraints: &mut Constraints,
    comparison: &CheckoutComparison,
    cancel: &CancellationToken,
) -> bool {
    out.say("Some checks end otherwise in a fresh checkout, where a run makes them:");
    for (here, fresh) in comparison.here.iter().zip(&comparison.fresh) {
        if here.verdict != fresh.verdict {
            let lines = preview::two(here, fresh);
            lines.iter().for_each(|line| out.say(&line.text(false)));
        }
    }
    let links = &comparison.links;
    let mut offers = links.clone();
    offers.extend(survey_of(top).setup);
    // A command that was taken before and did not help is not offered again.
    let setup = constraints.setup.run.clone();
    offers.retain(|offer| setup.as_deref().is_none_or(|setup| !setup.contains(&offer.text)));
    if offers.is_empty() {
        out.say("What a fresh one needs can be made by a command.  (--setup COMMAND)");
        out.say("Enter: go on as it is; or a setup command.");
    } else {
        out.say("It has only what git keeps. What does it need of the rest?");
        out.say(&questions::numbered(&questions::named(&offers, links.len())));
        out.say("Enter: go on as it is; or numbers, such as 1; or a setup command.");
    }
    loop {
        let reply = tokio::select! {
            reply = ask::in_background(out, "> ") => reply,
            () = cancel.cancelled() => None,
        };
        let Some(reply) = reply else { return false };
        match ask::taken(&reply, offers.len()) {
            ListAnswer::Text(text) if text.is_empty() => return false,
            ListAnswer::Text(text) if text == "?" => {
                out.say(questions::NEEDS_HELP);
                continue;
            }
            ListAnswer::Text(text) => add_setup(constraints, &text),
            ListAnswer::Items(places) => {
                for at in places {
                    if at < links.len() {
                        constraints.link.push(offers[at].text.clone());
                    } else {
                        add_setup(constraints, &offers[at].text);
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

fn add_setup(constraints: &mut Constraints, command: &str) {
    constraints.setup.run = Some(questions::joined(constraints.setup.run.take(), command));
}
