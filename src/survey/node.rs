//! JavaScript: `package.json`, and the package manager that its lock file belongs to.

use serde_json::Value;

use super::{Proposal, ProposalList, Rank, proposal, reader::Reader};

struct Manager {
    lock: &'static str,
    /// The command that runs a script.
    run: &'static str,
    test: &'static str,
    install: &'static str,
}

const MANAGERS: &[Manager] = &[
    Manager {
        lock: "pnpm-lock.yaml",
        run: "pnpm run",
        test: "pnpm test",
        install: "pnpm install --frozen-lockfile",
    },
    Manager {
        lock: "yarn.lock",
        run: "yarn run",
        test: "yarn test",
        install: "yarn install --frozen-lockfile",
    },
    Manager {
        lock: "bun.lock",
        run: "bun run",
        // `bun test` is different: bun's own runner.
        test: "bun run test",
        install: "bun install --frozen-lockfile",
    },
    Manager {
        lock: "bun.lockb",
        run: "bun run",
        test: "bun run test",
        install: "bun install --frozen-lockfile",
    },
    Manager { lock: "package-lock.json", run: "npm run", test: "npm test", install: "npm ci" },
];
const WITHOUT_LOCK: Manager =
    Manager { lock: "package.json", run: "npm run", test: "npm test", install: "npm install" };

/// Scripts that are checks in most projects.
const SCRIPTS: &[(&str, Rank)] = &[
    ("check", Rank::Check),
    ("typecheck", Rank::Check),
    ("type-check", Rank::Check),
    ("build", Rank::Build),
    ("lint", Rank::Lint),
];

fn manager(reader: &Reader) -> &'static Manager {
    let known = MANAGERS.iter().find(|known| reader.is_file(known.lock));
    known.unwrap_or(&WITHOUT_LOCK)
}

pub(super) fn propose(reader: &Reader, found: &mut ProposalList) {
    let Some(package) = package(reader) else {
        return;
    };
    let manager = manager(reader);
    let script = |name: &str| {
        let text = package.get("scripts")?.get(name)?.as_str()?;
        is_check(text).then_some(())
    };
    if script("test").is_some() {
        found.add(Rank::Test, manager.test, "package.json");
    }
    for (name, rank) in SCRIPTS {
        if script(name).is_some() {
            found.add(*rank, format!("{} {name}", manager.run), "package.json");
        }
    }
}

/// The placeholder of `npm init`, watchers, and scripts that always succeed are no checks.
fn is_check(script: &str) -> bool {
    let watches = script
        .split_whitespace()
        .any(|word| matches!(word, "--watch" | "--watchAll" | "--watch-all" | "-w"));
    !script.trim().is_empty()
        && !script.contains("no test specified")
        && !watches
        && !descent_core::judging::never_fails(script)
}

/// The text of a script of the project.
pub(super) fn script(reader: &Reader, name: &str) -> Option<String> {
    let package = package(reader)?;
    let text = package.get("scripts")?.get(name)?.as_str()?;
    Some(text.to_owned())
}

fn package(reader: &Reader) -> Option<Value> {
    serde_json::from_str(&reader.read("package.json")?).ok()
}

/// The needs of a fresh copy of the project.
pub(super) fn needs(
    reader: &Reader,
    is_ignored: &dyn Fn(&str) -> bool,
    link: &mut Vec<Proposal>,
    setup: &mut Vec<Proposal>,
) {
    let Some(package) = package(reader) else {
        return;
    };
    let has_packages = ["dependencies", "devDependencies"].iter().any(|key| {
        let packages = package.get(key).and_then(Value::as_object);
        packages.is_some_and(|packages| !packages.is_empty())
    });
    let is_installed = reader.is_dir("node_modules") && is_ignored("node_modules");
    if is_installed {
        link.push(proposal("node_modules", "package.json"));
    }
    if has_packages || is_installed {
        let manager = manager(reader);
        setup.push(proposal(manager.install, manager.lock));
    }
}
