//! A judging agent's answer about a pass: its JSON Schema, the reading of it, and what code concludes from it.
//!
//! Invariant: an answer is taken whole or not at all. Whether a pass converged is code's to say, and decides nothing
//! about the base case. Not here: when it is asked for (`step/assess`).

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use crate::{
    doc::{self, Node},
    id::AtomId,
    state::{
        AssessmentCode, Complexity, CriterionScore,
        check::Thousandths,
        judged::{self, ConvergenceCriterion},
    },
};

/// Texts of one list, and characters of each.
const LIST_MAX: usize = 5;
const WORDS_CHARS_MAX: usize = 200;
/// The parts of a run that may be aligned with the goal.
const ALIGNED: [&str; 4] = ["plan", "step", "answer", "memory"];

/// The JSON Schema of the answer.
pub const SCHEMA: &str = r#"{"type":"object","required":["completeness","coherence","aligned"],"additionalProperties":false,"properties":{"completeness":{"type":"number","minimum":0,"maximum":1},"coherence":{"type":"number","minimum":0,"maximum":1},"aligned":{"type":"object","required":["plan","step","answer","memory"],"additionalProperties":false,"properties":{"plan":{"type":"boolean"},"step":{"type":"boolean"},"answer":{"type":"boolean"},"memory":{"type":"boolean"}}},"missing":{"type":"array","maxItems":5,"items":{"type":"string"}},"contradictions":{"type":"array","maxItems":5,"items":{"type":"string"}},"blame":{"type":"array","maxItems":5,"items":{"type":"string"}},"criteria":{"type":"array","maxItems":10,"items":{"type":"object","required":["name","score"],"additionalProperties":false,"properties":{"name":{"type":"string"},"score":{"type":"number","minimum":0,"maximum":1}}}},"complexity":{"enum":["as_expected","higher","lower"]}}}"#;

/// An agent's opinion of a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct AssessmentAnswer {
    pub completeness: Thousandths,
    pub coherence: Thousandths,
    /// The share of what is aligned with the goal.
    pub consistency: Thousandths,
    pub missing: Vec<String>,
    pub contradictions: Vec<String>,
    /// The atoms to blame, as far as they are of the plan.
    pub blame: Vec<AtomId>,
    /// The scores of a person's own criteria.
    pub criteria: Vec<CriterionScore>,
    pub complexity: Option<Complexity>,
}

/// Reads an answer about a plan with these atoms, by these criteria.
///
/// # Errors
/// What is wrong with it, in words that an agent can mend it by.
pub fn read(
    answer: &Node,
    criteria: &[ConvergenceCriterion],
    is_known: impl Fn(&str) -> bool,
) -> Result<AssessmentAnswer, String> {
    let known = [
        "completeness",
        "coherence",
        "aligned",
        "missing",
        "contradictions",
        "blame",
        "criteria",
        "complexity",
    ];
    let members = answer.as_object().unwrap_or_default();
    if let Some(other) = members.iter().find(|one| !known.contains(&&*one.key)) {
        return Err(format!("`{}` is no key of the answer", other.key));
    }
    let blame = list(answer, "blame")?;
    Ok(AssessmentAnswer {
        completeness: share(answer, "completeness")?,
        coherence: share(answer, "coherence")?,
        consistency: consistency(answer)?,
        missing: list(answer, "missing")?,
        contradictions: list(answer, "contradictions")?,
        blame: blame.iter().filter(|id| is_known(id)).map(|id| AtomId::new(id.as_str())).collect(),
        criteria: scores(answer, criteria)?,
        complexity: complexity(answer)?,
    })
}

/// The score of each criterion of a person; each has one.
fn scores(answer: &Node, criteria: &[ConvergenceCriterion]) -> Result<Vec<CriterionScore>, String> {
    let said = answer.get("criteria").and_then(Node::as_array);
    let said = said.unwrap_or_default();
    let mut scores = Vec::new();
    for criterion in judged::others(criteria) {
        let name = criterion.name.as_str();
        let of = |one: &&Node| one.get("name").and_then(Node::as_str) == Some(name);
        let score = said.iter().find(of).and_then(|one| one.get("score"));
        let score = score.and_then(Thousandths::of_node);
        let score = score.filter(|score| score.0 <= 1_000);
        scores.push(CriterionScore {
            name: name.to_owned(),
            score: score
                .ok_or_else(|| format!("`criteria` has a score from 0 to 1 of `{name}`"))?,
            extra: Default::default(),
        });
    }
    Ok(scores)
}

