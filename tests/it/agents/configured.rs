//! Which agent does the work: files, variables, flags, and what is refused before anything starts.

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::{
    safety::trust::trust,
    world::{Ran, Running, World, plan, task, with},
};

const KNOWN: [&str; 6] = ["claude", "codex", "claude-agent-acp", "codex-acp", "gemini", "opencode"];

/// A task for the worker.
fn by_worker() -> Value {
    let mut atom = task("");
    atom.as_object_mut().unwrap().remove("action");
    with(atom, json!({"description": "do it"}))
}

/// A world with one task for the worker, and this `descent.toml`.
fn world(config: &str) -> World {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": by_worker()})));
    world.write("descent.toml", config);
    trust(&world);
    world
}

/// An agent that leaves its name outside, and does the work.
fn agent(name: &str, world: &World) -> String {
    let out = world.out("by").display().to_string();
    format!("[agents.{name}]\nrun = \"echo {name} > {out}; touch done\"\n")
}

/// The agents `one` and `other`, in the person's own file.
fn own_file(world: &World, roles: &str) {
    let dir = world.root().join("home/.config/descent");
    fs::create_dir_all(&dir).unwrap();
    let agents = ["one", "other"].map(|name| agent(name, world)).join("");
    fs::write(dir.join("config.toml"), format!("{agents}{roles}")).unwrap();
}

fn with_own_programs(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Known programs of this machine are out of reach.
    let has_one = |dir: &PathBuf| KNOWN.iter().any(|name| dir.join(name).exists());
    let dirs = std::env::split_paths(&path).filter(|dir| !has_one(dir));
    let path = std::env::join_paths([world.root().join("bin")].into_iter().chain(dirs));
    command.env("PATH", path.unwrap());
    command
}

fn ran(world: &World, args: &[&str]) -> Ran {
    Running::of(with_own_programs(world, args)).wait()
}

#[test]
fn a_flag_comes_before_a_variable_the_project_and_the_persons_own_file() {
    let done_by = |project: &str, own: &str, variable: Option<&str>, flag: &[&str]| {
        let world = World::new();
        own_file(&world, own);
        let agents = agent("here", &world);
        world.write("descent.toml", &format!("{agents}{project}"));
        world.align(&plan(&["test -f done"], json!({}), json!({"A1": by_worker()})));
        let mut command = world.command(&[&["run"][..], flag].concat());
        if let Some(name) = variable {
            command.env("DESCENT_AGENT_WORKER", name);
        }
        Running::of(command).wait().expect(0);
        world.left("by").trim().to_owned()
    };
    let (own, here) = ("[roles]\nworker = \"one\"\n", "[roles]\nworker = \"here\"\n");
    assert_eq!(done_by("", own, None, &[]), "one");
    assert_eq!(done_by(here, own, None, &[]), "here");
    assert_eq!(done_by(here, own, Some("other"), &[]), "other");
    let flag = ["--agent", "worker=one"];
    assert_eq!(done_by(here, own, Some("other"), &flag), "one");
    let other_here = "[roles]\nworker = \"other\"\n";
    assert_eq!(done_by(other_here, own, None, &[]), "other");
}

#[test]
fn an_agent_gets_the_variables_that_its_configuration_names_and_a_check_does_not() {
    let world = World::new();
    let out = world.out("seen").display().to_string();
    let config = format!(
        "[agents.a]\nenv = [\"THE_KEY\"]\nrun = \"echo worker $THE_KEY >> {out}; touch done\"\n[roles]\nworker = \"a\"\n"
    );
    world.write("descent.toml", &config);
    let check = format!("echo check $THE_KEY >> {out}; test -f done");
    world.align(&plan(&[&check], json!({}), json!({"A1": by_worker()})));
    let mut command = world.command(&["run"]);
    command.env("THE_KEY", "sesame");
    Running::of(command).wait().expect(0);
    let seen = world.left("seen");
    assert!(seen.contains("worker sesame\n"), "{seen}");
    assert!(seen.contains("check\n") && !seen.contains("check sesame"), "{seen}");
}

#[test]
fn a_variable_that_is_named_and_not_set_is_told_by_run() {
    let world = world(
        "agents.a = {run = \"touch done\", env = [\"THE_KEY\", \"HOME\"]}\nroles.worker = \"a\"\n",
    );
    let words = "`THE_KEY`, which its `env` names, is not set";
    let told = world.descent(&["run"]).expect(0);
    assert_eq!(told.stderr.matches("is not set").count(), 1, "{}", told.stderr);
    told.says(&format!("the agent `a`: {words}"));
}

/// Refused by `run`, with nothing begun.
#[track_caller]
fn refused(world: &World, args: &[&str], code: &str, exit: i32) -> Ran {
    let before = world.state_bytes();
    let ran = ran(world, args).expect(exit).says(&format!("error[{code}]"));
    assert_eq!(world.state_bytes(), before);
    ran
}

