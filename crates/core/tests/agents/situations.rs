//! Which agents start in which situation: a table, decided by the typed fields of atoms and the agents that there are.

use super::*;

/// A situation: its name, the atoms, the roles that have an agent, and each attempt that starts, as `role atom`.
type Situation<'a> = (&'a str, Value, &'a [Role], &'a [&'a str]);

fn started(atoms: &Value, roles: &[Role]) -> Vec<String> {
    let mut agents = AgentTable::default();
    for role in roles {
        let name = AgentName::new(role.word());
        match role {
            Role::Planner => agents.set_planner(name),
            _ => agents.set(*role, name),
        }
    }
    let run = Loop::with_agents(&json!({"max_parallel_agents": 4}), atoms, agents);
    let flying = run.flying().into_iter();
    let started = flying.map(|intent| format!("{} {}", intent.role.word(), intent.atom));
    started.collect()
}

#[test]
fn the_agents_that_start_follow_from_the_situation() {
    let group = |more: Value| {
        let any = json!({"kind": "any", "choices": ["A", "B"], "description": "a way"});
        json!({"G": with(any, &more), "A": task(json!({})), "B": task(json!({}))})
    };
    let unknown = || task(json!({"unknown": true}));
    let action = json!({"action": {"run": "true"}, "unknown": true});
    let step = json!({"kind": "plan", "description": "plan it"});
    let table: &[Situation<'_>] = &[
        ("one task", json!({"A": task(json!({}))}), &[Role::Worker, Role::Probe], &["worker A"]),
        (
            "tasks that wait for nothing",
            json!({"A": task(json!({})), "B": task(json!({})), "C": task(json!({"depends_on": ["A"]}))}),
            &[Role::Worker],
            &["worker A", "worker B"],
        ),
        ("unknown ground", json!({"A": unknown()}), &[Role::Worker, Role::Probe], &["probe A"]),
        (
            "unknown ground beside known",
            json!({"A": unknown(), "B": task(json!({}))}),
            &[Role::Worker, Role::Probe],
            &["probe A", "worker B"],
        ),
        ("unknown ground and no probe", json!({"A": unknown()}), &[Role::Worker], &["worker A"]),
        ("an action", json!({"A": task(action)}), &[Role::Worker, Role::Probe], &["worker A"]),
        (
            "choices of which nobody knows",
            group(json!({"unknown": true})),
            &[Role::Worker, Role::Probe],
            &["probe A", "probe B"],
        ),
        ("choices", group(json!({})), &[Role::Worker, Role::Probe], &["worker A"]),
        (
            "choices of which nobody knows, and no probe",
            group(json!({"unknown": true})),
            &[Role::Worker],
            &["worker A"],
        ),
        ("a step that plans", json!({"N": step}), &[Role::Worker, Role::Planner], &["planner N"]),
        ("a step that plans, and no planner", json!({"N": step}), &[Role::Worker], &["planner N"]),
    ];
    for (name, atoms, roles, expected) in table {
        assert_eq!(started(atoms, roles), *expected, "{name}");
    }
}
