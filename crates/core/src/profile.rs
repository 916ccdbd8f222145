//! The kind of a task by an agent's answer, and what follows: passes, depth of plans, and how much plans are judged
//! (contract §9.26).
//!
//! Invariant: more depth, tools, breadth or confidence never give fewer passes, and more information never gives more.
//! Every number stays within the limits that a person set.

use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::AgentName,
    state::{
        Constraints, Extra, JudgingLevel, State,
        answer_records::KindAnswer,
        limits::{self, FRAGMENT_DEPTH_MAX, InForce},
        profile::{
            ConfidenceNeed, OutputBreadth, PassCount, ProfileRecord, ProfileSource, ProfileText,
            TaskProfile, ToolUsage,
        },
    },
};

/// Depth is in units of 1, all else in thousandths: five factors.
const UNIT: u64 = 1_000_000_000_000;

/// The profile in force: a person's, else an agent's; none where nobody said anything of it.
pub fn in_force(state: &State) -> Option<TaskProfile> {
    let said = state.objective.constraints.profile.as_ref();
    let inferred = state.run.profile.as_ref();
    said.map(|said| said.profile).or(inferred.map(|known| known.profile))
}

/// The record of what an agent said, or of the default and why there is no more.
pub fn record(agent: AgentName, at: String, said: Result<KindAnswer, String>) -> ProfileRecord {
    let (source, fault, profile, raw_inference) = match said {
        Ok(said) => (ProfileSource::Inferred, String::new(), said.profile, said.raw_inference),
        Err(fault) => (ProfileSource::Default, fault, TaskProfile::UNKNOWN, String::new()),
    };
    ProfileRecord {
        profile,
        raw_inference,
        source,
        agent,
        fault,
        at,
        history: Vec::new(),
        extra: Extra::default(),
    }
}

/// An agent's profile as a person would say it.
pub fn inferred_text(state: &State) -> Option<ProfileText> {
    let known = state.run.profile.as_ref()?.profile;
    let text = format!(
        "depth={},information={},tools={},breadth={},confidence={}",
        known.reasoning_depth,
        known.information_sufficiency.text(),
        known.expected_tool_usage.word(),
        known.output_breadth.word(),
        known.confidence_requirement.word()
    );
    ProfileText::parse(&text).ok()
}

/// A profile that is worth more passes than `than`, with the fewest changes: deeper, then with less that is known.
pub fn worth_more(said: &ProfileText, than: u32) -> Option<ProfileText> {
    let mut deeper = said.deeper();
    while let Some(text) = deeper {
        if passes(&text.profile, u32::MAX) > than {
            return Some(text);
        }
        deeper = text.deeper();
    }
    None
}

/// The passes that a profile is worth, within a limit.
pub fn passes(profile: &TaskProfile, max_passes: u32) -> u32 {
    let known = u64::from(profile.information_sufficiency.0.min(1_000));
    let tools = match profile.expected_tool_usage {
        ToolUsage::NoTools => 500,
        ToolUsage::Minimal => 750,
        ToolUsage::Moderate => 1_000,
        ToolUsage::Extensive => 1_500,
    };
    let breadth = match profile.output_breadth {
        OutputBreadth::Narrow => 750,
        OutputBreadth::Moderate => 1_000,
        OutputBreadth::Broad => 1_500,
    };
    let confidence = match profile.confidence_requirement {
        ConfidenceNeed::Low => 750,
        ConfidenceNeed::Medium => 1_000,
        ConfidenceNeed::High => 1_500,
    };
    let depth = u64::from(profile.reasoning_depth.clamp(1, 5));
    let all = depth * (1_500 - known) * tools * breadth * confidence;
    let rounded = (all + UNIT / 2) / UNIT;
    let passes = u32::try_from(rounded).unwrap_or(u32::MAX);
    passes.clamp(1, max_passes.max(1))
}

/// The most that a fragment may nest.
pub fn fragment_depth(state: &State) -> u32 {
    let most = FRAGMENT_DEPTH_MAX;
    match in_force(state) {
        Some(profile) => most.min((profile.reasoning_depth.clamp(1, 5) * 3).div_ceil(5)),
        None => most,
    }
}

/// How much planners' plans are judged: a person's own word, else by the confidence that is asked for.
pub fn judging(state: &State) -> JudgingLevel {
    if let Some(level) = state.objective.constraints.judging {
        return level;
    }
    match in_force(state).map(|profile| profile.confidence_requirement) {
        None | Some(ConfidenceNeed::Low) => JudgingLevel::Code,
        Some(ConfidenceNeed::Medium) => JudgingLevel::Model,
        Some(ConfidenceNeed::High) => JudgingLevel::Full,
    }
}

/// Every constraint in force, those among them that the kind of task sets.
pub fn constraints_in_force(state: &State) -> Vec<InForce> {
    let mut all = limits::in_force(&state.objective.constraints);
    if in_force(state).is_none() {
        return all;
    }
    for one in all.iter_mut().filter(|one| !one.is_chosen) {
        let value = match one.key.as_str() {
            "judging" => Node::string(judging(state).word()),
            _ => continue,
        };
        one.is_of_profile = one.value != value;
        one.value = value;
    }
    all
}