#[test]
fn a_name_that_no_agent_has_is_refused_before_anything_starts() {
    let world = world("agents.worker.run = \"touch done\"\nroles.worker = \"worker\"\n");
    refused(&world, &["run", "--agent", "worker=claud"], "E-CONFIG", 78)
        .says("as --agent says")
        .says("configured: worker");
    world.write(
        "descent.toml",
        "[agents.claude]\nrun = \"touch done\"\n[roles]\nworker = \"claude\"\njudge = \"claud\"\n",
    );
    refused(&world, &["run"], "E-CONFIG", 78)
        .says("descent.toml:5:1")
        .says("did you mean `claude`?");
    refused(&world, &["run", "--agent", "wroker=claude"], "E-CONFIG", 78).says("worker");
    refused(&world, &["run", "--agent", "worker"], "E-CONFIG", 78).says("ROLE=NAME");
    let mut command = world.command(&["run"]);
    command.env("DESCENT_AGENT_WROKER", "claude");
    Running::of(command).wait().expect(78).says("DESCENT_AGENT_WROKER");
}

#[test]
fn a_program_that_is_not_installed_or_too_old_is_refused_before_anything_starts() {
    let world = world("agents.me.preset = \"claude\"\nroles.worker = \"me\"\n");
    refused(&world, &["run"], "E-AGENT-MISSING", 69)
        .says("`claude` of the agent `me`")
        .says("npm install -g @anthropic-ai/claude-code");
    world.program("claude", "#!/bin/sh\necho '2.0.9 (Claude Code)'\n");
    refused(&world, &["run"], "E-AGENT-MISSING", 69).says("is 2.0.9");
    world.program("claude", "#!/bin/sh\necho hello; exit 3\n");
    refused(&world, &["run"], "E-AGENT-MISSING", 69).says("tells no version");
    world.write("descent.toml", "agents.me.acp = [\"no-such-agent\"]\nroles.worker = \"me\"\n");
    refused(&world, &["run"], "E-AGENT-MISSING", 69).says("no-such-agent");
}

#[test]
fn an_agreement_is_refused_too_where_its_agent_is_not_there() {
    let world = World::new();
    world.write("descent.toml", "agents.me.preset = \"codex\"\nroles.worker = \"me\"\n");
    let plan = world.plan(&plan(&["test -f done"], json!({}), json!({"A1": by_worker()})));
    ran(&world, &["align", "-y", "-f", &plan]).expect(69).says("E-AGENT-MISSING");
    assert!(!world.state_path().exists());
}

#[test]
fn one_known_program_is_proposed_by_name_with_the_two_lines_to_write() {
    let world = World::new();
    let plan = world.plan(&plan(&["test -f done"], json!({}), json!({"A1": by_worker()})));
    world.program("claude", "#!/bin/sh\necho '2.9.0 (Claude Code)'\n");
    ran(&world, &["align", "-y", "-f", &plan]).expect(0);
    ran(&world, &["align", "-n", "--force", "-f", &plan])
        .expect(0)
        .shows("agents.claude.preset = \"claude\"");
    let lines = ["agents.claude.preset = \"claude\"", "roles.worker = \"claude\""];
    let told = refused(&world, &["run"], "E-CONFIG", 78);
    told.says("installed here: claude; this makes `claude` the worker:")
        .says(lines[0])
        .says(lines[1]);
    world.program("codex", "#!/bin/sh\n");
    refused(&world, &["run"], "E-CONFIG", 78).says("installed here: claude, codex");
    // The proposal is taken as it stands.
    world.write("descent.toml", &lines.join("\n"));
    world.program("claude", "#!/bin/sh\necho 1.0.0\n");
    refused(&world, &["run"], "E-AGENT-MISSING", 69);
}

#[test]
fn an_atom_names_its_agent_so_a_choice_is_by_one_else_by_the_other() {
    let world = World::new();
    let out = world.out("by").display().to_string();
    let config = format!(
        "agents.worker.run = \"echo worker >> {out}; exit 1\"\nroles.worker = \"worker\"\n[agents.cheap]\nrun = \"echo cheap >> {out}; exit 1\"\n[agents.strong]\nrun = \"echo strong >> {out}; touch done\"\n"
    );
    world.write("descent.toml", &config);
    let by = |name: &str| with(by_worker(), json!({"agent": name}));
    let any = json!({"kind": "any", "choices": ["C1", "C2"]});
    let atoms = json!({"A": any, "C1": by("cheap"), "C2": by("strong")});
    let objective = json!({"max_attempts": 1});
    world.align(&plan(&["test -f done"], objective, atoms));
    world.run().expect(0);
    assert_eq!(world.left("by"), "cheap\nstrong\n");
    let state = world.state();
    assert_eq!(state["bindings"]["C2"]["of"]["agent"], "strong");
}