fn complexity(answer: &Node) -> Result<Option<Complexity>, String> {
    let node = answer.get("complexity");
    node.map(|node| Complexity::one_of("complexity", node.as_str())).transpose()
}

fn share(answer: &Node, key: &str) -> Result<Thousandths, String> {
    let share = answer.get(key).and_then(Thousandths::of_node);
    let share = share.filter(|share| share.0 <= 1_000);
    share.ok_or_else(|| format!("`{key}` is a number from 0 to 1"))
}

fn consistency(answer: &Node) -> Result<Thousandths, String> {
    let aligned = answer.get("aligned");
    let says = |key: &str| aligned.and_then(|aligned| aligned.get(key)?.as_bool());
    let mut holds = 0;
    for key in ALIGNED {
        let said = says(key).ok_or_else(|| format!("`aligned/{key}` is true or false"))?;
        holds += u32::from(said);
    }
    Ok(Thousandths(holds * 250))
}

fn list(answer: &Node, key: &str) -> Result<Vec<String>, String> {
    let Some(list) = answer.get(key) else {
        return Ok(Vec::new());
    };
    let fault = || format!("`{key}` is a list of at most {LIST_MAX} texts");
    let list = list.as_array().ok_or_else(fault)?;
    if list.len() > LIST_MAX {
        return Err(fault());
    }
    let texts =
        list.iter().map(|one| one.as_str().map(|text| doc::one_line(text, WORDS_CHARS_MAX)));
    let texts: Option<Vec<String>> = texts.collect();
    texts.ok_or_else(fault)
}

/// The facts about a pass that code sees.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassFacts {
    /// An issue of the newest report names something that is not there.
    pub names_what_is_not_there: bool,
    /// A task said that it cannot be done.
    pub has_blocked: bool,
}

impl AssessmentAnswer {
    /// Whether the pass did all that was asked of it, as far as its judge can tell.
    pub fn has_converged(&self, criteria: &[ConvergenceCriterion]) -> bool {
        let holds = |score: Thousandths, name| score >= judged::threshold(criteria, name);
        holds(self.completeness, "completeness")
            && holds(self.coherence, "coherence")
            && holds(self.consistency, "consistency")
            && self.failing(criteria).next().is_none()
    }

    /// The person's own criteria that do not hold.
    fn failing<'a>(
        &'a self,
        criteria: &'a [ConvergenceCriterion],
    ) -> impl Iterator<Item = &'a CriterionScore> {
        self.criteria.iter().filter(|one| {
            let mut all = criteria.iter();
            all.any(|known| known.name == one.name && one.score < known.at_least)
        })
    }

    /// The reasons in codes, in the order of their list; a criterion's is `criterion:` and its name. The base case does
    /// not hold where this is asked.
    pub fn codes(&self, facts: PassFacts, criteria: &[ConvergenceCriterion]) -> Vec<String> {
        let holds = |score: Thousandths, name| score >= judged::threshold(criteria, name);
        let is_complete = holds(self.completeness, "completeness");
        let all = [
            (is_complete, AssessmentCode::Complete),
            (!is_complete, AssessmentCode::Incomplete),
            (!self.missing.is_empty(), AssessmentCode::MissingStep),
            (!self.contradictions.is_empty(), AssessmentCode::Contradiction),
            (!holds(self.coherence, "coherence"), AssessmentCode::Incoherent),
            (!holds(self.consistency, "consistency"), AssessmentCode::Inconsistent),
        ];
        let said = all.into_iter().filter(|(holds, _)| *holds);
        let said = said.map(|(_, code)| code.word().to_owned());
        let failing = self.failing(criteria);
        let failing = failing.map(|one| format!("criterion:{}", one.name));
        said.chain(failing).chain(codes_of_facts(facts)).collect()
    }
}

