//! Secrets that the program knows by name: in no output, state, log, report or prompt, in no encoding.
//!
//! Not here: the encodings (`encoded`).

mod encoded;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::{Value, json};

use encoded::{ENCODINGS, SECRET, forms, means_it};

use crate::{
    agents::talked::{Acp, Claude, Codex},
    world::{Running, World, plan, task, with},
};

const NAME: &str = "DEPLOY_TOKEN";

#[track_caller]
fn nothing_means_it(what: &str, text: &str) {
    assert!(!text.contains(SECRET), "{what}:\n{text}");
    // Lines are looked at apart: what is said of one holds for no other.
    for line in text.lines().collect::<BTreeSet<_>>() {
        assert!(!means_it(line), "{what}:\n{line}");
    }
}

/// All that lies beside the state, but for the objects of the repository.
fn kept(dir: &Path, texts: &mut Vec<(String, String)>) {
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("repository") {
            kept(&path, texts);
        } else if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // The file that an attempt itself writes is its own.
            if !path.ends_with("out/result.json") {
                texts.push((path.display().to_string(), text));
            }
        }
    }
}

fn with_secret(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env(NAME, SECRET);
    command
}

/// A world with the forms in a file outside, one a line, and one that tells them apart by number.
fn world() -> World {
    let world = World::new();
    let forms = forms();
    fs::write(world.out("forms"), forms.join("\n") + "\n").unwrap();
    for (nth, form) in forms.iter().enumerate() {
        assert!(means_it(form), "the test decodes form {nth}: {form}");
    }
    world
}

/// Runs it, and looks at all that it shows and keeps then; the name must be in the place of the secret.
#[track_caller]
fn run_and_look(world: &World, atom: &str) -> String {
    let ran = Running::of(with_secret(world, &["run", "--json"])).wait();
    let mut texts = vec![("run".to_owned(), ran.stdout + &ran.stderr)];
    for args in [
        vec!["why"],
        vec!["why", atom],
        vec!["why", "--output", atom],
        vec!["log"],
        vec!["status", "--json"],
        vec!["report"],
        vec!["report", "--format", "html"],
        vec!["report", "--format", "junit"],
        vec!["report", "--format", "json"],
        vec!["why", atom, "--prompt"],
    ] {
        let shown = world.descent(&args);
        texts.push((args.join(" "), shown.stdout + &shown.stderr));
    }
    kept(&world.repo().join(".descent"), &mut texts);
    for (what, text) in &texts {
        nothing_means_it(what, text);
    }
    let all: String = texts.into_iter().map(|(_, text)| text).collect();
    assert!(all.contains("[DEPLOY_TOKEN]"), "{all}");
    all
}

fn show_forms(world: &World) -> String {
    format!("cat {}", world.out("forms").display())
}

#[test]
fn what_steps_and_checks_and_setup_print_is_shown_without_secrets() {
    let world = world();
    let show = show_forms(&world);
    let step = task(&format!(
        "{show}; {show} >&2; head -n 20 {0} | tr '\\n' ' '; exit 1",
        world.out("forms").display()
    ));
    let limits = json!({"max_attempts": 2, "max_transient": 0});
    world.align(&plan(&[&format!("{show}; false")], limits.clone(), json!({"A1": step})));
    run_and_look(&world, "A1");

    // The beginning and the end of a long output are kept.
    let world = self::world();
    let show = show_forms(&world);
    let step = task(&format!("{show}; yes a long line | head -c 12000000; {show}; exit 1"));
    let few = json!({"max_attempts": 1});
    world.align(&plan(&["test -f done"], few, json!({"A1": step})));
    let all = run_and_look(&world, "A1");
    assert!(all.contains("exit 1: [DEPLOY_TOKEN]"), "the last line is shown");

    let world = self::world();
    let setup = format!("{}; test -f a.txt", show_forms(&world));
    let limits = with(limits, json!({"setup": {"run": setup}}));
    let made = plan(&["test -f done"], limits, json!({"A1": task("rm a.txt")}));
    let made = world.plan(&made);
    let told = Running::of(with_secret(&world, &["align", "-y", "-f", &made])).wait().expect(0);
    nothing_means_it("align", &(told.stdout + &told.stderr));
    let setup = format!("{}; false", show_forms(&world));
    let failed = plan(&["true"], json!({"setup": {"run": setup}}), json!({"A1": task("true")}));
    let failed = world.plan(&failed);
    let told = Running::of(with_secret(&world, &["align", "-y", "--force", "-f", &failed])).wait();
    assert!(told.stderr.contains("[DEPLOY_TOKEN]"), "{}", told.stderr);
    nothing_means_it("align", &(told.stdout + &told.stderr));
    run_and_look(&world, "A1");
}

