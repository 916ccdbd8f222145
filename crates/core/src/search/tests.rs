//! The next selection, and what it must not contain.

use super::*;
use crate::{id::Lineage, plan};

fn graph(atoms: &str) -> Graph {
    let text = format!(r#"{{"objective": {{}}, "work_graph": {{"atoms": {{{atoms}}}}}}}"#);
    let plan = plan::read(text.as_bytes());
    assert!(plan.faults.is_empty(), "{:?}", plan.faults);
    Graph::of(&plan.into_state(Lineage::new("l")))
}

/// The state is asked for planning steps alone, and there are none.
fn free(graph: &Graph, conflicts: &[Choices]) -> Option<Selection> {
    find(graph, conflicts, &Selection::new(), &BTreeMap::new())
}

fn find(
    graph: &Graph,
    conflicts: &[Choices],
    prefer: &Selection,
    rank: &BTreeMap<Ix, usize>,
) -> Option<Selection> {
    let state = plan::read(b"{}").into_state(Lineage::new("l"));
    let (state, rank) = (&state, Some(rank));
    let space = SearchSpace { graph, state, conflicts, plans_again: true, rank, fixed: None };
    choose(space, prefer)
}

/// Groups `G0`, `G1`, … of two tasks each: `a0` and `b0`, `a1` and `b1`, …
fn pairs_of_choices(count: usize) -> Graph {
    let group = |n: usize| {
        format!(r#""G{n}": {{"choices": ["a{n}", "b{n}"]}}, "a{n}": {{}}, "b{n}": {{}}"#)
    };
    let groups: Vec<String> = (0..count).map(group).collect();
    graph(&groups.join(", "))
}

fn choices(text: &str) -> Choices {
    let pair = |pair: &str| {
        let (group, choice) = pair.split_once('=').expect("group=choice");
        (AtomId::from(group), AtomId::from(choice))
    };
    text.split_whitespace().map(pair).collect()
}

fn selection(graph: &Graph, text: &str) -> Selection {
    let ix = |id: &AtomId| graph.ix(id).expect("an atom");
    choices(text).iter().map(|(group, choice)| (ix(group), ix(choice))).collect()
}

/// `relevance`: groups of the conflict, the most relevant last.
fn check(
    graph: &Graph,
    conflicts: &[&str],
    prefer: &str,
    relevance: &[&str],
    expected: Option<&str>,
) {
    let conflicts: Vec<Choices> = conflicts.iter().map(|text| choices(text)).collect();
    let rank = relevance
        .iter()
        .map(|id| graph.ix(&AtomId::from(*id)).expect("an atom"))
        .zip(0..)
        .collect();
    let found = find(graph, &conflicts, &selection(graph, prefer), &rank);
    assert_eq!(found, expected.map(|text| selection(graph, text)));
}

#[test]
fn the_first_choice_is_the_order_of_the_plan() {
    check(&pairs_of_choices(2), &[], "", &[], Some("G0=a0 G1=a1"));
}

#[test]
fn what_is_selected_stays_where_no_conflict_says_otherwise() {
    check(&pairs_of_choices(2), &[], "G0=b0 G1=a1", &[], Some("G0=b0 G1=a1"));
}

#[test]
fn the_most_relevant_group_changes() {
    let graph = pairs_of_choices(3);
    let now = "G0=a0 G1=a1 G2=a2";
    check(&graph, &["G0=a0 G1=a1"], now, &["G1", "G0"], Some("G0=b0 G1=a1 G2=a2"));
    check(&graph, &["G0=a0 G1=a1"], now, &["G0", "G1"], Some("G0=a0 G1=b1 G2=a2"));
}

#[test]
fn a_group_that_cannot_change_leaves_it_to_the_next() {
    let graph = pairs_of_choices(2);
    check(&graph, &["G0=a0 G1=a1", "G0=b0"], "G0=a0 G1=a1", &["G1", "G0"], Some("G0=a0 G1=b1"));
}

#[test]
fn only_groups_that_are_live_are_decided() {
    let graph = graph(
        r#""G": {"choices": ["p", "q"]}, "p": {"choices": ["x", "y"]}, "q": {}, "x": {}, "y": {}"#,
    );
    check(&graph, &[], "", &[], Some("G=p p=x"));
    check(&graph, &["G=p p=x", "G=p p=y"], "G=p p=x", &["p", "G"], Some("G=q"));
}

#[test]
fn a_conflict_of_no_choice_at_all_leaves_nothing() {
    check(&pairs_of_choices(1), &[""], "G0=a0", &[], None);
}

#[test]
fn a_conflict_about_what_is_gone_is_none() {
    check(&pairs_of_choices(1), &["G9=a9"], "G0=a0", &[], Some("G0=a0"));
}

#[test]
fn every_choice_refuted_leaves_nothing() {
    let all = ["G0=a0 G1=a1", "G0=a0 G1=b1", "G0=b0 G1=a1", "G0=b0 G1=b1"];
    check(&pairs_of_choices(2), &all, "", &[], None);
}

/// Deciding the first group wrongly shows at the last one: two to the thirty-eight ways lie between them.
#[test]
fn groups_that_have_nothing_to_do_with_a_conflict_are_not_tried_through() {
    let graph = pairs_of_choices(40);
    let conflicts = ["G0=a0 G9=a9", "G0=a0 G9=b9"];
    let found = find(&graph, &conflicts.map(choices), &Selection::new(), &BTreeMap::new());
    let first = graph.ix(&AtomId::from("G0")).expect("a group");
    let found = found.expect("there is one");
    assert_eq!(graph.id(found[&first]).as_str(), "b0");
    check(&graph, &["G0=a0 G9=a9", "G0=a0 G9=b9", "G0=b0 G9=a9", "G0=b0 G9=b9"], "", &[], None);
}

/// Against every whole selection: nested groups, conflicts by chance.
#[test]
fn there_is_a_selection_without_conflict_exactly_where_one_is_found() {
    let graph = graph(
        r#""G": {"choices": ["p", "q"]}, "p": {"parts": ["H", "K"]}, "q": {}, "H": {"choices": ["h1", "h2"]}, "h1": {},
        "h2": {}, "K": {"choices": ["k1", "k2"]}, "k1": {}, "k2": {}, "L": {"choices": ["l1", "l2", "l3"]}, "l1": {},
        "l2": {}, "l3": {}"#,
    );
    let mut whole = Vec::new();
    for last in ["L=l1", "L=l2", "L=l3"] {
        whole.push(format!("G=q {last}"));
        for inner in ["H=h1 K=k1", "H=h1 K=k2", "H=h2 K=k1", "H=h2 K=k2"] {
            whole.push(format!("G=p {inner} {last}"));
        }
    }
    let whole: Vec<Choices> = whole.iter().map(|text| choices(text)).collect();
    let mut chance = 12_345u64;
    let mut below = |most: usize| {
        chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((chance >> 33) % most as u64).expect("small")
    };
    for round in 0..2_000 {
        let mut conflicts = Vec::new();
        for _ in 0..below(8) {
            let of = &whole[below(whole.len())];
            let kept: Choices = of.clone().into_iter().filter(|_| below(3) > 0).collect();
            conflicts.push(kept);
        }
        let contains = |of: &Choices, part: &Choices| {
            part.iter().all(|(group, choice)| of.get(group) == Some(choice))
        };
        let is_free = |of: &Choices| !conflicts.iter().any(|conflict| contains(of, conflict));
        let found = free(&graph, &conflicts);
        let named = found.map(|found| {
            let name = |x: &Ix| graph.id(*x).clone();
            found.iter().map(|(group, choice)| (name(group), name(choice))).collect::<Choices>()
        });
        match named {
            Some(named) => {
                assert!(whole.contains(&named) && is_free(&named), "round {round}: {named:?}")
            }
            None => assert!(!whole.iter().any(is_free), "round {round}: {conflicts:?}"),
        }
    }
}

/// A state with this graph, in which the newest point has that directive and blocks these tools and targets.
fn under_law(atoms: &str, directive: &str, acts: bool, blocked: &str) -> State {
    let act = if acts { "act" } else { "show" };
    let text = format!(
        r#"{{"objective": {{"constraints": {{"law": "{act}"}}}}, "work_graph": {{"atoms": {{{atoms}}}}}}}"#
    );
    let plan = plan::read(text.as_bytes());
    assert!(plan.faults.is_empty(), "{:?}", plan.faults);
    let mut state = plan.into_state(Lineage::new("l"));
    let law = format!(
        r#"{{"point": {{"subject": "sha256:{digest}", "pass": 1, "d": 1, "p": 0, "omega": 0, "l": 0, "grad_d": 0,
        "grad_l": 0, "gradient": "plateau", "directive": "{directive}", "failure_class": "mixed"}},
        "blocked": [{blocked}]}}"#,
        digest = "0".repeat(64)
    );
    let node = crate::doc::parse(&law, &crate::doc::Limits::default());
    let node = node.node.expect("a law");
    let mut found = crate::state::fields::Findings::default();
    let law = crate::state::law::LawRecord::read(&node, "", &mut found);
    assert_eq!(found.faults, [], "{law:?}");
    alloc::sync::Arc::make_mut(&mut state.run).law = law;
    state
}