/// The codes of what code sees by itself.
pub fn codes_of_facts(facts: PassFacts) -> impl Iterator<Item = String> {
    let all = [
        (facts.names_what_is_not_there, AssessmentCode::HallucinatedTool),
        (true, AssessmentCode::BaseCaseUnmet),
        (facts.has_blocked, AssessmentCode::BlockedAtoms),
    ];
    let seen = all.into_iter().filter(|(holds, _)| *holds);
    seen.map(|(_, code)| code.word().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::read_text;

    const GOOD: &str = r#"{"completeness": 0.95, "coherence": 0.9, "aligned": {"plan": true, "step": true, "answer": true, "memory": true}}"#;

    fn answer(text: &str) -> Result<AssessmentAnswer, String> {
        read(&read_text(text)?, &[], |id| id == "A")
    }

    #[test]
    fn a_pass_converged_from_the_three_shares_on() {
        assert!(answer(GOOD).unwrap().has_converged(&[]));
        for (from, to, code) in [
            ("0.95", "0.949", AssessmentCode::Incomplete),
            ("0.9,", "0.899,", AssessmentCode::Incoherent),
            (r#""memory": true"#, r#""memory": false"#, AssessmentCode::Inconsistent),
        ] {
            let other = answer(&GOOD.replace(from, to)).unwrap();
            assert!(!other.has_converged(&[]), "{to}");
            assert!(
                other.codes(PassFacts::default(), &[]).contains(&code.word().to_owned()),
                "{other:?}"
            );
        }
    }

    #[test]
    fn an_answer_of_another_form_is_told_in_words_to_mend_it_by() {
        let with = |more: &str| GOOD.replacen('{', &format!("{{{more}, "), 1);
        for (text, fault) in [
            ("fine".to_owned(), "no JSON object"),
            ("{}".to_owned(), "`completeness` is a number"),
            (GOOD.replace("0.95", "1.5"), "`completeness` is a number"),
            (GOOD.replace("0.9,", "\"high\","), "`coherence` is a number"),
            (GOOD.replace("\"plan\": true, ", ""), "`aligned/plan` is true or false"),
            (with(r#""missing": "a test""#), "`missing` is a list"),
            (with(r#""blame": [1, 2, 3, 4, 5, 6]"#), "`blame` is a list of at most 5"),
            (with(r#""converged": true"#), "`converged` is no key"),
        ] {
            let told = answer(&text).unwrap_err();
            assert!(told.contains(fault), "{told}");
        }
    }

    #[test]
    fn a_persons_criteria_count_beside_the_others_and_may_change_their_thresholds() {
        let criterion = |name: &str, at_least| ConvergenceCriterion {
            name: name.to_owned(),
            statement: "it is so".to_owned(),
            at_least: Thousandths(at_least),
            extra: Default::default(),
        };
        let criteria = [criterion("tested", 800), criterion("completeness", 500)];
        let with = |score: &str| {
            let more = format!(
                r#"{{"criteria": [{{"name": "tested", "score": {score}}}], "complexity": "higher", "#
            );
            let text = GOOD.replacen('{', &more, 1).replace("0.95", "0.5");
            read(&read_text(&text).unwrap(), &criteria, |_| false)
        };
        assert!(with("0.8").unwrap().has_converged(&criteria));
        let low = with("0.7").unwrap();
        assert!(!low.has_converged(&criteria));
        assert_eq!(low.complexity, Some(Complexity::Higher));
        let codes = low.codes(PassFacts::default(), &criteria);
        assert_eq!(codes, ["complete", "criterion:tested", "base_case_unmet"]);
        assert!(with("2").unwrap_err().contains("of `tested`"));
        let none = read(&read_text(GOOD).unwrap(), &criteria, |_| false);
        assert!(none.unwrap_err().contains("of `tested`"));
    }

    #[test]
    fn atoms_of_no_plan_are_not_blamed() {
        let said = GOOD.replacen('{', r#"{"blame": ["A", "X"], "#, 1);
        assert_eq!(answer(&said).unwrap().blame, [AtomId::new("A")]);
        assert!(read_text(SCHEMA).is_ok());
    }
}