/// A result file that holds these forms.
fn result(world: &World, name: &str, result: &Value) -> String {
    fs::write(world.out(name), result.to_string()).unwrap();
    format!("cp {} \"$DESCENT_RESULT\"", world.out(name).display())
}

#[test]
fn the_words_of_a_result_are_hidden_and_a_value_that_holds_a_secret_is_refused() {
    let world = world();
    let forms = forms();
    let mut atoms = json!({});
    for (nth, form) in forms.iter().take(ENCODINGS.len()).enumerate() {
        let words = json!({"success": true, "summary": format!("made {form} it"), "artifacts": [form], "handoff": form});
        atoms[format!("S{nth}")] = task(&result(&world, &format!("S{nth}"), &words));
        let words = json!({"success": true, "summary": "made", "value": {"held": form}});
        atoms[format!("V{nth}")] = task(&result(&world, &format!("V{nth}"), &words));
    }
    world.align(&plan(
        &["true", "test -e done"],
        json!({"max_attempts": 1, "max_transient": 0}),
        atoms,
    ));
    let all = run_and_look(&world, "V1");
    assert!(all.contains("`value` cannot be taken: it holds the value of DEPLOY_TOKEN"), "{all}");
    let state = world.state();
    for nth in 0..ENCODINGS.len() {
        let summary = state["bindings"][format!("S{nth}")]["summary"].as_str();
        assert_eq!(summary, Some("made [DEPLOY_TOKEN] it"), "{nth}");
        let binding = &state["bindings"][format!("V{nth}")];
        assert!(binding["value"].is_null(), "{nth}: {binding}");
    }
}

#[test]
fn an_agent_in_any_protocol_is_heard_without_secrets() {
    for protocol in [Claude, Codex, Acp] {
        let world = world();
        let forms = forms();
        let answer = json!({"success": false, "summary": format!("no {} {}", forms[0], forms[40])})
            .to_string();
        let told = format!("401 for {SECRET} as in {}\n{answer}", forms[100]);
        let shown = world.out("forms").display().to_string();
        let settings = [
            ("FIXTURE_DO", format!("cat {shown} >&2; echo {}", forms[13])),
            ("FIXTURE_ANSWER", told),
            ("FIXTURE_LOG", world.out("told").display().to_string()),
        ];
        let settings: Vec<(&str, &str)> =
            settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let agent = protocol.agent(&world, "works", &settings);
        world.write(
            "descent.toml",
            &format!("[agents.fixture]\n{agent}\n[roles]\nworker = \"fixture\"\n"),
        );
        let guide = format!("mind {SECRET}");
        let mut atom = with(task(""), json!({"description": guide}));
        atom.as_object_mut().unwrap().remove("action");
        world.align(&plan(
            &["test -f done"],
            json!({"max_attempts": 2, "max_transient": 0}),
            json!({"A1": atom}),
        ));
        let ran = Running::of(with_secret(&world, &["run"])).wait();
        nothing_means_it("run", &(ran.stdout + &ran.stderr));
        let prompts = fs::read_to_string(world.out("told")).unwrap();
        assert!(prompts.contains("mind [DEPLOY_TOKEN]"), "{protocol:?}: {prompts}");
        // The command line of the fixture itself names what it is to say.
        let prompts = prompts.lines().filter(|line| !line.contains("FIXTURE_"));
        prompts.for_each(|line| nothing_means_it("told", line));
        let state = world.state();
        let story = json!([state["trail"], state["run"]]).to_string();
        assert!(story.contains("[DEPLOY_TOKEN]"), "{story}");
        nothing_means_it("state", &story);
    }
}

