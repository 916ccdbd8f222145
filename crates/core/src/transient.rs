//! Ends of well-known tools that may pass: the network and locks, by their own exit codes and messages (contract §9.7.1).
//!
//! Invariant: a tool is known by what an action runs. No check is judged by it. Not here: what follows (`step`).

use crate::doc::prelude::*;
use crate::law::approach;

/// Codes of `curl`: no host, no connection, cut off, timed out, no handshake, no or half an answer.
const CURL: &[i32] = &[5, 6, 7, 16, 18, 28, 35, 52, 55, 56, 92];

/// Messages of one or more tools. A tool with a subcommand is known by both words.
const MESSAGES: &[(&[&str], &[&str])] = &[
    (
        &["curl"],
        &[
            "returned error: 429",
            "returned error: 502",
            "returned error: 503",
            "returned error: 504",
        ],
    ),
    (
        &["git fetch", "git pull", "git clone", "git push", "git ls-remote", "git submodule"],
        &[
            "could not resolve host",
            "temporary failure in name resolution",
            "connection timed out",
            "operation timed out",
            "connection reset by peer",
            "failed to connect to",
            "early eof",
            "the remote end hung up unexpectedly",
            "unexpected disconnect while reading sideband packet",
            "returned error: 429",
            "returned error: 502",
            "returned error: 503",
            "returned error: 504",
        ],
    ),
    (&["git"], &[".lock': file exists", "another git process seems to be running"]),
    (&["cargo"], &["spurious network error"]),
    (
        &["npm install", "npm i", "npm ci", "npm add", "npm update", "npm publish", "npx"],
        &[
            "code econnreset",
            "code etimedout",
            "code enotfound",
            "code eai_again",
            "code econnrefused",
            "code err_socket_timeout",
            "code eidletimeout",
            "code e429",
            "code e502",
            "code e503",
            "code e504",
        ],
    ),
    (
        &["pip install", "pip download", "pip wheel", "pip3"],
        &[
            "readtimeouterror",
            "read timed out",
            "connecttimeouterror",
            "newconnectionerror",
            "connectionreseterror",
            "temporary failure in name resolution",
        ],
    ),
    (
        &["apt", "apt-get"],
        &[
            "could not get lock",
            "unable to acquire the dpkg frontend lock",
            "temporary failure resolving",
            "connection timed out",
            "unable to connect to",
        ],
    ),
];

/// Whether an action that ended with this code may do better later: by the tools that it runs, and its output.
pub(crate) fn may_pass(action: &str, code: i32, output: &str) -> bool {
    let mut tools: Vec<String> =
        approach::of_action(action).into_iter().map(|approach| approach.tool).collect();
    tools.dedup();
    let output = output.to_lowercase();
    let is_of = |known: &&str| {
        let starts = |tool: &String| tool.starts_with(&format!("{known} "));
        tools.iter().any(|tool| tool == known || starts(tool))
    };
    let says_code = |code: &i32| output.contains(&format!("curl: ({code})"));
    let is_curl =
        is_of(&"curl") && (tools.len() == 1 && CURL.contains(&code) || CURL.iter().any(says_code));
    let mut rows = MESSAGES.iter().filter(|(tools, _)| tools.iter().any(is_of));
    is_curl || rows.any(|(_, messages)| messages.iter().any(|words| output.contains(words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_may_pass_where_the_tool_itself_says_so() {
        for (action, code, output) in [
            ("curl -fsS https://example.org/a >a", 28, ""),
            ("mkdir -p x && curl -O https://example.org/a", 6, "curl: (6) Could not resolve host"),
            ("set -e; curl -f https://example.org | tar x", 2, "curl: (56) Recv failure"),
            ("curl -f https://example.org", 22, "curl: (22) The requested URL returned error: 503"),
            ("git fetch origin", 128, "fatal: unable to access: Could not resolve host: h"),
            (
                "cd sub; git -C x commit -m y",
                128,
                "Unable to create '/p/.git/index.lock': File exists.",
            ),
            ("cargo build --release", 101, "warning: spurious network error (3 tries remaining)"),
            ("npm ci && npm run build", 1, "npm error code ECONNRESET"),
            ("env A=b pip install -r r.txt", 1, "ReadTimeoutError(\"HTTPSConnectionPool\")"),
            (
                "sudo apt-get install -y jq",
                100,
                "E: Could not get lock /var/lib/dpkg/lock-frontend",
            ),
        ] {
            assert!(may_pass(action, code, output), "{action}");
        }
    }

    #[test]
    fn any_other_failure_is_one() {
        for (action, code, output) in [
            ("curl -f https://example.org", 22, "curl: (22) The requested URL returned error: 404"),
            ("curl -f https://example.org -o a && make", 28, ""),
            ("make", 28, "npm error code ECONNRESET"),
            ("npm test", 1, "npm error code ECONNREFUSED"),
            ("cargo test", 101, "connection reset by peer"),
            ("git commit -m x", 128, "the test says: connection timed out"),
            ("./pipeline", 1, "Read timed out"),
            ("$TOOL fetch", 6, "curl: (6)"),
        ] {
            assert!(!may_pass(action, code, output), "{action}");
        }
    }
}
