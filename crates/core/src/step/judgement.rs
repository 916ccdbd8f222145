//! The order of judgement at every observation, see [`judge`]. A loop that waits for the change of a redirect heeds a stop
//! alone.
//!
//! Not here: whether the base case holds and may complete the run (`base_case`), what each judgement does (`advance`).

use crate::event::Reason;

/// The facts about a run that can be true at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunFacts {
    /// A redirect is requested that was not obeyed yet.
    pub redirect: bool,
    pub stop: bool,
    /// The loop waits for the change of a redirect.
    pub awaits_change: bool,
    pub base_case_holds: bool,
    /// An agent cannot be used until a person does something.
    pub unavailable: bool,
    pub hard_budget: Option<Reason>,
    pub nothing_left: Option<Reason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    Redirect,
    Stop,
    AwaitChange,
    BaseCaseHolds,
    Unavailable,
    HardBudget(Reason),
    NothingLeft(Reason),
    GoOn,
}

/// Redirect > stop > base case holds > an agent cannot be used > hard budget > nothing left to try > go on.
pub fn judge(facts: &RunFacts) -> Judgement {
    match facts {
        RunFacts { redirect: true, .. } => Judgement::Redirect,
        RunFacts { stop: true, .. } => Judgement::Stop,
        RunFacts { awaits_change: true, .. } => Judgement::AwaitChange,
        RunFacts { base_case_holds: true, .. } => Judgement::BaseCaseHolds,
        RunFacts { unavailable: true, .. } => Judgement::Unavailable,
        RunFacts { hard_budget: Some(reason), .. } => Judgement::HardBudget(*reason),
        RunFacts { nothing_left: Some(reason), .. } => Judgement::NothingLeft(*reason),
        _ => Judgement::GoOn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_that_holds_at_once_the_first_in_the_order_is_judged() {
        let mut facts = RunFacts {
            redirect: true,
            stop: true,
            awaits_change: true,
            base_case_holds: true,
            unavailable: true,
            hard_budget: Some(Reason::Time),
            nothing_left: Some(Reason::NoChoice),
        };
        assert_eq!(judge(&facts), Judgement::Redirect);
        facts.redirect = false;
        assert_eq!(judge(&facts), Judgement::Stop);
        facts.stop = false;
        assert_eq!(judge(&facts), Judgement::AwaitChange);
        facts.awaits_change = false;
        assert_eq!(judge(&facts), Judgement::BaseCaseHolds);
        facts.base_case_holds = false;
        assert_eq!(judge(&facts), Judgement::Unavailable);
        facts.unavailable = false;
        assert_eq!(judge(&facts), Judgement::HardBudget(Reason::Time));
        facts.hard_budget = None;
        assert_eq!(judge(&facts), Judgement::NothingLeft(Reason::NoChoice));
        facts.nothing_left = None;
        assert_eq!(judge(&facts), Judgement::GoOn);
    }
}