/// The most passes that a run may have.
pub fn max_passes(constraints: &Constraints) -> u32 {
    let by_changes = constraints.planning.changes().saturating_add(1);
    constraints.planning.passes.unwrap_or(by_changes)
}

/// The passes as they are counted when a run starts: those that have begun stay. None where nothing was said of them, so
/// that only `planning.changes` limits changes of the plan.
pub fn allocated(state: &State) -> Option<PassCount> {
    let constraints = &state.objective.constraints;
    let profile = in_force(state);
    if profile.is_none() && constraints.planning.passes.is_none() {
        return None;
    }
    let most = max_passes(constraints);
    let allocated = profile.map_or(most, |profile| passes(&profile, most));
    let allocated = allocated.max(kept(state).unwrap_or(0));
    let known = state.run.passes.as_ref();
    Some(PassCount {
        allocated,
        begun: known.map_or(1, |count| count.begun),
        extra: known.map(|count| count.extra.clone()).unwrap_or_default(),
    })
}

/// The passes that are allocated by an agent's profile, within the limits as they are now.
pub fn kept(state: &State) -> Option<u32> {
    let constraints = &state.objective.constraints;
    let is_persons = constraints.profile.is_some() || state.run.profile.is_none();
    let known = state.run.passes.as_ref().filter(|_| !is_persons)?;
    Some(known.allocated.min(max_passes(constraints)))
}

/// Whether another pass may begin: passes are left, and the control law has not ended planning.
pub fn may_begin_pass(state: &State) -> bool {
    !state.has_abandoned() && !are_passes_over(state)
}

/// Whether all passes that are allocated have begun.
pub fn are_passes_over(state: &State) -> bool {
    let count = state.run.passes.as_ref();
    count.is_some_and(|count| count.begun >= count.allocated)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::state::check::Thousandths;

    fn of(text: &str) -> TaskProfile {
        ProfileText::parse(text).unwrap().profile
    }

    #[test]
    fn the_table_of_passes_holds() {
        for (text, wanted) in [
            ("depth=3", 3),
            ("depth=1,information=1,tools=none,breadth=narrow,confidence=low", 1),
            ("depth=2,information=0.8,tools=minimal,breadth=narrow", 1),
            ("depth=4,information=0.3,breadth=broad", 7),
            ("depth=5,information=0.2,tools=extensive,breadth=broad,confidence=high", 11),
            ("information=1", 2),
            ("information=0", 5),
        ] {
            assert_eq!(passes(&of(text), 11), wanted, "{text}");
        }
        assert_eq!(passes(&TaskProfile::UNKNOWN, 11), 3);
        assert_eq!(passes(&of("depth=5,information=0,tools=extensive"), 4), 4);
    }

    #[test]
    fn every_corner_is_monotone_and_within_the_limits() {
        let tools = ToolUsage::WORDS.map(|(_, one)| one);
        let breadths = OutputBreadth::WORDS.map(|(_, one)| one);
        let needs = ConfidenceNeed::WORDS.map(|(_, one)| one);
        let of = |d: usize, i: usize, t: usize, b: usize, c: usize| {
            let profile = TaskProfile {
                reasoning_depth: u32::try_from(d + 1).unwrap(),
                information_sufficiency: Thousandths(u32::try_from(i * 250).unwrap()),
                expected_tool_usage: tools[t],
                output_breadth: breadths[b],
                confidence_requirement: needs[c],
            };
            passes(&profile, 11)
        };
        for d in 0..5 {
            for i in 0..5 {
                for t in 0..4 {
                    for b in 0..3 {
                        for c in 0..3 {
                            let here = of(d, i, t, b, c);
                            assert!((1..=11).contains(&here));
                            assert!(d == 4 || of(d + 1, i, t, b, c) >= here);
                            assert!(i == 4 || of(d, i + 1, t, b, c) <= here);
                            assert!(t == 3 || of(d, i, t + 1, b, c) >= here);
                            assert!(b == 2 || of(d, i, t, b + 1, c) >= here);
                            assert!(c == 2 || of(d, i, t, b, c + 1) >= here);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_profile_that_is_worth_more_passes_is_found_if_there_is_one() {
        let more = |text: &str, than| {
            let more = worth_more(&ProfileText::parse(text).unwrap(), than);
            more.map(|text| String::from(text.as_str()))
        };
        let found = more("depth=2,confidence=low", 2);
        assert_eq!(found.as_deref(), Some("confidence=low,depth=4"));
        assert_eq!(more("depth=5", 5).as_deref(), Some("depth=5,information=0"));
        assert_eq!(more("depth=5,information=0", 8), None);
    }

    #[test]
    fn a_text_that_is_no_profile_says_what_would_be_right() {
        for (text, words) in [
            ("depth=6", "from 1 to 5"),
            ("depth", "from 1 to 5"),
            ("information=2", "from 0 to 1"),
            ("tools=all", "one of none, minimal"),
            ("dept=3", "did you mean `depth`?"),
            ("", "no part of a profile"),
        ] {
            let fault = ProfileText::parse(text).unwrap_err();
            assert!(fault.contains(words), "{fault}");
        }
    }
}
