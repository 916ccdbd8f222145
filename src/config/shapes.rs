//! The shape of each setting, for a person whose text has a fault there.
//!
//! Invariant: a hint is of the setting at fault, read off its place in the text. Not here: the faults (`read`).

/// Settings of an agent, each with an example.
const OF_AGENT: [(&str, &str); 18] = [
    ("preset", r#"preset = "claude""#),
    ("acp", r#"acp = ["my-agent", "--acp"]"#),
    ("headless", r#"headless = {argv = ["my-agent", "-p"], events = "text"}"#),
    ("run", r#"run = "my-agent < \"$DESCENT_PROMPT\"""#),
    ("provider", r#"provider = "messages""#),
    ("base_url", r#"base_url = "http://localhost:11434/v1""#),
    ("model", r#"model = "qwen3:32b""#),
    ("key", r#"key = {env = "ANTHROPIC_API_KEY"}"#),
    ("max_parallel", "max_parallel = 4"),
    ("context", "context = 32768"),
    ("max_answer", "max_answer = 16000"),
    ("effort", r#"effort = "low""#),
    ("args", r#"args = ["--model", "opus"]"#),
    ("env", r#"env = ["NAME"]"#),
    ("modes", r#"modes = {write = "code", read = "ask"}"#),
    ("first_event", r#"first_event = "2m""#),
    ("idle", r#"idle = "10m""#),
    ("price", r#"price = {input = "3", output = "15"}"#),
];

/// The other settings of a file.
const OF_FILE: [(&str, &str); 2] =
    [("notify", r#"notify = "mail -s descent ada""#), ("roles", r#"roles.worker = "claude""#)];

/// A known program as the worker.
const TWO_LINES: &str = r#"agents.claude.preset = "claude" and roles.worker = "claude""#;

/// A command as the worker.
pub const COMMAND_LINES: [&str; 2] =
    [r#"agents.worker.run = "my-agent < \"$DESCENT_PROMPT\"""#, r#"roles.worker = "worker""#];

/// The hint for a person who writes `worker` outside of `roles`.
pub(super) fn of_worker() -> String {
    let [agent, role] = COMMAND_LINES;
    format!("a worker takes two lines: {agent} and {role}; a known program: {TWO_LINES}")
}

/// The shape of what stands at an offset of the text.
pub(super) fn hint(text: &str, offset: usize) -> String {
    let path = path_at(text, offset);
    let mut path = path.iter().map(String::as_str);
    let shape = match path.next() {
        Some("worker") => return of_worker(),
        Some("agents") => path.nth(1).and_then(|key| example(&OF_AGENT, key)),
        Some(key) => example(&OF_FILE, key),
        None => None,
    };
    format!("it looks like this: {}", shape.unwrap_or(TWO_LINES))
}

/// Whether a header of a table of its own stands there, such as that of an agent.
pub(super) fn is_agent(text: &str, offset: usize) -> bool {
    let path = path_at(text, offset);
    path.len() == 2 && path[0] == "agents"
}

fn example(shapes: &[(&'static str, &'static str)], key: &str) -> Option<&'static str> {
    let found = shapes.iter().find(|(name, _)| *name == key);
    found.map(|(_, example)| *example)
}

/// The names above the place, the outermost first: those of its table, then those of its line.
fn path_at(text: &str, offset: usize) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = 0;
    let mut of_line = Vec::new();
    for line in text.split_inclusive('\n') {
        if at > offset {
            break;
        }
        at += line.len();
        let line = line.trim();
        if let Some(name) = header(line) {
            path = segments(name);
            of_line.clear();
        } else if let Some((key, _)) = line.split_once('=')
            && key.chars().all(is_of_key)
        {
            of_line = segments(key);
        } else if line.chars().all(is_of_key) && !line.is_empty() {
            // A key without its `=`.
            of_line = segments(line);
        }
    }
    path.extend(of_line);
    path
}

fn header(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?;
    let end = name.find(']').unwrap_or(name.len());
    let name = &name[..end];
    (!name.is_empty() && name.chars().all(is_of_key)).then_some(name)
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.\"' \t".contains(c)
}

fn segments(name: &str) -> Vec<String> {
    let trimmed = |part: &str| part.trim().trim_matches(['"', '\'']).to_owned();
    name.split('.').map(trimmed).collect()
}