#[test]
fn an_unknown_agent_of_an_atom_is_refused_by_align_and_run_and_one_beside_an_action_too() {
    let world = World::new();
    world.write("descent.toml", "agents.claude.run = \"touch done\"\n");
    let by = |name: &str| with(by_worker(), json!({"agent": name}));
    let named = |name: &str| plan(&["test -f done"], json!({}), json!({"A1": by(name)}));
    world
        .try_align(&named("claud"))
        .expect(78)
        .says("E-CONFIG")
        .says("as atom `A1` says")
        .says("did you mean `claude`?");
    assert!(!world.state_path().exists());
    world.align(&named("claude"));
    world.replace_in_state("\"agent\": \"claude\"", "\"agent\": \"gone\"");
    world.descent(&["run"]).expect(78).says("E-CONFIG").says("`A1`");
    assert_eq!(world.state()["run"]["attempts_started"], 0);
    world.replace_in_state("\"agent\": \"gone\"", "\"agent\": \"claude\"");
    world.run().expect(0);
    let both = with(task("true"), json!({"agent": "claude"}));
    let both = plan(&["test -f done"], json!({}), json!({"A1": both}));
    world.try_align(&both).expect(65).says("has an action, and an agent too");
    let odd = plan(&["test -f done"], json!({}), json!({"A1": by("A B")}));
    world.try_align(&odd).expect(65).says("/agent");
}

/// The words of another agent are another specification: what was tried by one is no attempt of the other.
#[test]
fn another_agent_by_hand_opens_a_new_context() {
    let world = World::new();
    world.write("descent.toml", "agents.one.run = \"exit 1\"\nagents.other.run = \"touch done\"\n");
    let atom = with(by_worker(), json!({"agent": "one"}));
    let objective = json!({"max_attempts": 1});
    world.align(&plan(&["test -f done"], objective, json!({"A1": atom})));
    world.run().expect(5);
    world.replace_in_state("\"agent\": \"one\"", "\"agent\": \"other\"");
    world.run().expect(0);
}

/// A `claude` that tells its version, and whether somebody is logged in.
fn claude(world: &World, logged_in: bool) {
    let script = format!(
        "#!/bin/sh\ncase $1 in --version) echo '2.9.0 (Claude Code)';; auth) echo '{{\"loggedIn\": {logged_in}}}';; *) touch {};; esac\n",
        world.out("started").display()
    );
    world.program("claude", &script);
}

fn finding(world: &World, name: &str, exit: i32) -> Value {
    let found = ran(world, &["doctor", "--json"]).expect(exit).json();
    let findings = found["findings"].as_array().unwrap();
    let one = findings.iter().find(|finding| finding["name"] == name);
    one.unwrap_or_else(|| panic!("no {name} in {found:#}")).clone()
}

#[test]
fn doctor_tries_the_version_and_the_login_of_each_agent() {
    let world = World::new();
    assert_eq!(finding(&world, "agents", 0)["health"], "ok");
    claude(&world, true);
    let one = finding(&world, "agent claude", 0);
    let words = "Claude Code 2.9.0, logged in; is told AGENTS.md or CLAUDE.md";
    assert_eq!(one["found"], words);
    let worker = finding(&world, "worker", 0);
    assert_eq!(worker["health"], "degraded");
    assert!(worker["mend"].as_str().unwrap().contains("roles.worker"));
    let files = "none for agents: they have your files and your network";
    assert_eq!(finding(&world, "walls", 0)["found"], files);
    world.write("descent.toml", "agents.me.preset = \"claude\"\nroles.worker = \"me\"\n");
    assert_eq!(finding(&world, "agent me", 0)["health"], "ok");
    claude(&world, false);
    let one = finding(&world, "agent me", 69);
    assert_eq!((&one["health"], &one["mend"]), (&json!("unusable"), &json!("claude auth login")));
    // Installed, with a key that is there and that the agent does not get.
    let mut command = with_own_programs(&world, &["doctor", "--json"]);
    command.env("ANTHROPIC_API_KEY", "sesame");
    let found = Running::of(command).wait().expect(69).json();
    let mut all = found["findings"].as_array().unwrap().iter();
    let one = all.find(|one| one["name"] == "agent me").unwrap();
    assert_eq!(
        one["found"],
        "`claude` is 2.9.0, and you are not logged in; ANTHROPIC_API_KEY is withheld"
    );
    assert_eq!(one["mend"], "name ANTHROPIC_API_KEY in the agent's `env`, or: claude auth login");
    world.write("descent.toml", "agents.me.preset = \"claude\"\n");
    assert_eq!(finding(&world, "agent me", 0)["health"], "degraded");
    world.write(
        "descent.toml",
        "agents.me.preset = \"codex\"\nroles.worker = \"me\"\nroles.judge = \"you\"\n",
    );
    let one = finding(&world, "agent me", 69);
    assert_eq!(one["mend"], "npm install -g @openai/codex");
    assert_eq!(finding(&world, "role judge", 69)["health"], "missing");
    world.write("descent.toml", "agents.me.preset = \"codx\"\n");
    let one = finding(&world, "agents", 69);
    assert_eq!(one["mend"], "did you mean `codex`?");
    assert!(!world.out("started").exists(), "an agent was started to work");
}
