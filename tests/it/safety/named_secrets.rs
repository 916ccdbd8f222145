//! Secrets that the program knows by name: in no output, state, log, report or prompt, in no encoding.
//!
//! The encodings and the decoder here are the test's own.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    agents::talked::{Acp, Claude, Codex},
    world::{Running, World, plan, task, with},
};

const NAME: &str = "DEPLOY_TOKEN";
const SECRET: &str = "tok/5ecr3t+\"9&Q";

type Encode = fn(&str) -> String;

fn each(text: &str, one: impl Fn(u8) -> String) -> String {
    text.bytes().map(one).collect()
}

fn json_text(text: &str) -> String {
    let quoted = json!(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn base64(text: &str, before: &str, last: [char; 2]) -> String {
    let text = format!("{before}{text}");
    let letters = ('A'..='Z').chain('a'..='z').chain('0'..='9');
    let letters: Vec<char> = letters.chain(last).collect();
    let mut encoded = String::new();
    for three in text.as_bytes().chunks(3) {
        let mut bits = 0;
        for at in 0..3 {
            bits = bits << 8 | usize::from(*three.get(at).unwrap_or(&0));
        }
        let shown = (0..=three.len()).map(|at| letters[bits >> (18 - 6 * at) & 63]);
        encoded.extend(shown);
        encoded.push_str(&"=".repeat(3 - three.len()));
    }
    encoded
}

const ENCODINGS: [Encode; 17] = [
    |text| text.to_owned(),
    json_text,
    |text| json_text(text).replace('/', "\\/"),
    |text| {
        each(text, |b| {
            if b.is_ascii_alphanumeric() {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
    },
    |text| each(text, |b| format!("%{b:02x}")),
    |text| each(text, |b| format!("\\{b:03o}")),
    |text| each(text, |b| format!("\\x{b:02x}")),
    |text| each(text, |b| format!("\\u{b:04x}")),
    |text| each(text, |b| format!("\\u{{{b:x}}}")),
    |text| each(text, |b| format!("\\U{b:08X}")),
    |text| each(text, |b| format!("&#{b};")),
    |text| each(text, |b| format!("&#x{b:X};")),
    |text| text.replace('&', "&amp;").replace('"', "&quot;"),
    |text| base64(text, "", ['+', '/']),
    |text| base64(text, "a", ['+', '/']),
    |text| base64(text, "me", ['-', '_']),
    |text| base64(text, "", ['-', '_']),
];

/// Each encoding, each pair, and one of depth six.
fn forms() -> Vec<String> {
    let pairs = ENCODINGS.iter().flat_map(|outer| {
        let inner = ENCODINGS.iter().map(|inner| inner(SECRET));
        inner.map(|text| outer(&text))
    });
    let deep = [13, 7, 12, 4, 15, 1]
        .iter()
        .fold(SECRET.to_owned(), |text, nth| ENCODINGS[*nth](&text));
    pairs.chain([deep]).collect()
}

/// One pass over a text, from the left: what `read` takes is replaced by what it gives.
fn passed(text: &str, read: impl Fn(&str) -> Option<(usize, String)>) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let (length, means) = read(rest).unwrap_or((first.len_utf8(), first.to_string()));
        plain.push_str(&means);
        rest = &rest[length..];
    }
    plain
}

fn code(digits: &str, radix: u32) -> Option<String> {
    let code = u32::from_str_radix(digits, radix).ok()?;
    Some(char::from_u32(code)?.to_string())
}

fn of_backslash(rest: &str) -> Option<(usize, String)> {
    let after = rest.strip_prefix('\\')?;
    let kind = after.chars().next()?;
    if let Some(braced) = after.strip_prefix("u{") {
        let (digits, _) = braced.split_once('}')?;
        return Some((digits.len() + 4, code(digits, 16)?));
    }
    let length = match kind {
        '\\' | '/' | '"' => return Some((2, kind.to_string())),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        '0'..='3' => return Some((4, code(after.get(..3)?, 8)?)),
        _ => return None,
    };
    Some((length + 2, code(after.get(1..=length)?, 16)?))
}

fn of_url(rest: &str) -> Option<(usize, String)> {
    let digits = rest.strip_prefix('%')?.get(..2)?;
    Some((3, code(digits, 16)?))
}

fn of_html(rest: &str) -> Option<(usize, String)> {
    let (name, _) = rest.strip_prefix('&')?.split_once(';')?;
    let means = match name {
        "amp" => "&".to_owned(),
        "quot" => "\"".to_owned(),
        _ => match name.strip_prefix("#x") {
            Some(digits) => code(digits, 16)?,
            None => code(name.strip_prefix('#')?, 10)?,
        },
    };
    Some((name.len() + 2, means))
}

fn of_base64(text: &str) -> Vec<String> {
    let value = |c: char| {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".find(match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
    };
    let runs = text.split(|c| value(c).is_none());
    let mut found = Vec::new();
    for run in runs.filter(|run| run.len() >= 11) {
        for from in 0..4 {
            let (mut bits, mut count, mut bytes) = (0_usize, 0, Vec::new());
            for value in run[from..].chars().filter_map(value) {
                (bits, count) = (bits << 6 | value, count + 6);
                if count >= 8 {
                    count -= 8;
                    bytes.push(u8::try_from(bits >> count & 255).unwrap());
                }
            }
            found.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    found
}

/// Whether a text means the secret, whatever it is decoded by, and in whatever order.
fn means_it(text: &str) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), vec![text.to_owned()]);
    while let Some(text) = left.pop() {
        if text.contains(SECRET) {
            return true;
        }
        // Many decoded runs are noise: what is left of an encoding is all letters of a text.
        let is_text = text
            .chars()
            .filter(|c| *c == '\u{fffd}' || c.is_control() && *c != '\n')
            .count()
            * 8
            < text.len();
        if text.len() < SECRET.len() || !is_text || !seen.insert(text.clone()) {
            continue;
        }
        left.extend(of_base64(&text));
        left.extend([
            passed(&text, of_html),
            passed(&text, of_url),
            passed(&text, of_backslash),
        ]);
    }
    false
}

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
    for path in fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
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
        vec!["prompt", atom],
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
    world.align(&plan(
        &[&format!("{show}; false")],
        limits.clone(),
        json!({"A1": step}),
    ));
    run_and_look(&world, "A1");

    let world = self::world();
    let setup = format!("{}; test -f a.txt", show_forms(&world));
    let limits = with(limits, json!({"setup": setup}));
    let made = plan(&["test -f done"], limits, json!({"A1": task("rm a.txt")}));
    let made = world.plan(&made);
    let told = Running::of(with_secret(&world, &["align", "-y", "-f", &made]))
        .wait()
        .expect(0);
    nothing_means_it("align", &(told.stdout + &told.stderr));
    let setup = format!("{}; false", show_forms(&world));
    let failed = plan(
        &["true"],
        json!({"setup": setup}),
        json!({"A1": task("true")}),
    );
    let failed = world.plan(&failed);
    let told = Running::of(with_secret(
        &world,
        &["align", "-y", "--force", "-f", &failed],
    ))
    .wait();
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
    assert!(
        all.contains("`value` cannot be taken: it holds the value of DEPLOY_TOKEN"),
        "{all}"
    );
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
        let settings: Vec<(&str, &str)> = settings
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
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
        assert!(
            prompts.contains("mind [DEPLOY_TOKEN]"),
            "{protocol:?}: {prompts}"
        );
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
        let limits = json!({"max_attempts": 1, "max_transient": 0, "max_planning_phases": 1});
        let _ = fs::remove_dir_all(world.repo().join(".descent"));
        world.align(&plan(&["test -f done"], limits, json!({"N": step})));
        let all = run_and_look_at_plan(&world);
        assert!(
            all.contains("the value of DEPLOY_TOKEN"),
            "{nth} {form}: {all}"
        );
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
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 1}),
        json!({"A1": task(&says)}),
    ));
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
    for name in vars
        .map(|(name, _)| name)
        .iter()
        .chain(&["SECRETS_DIR", "PATH", "HOME"])
    {
        assert!(!all.contains(&format!("[{name}]")), "{name}: {all}");
    }
}

#[test]
fn a_diff_and_the_files_that_are_applied_are_as_they_were_made() {
    let world = World::new();
    let action = format!("printf '%s\\n' '{SECRET}' > done; cat done");
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"A1": task(&action)}),
    ));
    let ran = Running::of(with_secret(&world, &["run", "--json"])).wait();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let diff = Running::of(with_secret(&world, &["diff"])).wait();
    assert!(diff.stdout.contains(SECRET), "{}", diff.stdout);
    let diff = Running::of(with_secret(&world, &["diff", "--json"])).wait();
    assert!(diff.json()["patch"].as_str().unwrap().contains(SECRET));
    Running::of(with_secret(&world, &["apply"]))
        .wait()
        .expect(0);
    assert_eq!(world.read("done"), format!("{SECRET}\n"));
}