#[test]
fn a_plan_of_a_planner_that_holds_a_secret_is_refused_by_name() {
    let world = world();
    let forms = forms();
    for (nth, form) in forms.iter().take(ENCODINGS.len()).enumerate().skip(1) {
        let fragment = json!({"atoms": {"one": {"description": "make it", "action": {"run": format!("touch done; echo {form}")}}}});
        fs::write(world.out("fragment"), fragment.to_string()).unwrap();
        let planner = format!(
            "cp \"$DESCENT_PROMPT\" {}; cat {}",
            world.out("told").display(),
            world.out("fragment").display()
        );
        world.write(
            "descent.toml",
            &format!("[agents.p]\nrun = {planner:?}\n[roles]\nplanner = \"p\"\n"),
        );
        let step = json!({"kind": "plan", "description": "plan the file done"});
        let limits = json!({"max_attempts": 1, "max_transient": 0, "planning": {"phases": 1}});
        let _ = fs::remove_dir_all(world.repo().join(".descent"));
        world.align(&plan(&["test -f done"], limits, json!({"N": step})));
        let all = run_and_look_at_plan(&world);
        assert!(all.contains("the value of DEPLOY_TOKEN"), "{nth} {form}: {all}");
        let atoms = world.state()["work_graph"]["atoms"].clone();
        assert_eq!(atoms.as_object().unwrap().len(), 1, "{nth}: {atoms}");
        nothing_means_it("told", &world.left("told"));
    }
}

fn run_and_look_at_plan(world: &World) -> String {
    let ran = Running::of(with_secret(world, &["run", "--json"])).wait();
    let mut texts = vec![("run".to_owned(), ran.stdout + &ran.stderr)];
    kept(&world.repo().join(".descent"), &mut texts);
    for (what, text) in &texts {
        nothing_means_it(what, text);
    }
    texts.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn an_ordinary_environment_hides_nothing() {
    let world = World::new();
    let here = world.repo().display().to_string();
    let says = format!(
        "echo true none en_US.UTF-8 eu-central-1 postgres /usr/bin {here} ghs_; env; exit 1"
    );
    world.write(
        "descent.toml",
        "[agents.w]\nrun = \"true\"\nenv = [\"AWS_REGION\", \"PATH\", \"HOME\", \"LANG\"]\n",
    );
    world.align(&plan(&["test -f done"], json!({"max_attempts": 1}), json!({"A1": task(&says)})));
    let vars = [
        ("CI", "true"),
        ("TOKEN", "none"),
        ("LANG", "en_US.UTF-8"),
        ("AWS_REGION", "eu-central-1"),
        ("POSTGRES_PASSWORD", "postgres"),
        ("SSH_AUTH_SOCK", "/usr/bin"),
        ("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D"),
        ("TOKENIZERS_PARALLELISM", "en_US.UTF-8"),
    ];
    let mut command = world.command(&["run", "--json"]);
    command.envs(vars).env("SECRETS_DIR", &here);
    let ran = Running::of(command).wait();
    let log = world.descent(&["why", "--output", "A1"]);
    let all = ran.stdout + &ran.stderr + &world.state_text() + &log.stdout;
    assert!(all.contains("eu-central-1 postgres /usr/bin"), "{all}");
    for name in vars.map(|(name, _)| name).iter().chain(&["SECRETS_DIR", "PATH", "HOME"]) {
        assert!(!all.contains(&format!("[{name}]")), "{name}: {all}");
    }
}

#[test]
fn a_diff_and_the_files_that_are_applied_are_as_they_were_made() {
    let world = World::new();
    let action = format!("printf '%s\\n' '{SECRET}' > done; cat done");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&action)})));
    let ran = Running::of(with_secret(&world, &["run", "--json"])).wait();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let diff = Running::of(with_secret(&world, &["diff"])).wait();
    assert!(diff.stdout.contains(SECRET), "{}", diff.stdout);
    let diff = Running::of(with_secret(&world, &["diff", "--json"])).wait();
    assert!(diff.json()["patch"].as_str().unwrap().contains(SECRET));
    Running::of(with_secret(&world, &["apply"])).wait().expect(0);
    assert_eq!(world.read("done"), format!("{SECRET}\n"));
}

#[test]
fn the_names_of_files_and_what_is_coloured_are_hidden_too() {
    let made = "mkdir -p \"$(dirname \"$DEPLOY_TOKEN\")\"; touch \"$DEPLOY_TOKEN$END\"; touch done";
    let coloured = "printf '%s\\033[31m%s\\033[m' tok/5ecr3 't+\"9&Q'; exit 1";
    for (end, rest) in
        [("", ""), ("", "; exit 1"), (".log", ""), (".log", "; exit 1"), ("", coloured)]
    {
        let world = World::new();
        world.write(".gitignore", "*.log\n");
        world.commit_all("rules");
        let action =
            if rest == coloured { coloured.to_owned() } else { format!("END={end}; {made}{rest}") };
        let work = json!({"A1": task(&action)});
        world.align(&plan(&["test -f done"], json!({"env": [NAME]}), work));
        run_and_look(&world, "A1");
    }
}