/// The choices of `G` in the order in which they would be tried, each refuted in turn.
fn order(state: &State, prefer: &str) -> String {
    let graph = Graph::of(state);
    let mut conflicts: Vec<Choices> = Vec::new();
    let mut tried: Vec<String> = Vec::new();
    loop {
        let space = SearchSpace {
            graph: &graph,
            state,
            conflicts: &conflicts,
            plans_again: true,
            rank: None,
            fixed: None,
        };
        let prefer = selection(&graph, prefer);
        let Some(found) = choose(space, &prefer) else {
            return tried.join(" ");
        };
        let group = graph.ix(&AtomId::from("G")).expect("the group");
        let choice = graph.id(found[&group]);
        tried.push(choice.as_str().into());
        conflicts.push(choices(&format!("G={choice}")));
    }
}

const WAYS: &str = r#""G": {"choices": ["same", "free", "other", "deep", "both"]},
    "same": {"action": {"run": "cargo test calc"}}, "free": {"action": {"run": "make all"}},
    "other": {"action": {"run": "env X=1 cargo test till"}},
    "deep": {"parts": ["d1", "d2"]}, "d1": {"action": {"run": "make some"}},
    "d2": {"choices": ["d3"]}, "d3": {"action": {"run": "cargo test sums && cp a b"}},
    "both": {"action": {"run": "cargo test till; cargo test calc"}}"#;

