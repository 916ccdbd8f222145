//! The next selection, and what it must not contain.

use alloc::{format, string::String, vec::Vec};

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
    let space = SearchSpace {
        graph,
        state: &state,
        conflicts,
        plans_again: true,
    };
    choose(space, prefer, rank)
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
    choices(text)
        .iter()
        .map(|(group, choice)| (ix(group), ix(choice)))
        .collect()
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
    check(
        &pairs_of_choices(2),
        &[],
        "G0=b0 G1=a1",
        &[],
        Some("G0=b0 G1=a1"),
    );
}

#[test]
fn the_most_relevant_group_changes() {
    let graph = pairs_of_choices(3);
    let now = "G0=a0 G1=a1 G2=a2";
    check(
        &graph,
        &["G0=a0 G1=a1"],
        now,
        &["G1", "G0"],
        Some("G0=b0 G1=a1 G2=a2"),
    );
    check(
        &graph,
        &["G0=a0 G1=a1"],
        now,
        &["G0", "G1"],
        Some("G0=a0 G1=b1 G2=a2"),
    );
}

#[test]
fn a_group_that_cannot_change_leaves_it_to_the_next() {
    let graph = pairs_of_choices(2);
    check(
        &graph,
        &["G0=a0 G1=a1", "G0=b0"],
        "G0=a0 G1=a1",
        &["G1", "G0"],
        Some("G0=a0 G1=b1"),
    );
}

#[test]
fn only_groups_that_are_live_are_decided() {
    let graph = graph(
        r#""G": {"choices": ["p", "q"]}, "p": {"choices": ["x", "y"]}, "q": {}, "x": {}, "y": {}"#,
    );
    check(&graph, &[], "", &[], Some("G=p p=x"));
    check(
        &graph,
        &["G=p p=x", "G=p p=y"],
        "G=p p=x",
        &["p", "G"],
        Some("G=q"),
    );
}

#[test]
fn a_conflict_of_no_choice_at_all_leaves_nothing() {
    check(&pairs_of_choices(1), &[""], "G0=a0", &[], None);
}

#[test]
fn a_conflict_about_what_is_gone_is_none() {
    check(
        &pairs_of_choices(1),
        &["G9=a9"],
        "G0=a0",
        &[],
        Some("G0=a0"),
    );
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
    let found = find(
        &graph,
        &conflicts.map(choices),
        &Selection::new(),
        &BTreeMap::new(),
    );
    let first = graph.ix(&AtomId::from("G0")).expect("a group");
    let found = found.expect("there is one");
    assert_eq!(graph.id(found[&first]).as_str(), "b0");
    check(
        &graph,
        &["G0=a0 G9=a9", "G0=a0 G9=b9", "G0=b0 G9=a9", "G0=b0 G9=b9"],
        "",
        &[],
        None,
    );
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
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
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
            part.iter()
                .all(|(group, choice)| of.get(group) == Some(choice))
        };
        let is_free = |of: &Choices| !conflicts.iter().any(|conflict| contains(of, conflict));
        let found = free(&graph, &conflicts);
        let named = found.map(|found| {
            let name = |x: &Ix| graph.id(*x).clone();
            found
                .iter()
                .map(|(group, choice)| (name(group), name(choice)))
                .collect::<Choices>()
        });
        match named {
            Some(named) => assert!(
                whole.contains(&named) && is_free(&named),
                "round {round}: {named:?}"
            ),
            None => assert!(!whole.iter().any(is_free), "round {round}: {conflicts:?}"),
        }
    }
}
