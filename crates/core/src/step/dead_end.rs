//! The order at a dead end, where the selection in force is blocked: see [`judge`]. The plan is tried to its end before it
//! is changed, so no change takes a solution away.

use crate::event::Reason;

/// The facts about a dead end that can be true at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeadEndFacts {
    /// Another selection without a conflict, or another round of a planning step.
    pub another_selection: bool,
    /// Something rests, and can go on.
    pub rests: bool,
    /// A person is asked before anything else: an effect in doubt, or a confirmation.
    pub asks_first: Option<Reason>,
    /// Something is in flight or ready under the selection in force.
    pub is_at_work: bool,
    /// The tree to deliver is not judged yet.
    pub awaits_verdict: bool,
    /// The base case holds on the tree to deliver.
    pub base_case_holds: bool,
    /// A planner may change the plan once more, and there is a place for it.
    pub may_change: bool,
    /// An atom waits for a person's guidance.
    pub awaits_guidance: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadEnd {
    TakeSelection,
    Wake,
    AskFirst(Reason),
    BringToEnd,
    AwaitVerdict,
    Complete,
    ChangePlan,
    AskForGuidance,
    End,
}

/// Another selection or round > a rest to end > a doubt or confirmation > ready work > the base case on the tree to
/// deliver. Then a planner's change > guidance > the end.
pub fn judge(facts: &DeadEndFacts) -> DeadEnd {
    match facts {
        DeadEndFacts { another_selection: true, .. } => DeadEnd::TakeSelection,
        DeadEndFacts { rests: true, .. } => DeadEnd::Wake,
        DeadEndFacts { asks_first: Some(reason), .. } => DeadEnd::AskFirst(*reason),
        DeadEndFacts { is_at_work: true, .. } => DeadEnd::BringToEnd,
        DeadEndFacts { awaits_verdict: true, .. } => DeadEnd::AwaitVerdict,
        DeadEndFacts { base_case_holds: true, .. } => DeadEnd::Complete,
        DeadEndFacts { may_change: true, .. } => DeadEnd::ChangePlan,
        DeadEndFacts { awaits_guidance: true, .. } => DeadEnd::AskForGuidance,
        DeadEndFacts { .. } => DeadEnd::End,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_that_holds_at_a_dead_end_the_first_in_the_order_is_done() {
        let mut facts = DeadEndFacts {
            another_selection: true,
            rests: true,
            asks_first: Some(Reason::InDoubt),
            is_at_work: true,
            awaits_verdict: true,
            base_case_holds: true,
            may_change: true,
            awaits_guidance: true,
        };
        assert_eq!(judge(&facts), DeadEnd::TakeSelection);
        facts.another_selection = false;
        assert_eq!(judge(&facts), DeadEnd::Wake);
        facts.rests = false;
        assert_eq!(judge(&facts), DeadEnd::AskFirst(Reason::InDoubt));
        facts.asks_first = None;
        assert_eq!(judge(&facts), DeadEnd::BringToEnd);
        facts.is_at_work = false;
        assert_eq!(judge(&facts), DeadEnd::AwaitVerdict);
        facts.awaits_verdict = false;
        assert_eq!(judge(&facts), DeadEnd::Complete);
        facts.base_case_holds = false;
        assert_eq!(judge(&facts), DeadEnd::ChangePlan);
        facts.may_change = false;
        assert_eq!(judge(&facts), DeadEnd::AskForGuidance);
        facts.awaits_guidance = false;
        assert_eq!(judge(&facts), DeadEnd::End);
    }
}