#[test]
fn the_law_orders_choices_and_takes_none_away() {
    let pair = r#"{"tool": "cargo test", "target": "calc"}"#;
    let tool = r#"{"tool": "cargo test"}"#;
    let as_planned = "same free other deep both";
    for (directive, act, blocked, wanted) in [
        ("change_path", true, pair, "other deep free same both"),
        ("change_approach", true, tool, "free same other deep both"),
        ("break_symmetry", true, tool, "free same other deep both"),
        ("break_symmetry", true, pair, "free other deep same both"),
        ("change_path", true, "", as_planned),
        ("refine", true, pair, as_planned),
        ("abandon", true, tool, as_planned),
        ("change_path", false, pair, as_planned),
    ] {
        let state = under_law(WAYS, directive, act, blocked);
        assert_eq!(order(&state, ""), wanted, "{directive} {act} {blocked}");
    }
    let state = under_law(WAYS, "change_path", true, pair);
    assert_eq!(order(&state, "G=same"), "same other deep free both");
}

#[test]
fn plain_programs_and_texts_of_a_shell_say_nothing_of_an_approach() {
    let ways = r#""G": {"choices": ["one", "two", "three"]}, "one": {"action": {"run": "cat a"}},
        "two": {"action": {"run": "for f in a; do cat $f; done"}}, "three": {"action": {"run": "cat b"}}"#;
    let plain = r#"{"tool": "cat", "target": "a"}"#;
    let state = under_law(ways, "change_path", true, plain);
    assert_eq!(order(&state, ""), "two three one");
    let approach = crate::law::approach::of_action("for f in a; do cat $f; done");
    let text = format!(r#"{{"tool": "sh", "target": "{}"}}"#, approach[0].target);
    let state = under_law(ways, "change_path", true, &text);
    assert_eq!(order(&state, ""), "one three two");
}

/// Standing in a result counts more than the law, and the law more than other lessons.
#[test]
fn the_law_stands_between_the_lessons() {
    let mut state =
        under_law(WAYS, "change_path", true, r#"{"tool": "cargo test", "target": "calc"}"#);
    let graph = Graph::of(&state);
    let digest = |id: &str| graph.choice_digest(graph.ix(&AtomId::from(id)).expect("a choice"));
    let lesson = |kind: &str, id: &str| {
        let choice = digest(id);
        format!(
            r#"{{"id": "m1", "kind": "{kind}", "choice": "{choice}", "lesson": "", "last": ""}}"#
        )
    };
    let used = format!(
        r#"{{"digest": "{}", "lessons": [{}, {}]}}"#,
        digest("G"),
        lesson("prefer", "same"),
        lesson("must_not", "other")
    );
    let node = crate::doc::parse(&used, &crate::doc::Limits::default());
    let mut found = crate::state::fields::Findings::default();
    let used = crate::state::MemoryUsed::read(&node.node.expect("it"), "", &mut found);
    assert_eq!(found.faults, []);
    alloc::sync::Arc::make_mut(&mut state.run).memory_used = used;
    assert_eq!(order(&state, ""), "same deep other free both");
}
