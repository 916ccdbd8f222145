//! Trees that begin with build state: what is built once, what stale state may do, and what it never decides.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    chance::{self, Rng},
    world::{Running, World, plan, task},
};

/// Builds each source into an object, and all objects into one file. It misses what a careless build misses: that objects
/// read `conf.h`, and that an object may have lost its source.
const MAKEFILE: &str = "test: build/all
	sh check.sh

build/all: $(patsubst %.src,build/%.o,$(wildcard *.src))
	cat build/*.o > $@

build/%.o: %.src
	@mkdir -p build; echo $< >> $$BUILT
	cat conf.h $< > $@
";

/// A project of these sources, whose test wants that sum.
fn project(sources: &[(&str, u64)], wanted: u64) -> World {
    let world = World::new();
    let built = world.out("built").display().to_string();
    world.write("Makefile", &MAKEFILE.replace("$$BUILT", &built));
    let sum = "[ $(($(cat build/all | tr '\\n' '+')0)) = ";
    world.write("check.sh", &format!("{sum}{wanted} ]\n"));
    world.write("conf.h", "0\n");
    world.write(".gitignore", "build/\n");
    for (name, number) in sources {
        world.write(&format!("{name}.src"), &format!("{number}\n"));
    }
    world.commit_all("start");
    world
}

fn built(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.out("built")).unwrap_or_default();
    fs::remove_file(world.out("built")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

const SUITE: &str = "make -s test";

fn trying(edits: &[String], constraints: Value) -> Value {
    let tasks = edits.iter().enumerate();
    let tasks = tasks.map(|(n, edit)| (format!("C{n}"), task(&format!("{edit} && {SUITE}"))));
    let mut atoms: serde_json::Map<String, Value> = tasks.collect();
    let ids: Vec<String> = atoms.keys().cloned().collect();
    atoms.insert("G".into(), json!({"kind": "any", "choices": ids}));
    plan(&[SUITE], constraints, Value::Object(atoms))
}

#[test]
fn only_what_changed_is_built_but_for_the_verdict_that_decides() {
    let world = project(&[("a", 1), ("b", 2), ("c", 3)], 60);
    let edits = ["echo 5 > a.src", "echo 10 > b.src", "echo 56 > b.src"].map(str::to_owned);
    let path = world.plan(&trying(&edits, json!({"max_parallel_agents": 1})));
    world.descent(&["align", "-y", "-f", &path]).expect(0).shows("carries along: build");
    assert_eq!(built(&world), ["a.src", "b.src", "c.src"], "the fresh checkout has what is here");
    assert_eq!(world.run().expect(0).count("rested"), 2);
    let mut all = built(&world);
    let pristine = all.split_off(all.len() - 3);
    assert_eq!(all, ["a.src", "b.src", "b.src"], "three attempts");
    assert_eq!(pristine, ["a.src", "b.src", "c.src"]);
    let trees = || {
        let cache = world.cache().join("descent");
        let found = Command::new("find").arg(cache).args(["-name", "check.sh"]).output().unwrap();
        String::from_utf8(found.stdout).unwrap().lines().count()
    };
    assert!(trees() > 1);
    world.descent(&["apply"]).expect(0);
    assert_eq!(trees(), 1, "the result");
    world.descent(&["clean"]).expect(0);
    assert_eq!(trees(), 0);
}

#[test]
fn a_right_choice_that_fails_on_stale_state_is_made_once_more_without_it() {
    // Objects do not follow conf.h, so nothing is built anew where state is carried.
    let world = project(&[("a", 1), ("b", 2)], 23);
    let edits = ["echo 10 > conf.h", "echo 4 > a.src"].map(str::to_owned);
    let path = world.plan(&trying(&edits, json!({"max_parallel_agents": 1})));
    world.descent(&["align", "-y", "-f", &path]).expect(0);
    let ran = world.run().expect(0);
    assert_eq!((ran.count("rested"), ran.count("woken")), (1, 1), "{}", ran.stdout);
    ran.shows(r#""because":"cold""#);
    assert_eq!(world.result_file("conf.h"), "10\n");
}

#[test]
fn a_choice_that_passes_on_stale_state_alone_is_refuted() {
    // The object of a source that is gone is still counted.
    let world = project(&[("a", 1), ("b", 2)], 3);
    world.write("check.sh", &("[ ! -e b.src ] && ".to_owned() + &world.read("check.sh")));
    world.commit_all("and b is gone");
    let edits = ["git rm -q b.src".to_owned(), "git mv b.src b2.txt && echo 3 > a.src".to_owned()];
    let path = world.plan(&trying(&edits, json!({"max_parallel_agents": 1})));
    world.descent(&["align", "-y", "-f", &path]).expect(0);
    let ran = world.run().expect(0);
    assert_eq!((ran.count("solved"), ran.count("refuted")), (2, 1), "{}", ran.stdout);
    assert_eq!(world.result_file("a.src"), "3\n");
}

/// A test of cargo that finds its files by the path of its tree, which the compiler put into it.
#[test]
fn a_test_that_was_built_in_another_tree_works_in_its_own() {
    let world = World::new();
    let manifest =
        "[package]\nname = \"reads\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    world.write("Cargo.toml", manifest);
    ["src", "tests"].iter().for_each(|dir| fs::create_dir(world.repo().join(dir)).unwrap());
    world.write("src/lib.rs", "");
    world.write("data", "1\n");
    let reads =
        "std::fs::read_to_string(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/data\")).unwrap()";
    world.write(
        "tests/reads.rs",
        &format!("#[test]\nfn reads() {{ assert_eq!({reads}, \"2\\n\"); }}\n"),
    );
    world.write(".gitignore", "/target\n");
    let suite = "cargo test -q --offline";
    let cargo = Command::new("cargo")
        .args(["generate-lockfile", "--offline"])
        .current_dir(world.repo())
        .status();
    assert!(cargo.unwrap().success());
    world.commit_all("start");
    let choice = format!("echo 2 > data && {suite}");
    let plan = plan(&[suite], json!({}), json!({"C": task(&choice)}));
    let with_cargo = |args: &[&str]| {
        let mut command = world.command(args);
        // The tests' home has no toolchain.
        let named = ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
        command.envs(named.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        Running::of(command).wait().expect(0)
    };
    with_cargo(&["align", "-y", "-f", &world.plan(&plan)]).shows("carries along: target");
    let ran = with_cargo(&["run", "--json"]);
    assert_eq!(ran.count("attempt_failed"), 0, "{}", ran.stdout);
}

fn edit(rng: &mut Rng, n: u64) -> String {
    let one = ["a", "b", "c"][usize::try_from(rng.below(3)).unwrap()];
    let number = rng.below(4);
    match rng.below(8) {
        0 => format!("echo {number} > conf.h"),
        1 => format!("git rm -q {one}.src"),
        2 => format!("git mv {one}.src {one}{n}.src"),
        3 => format!("echo {number} > {one}.src && touch -d 2001-01-01 {one}.src"),
        4 => format!("echo {number} > new{n}.src"),
        5 => format!("rm -rf build && echo {number} > {one}.src"),
        6 => format!("mkdir -p build && echo {number} > build/{one}.o"),
        _ => format!("echo {number} > {one}.src"),
    }
}

/// The word of an ending, with and without build state, of the same project.
fn endings(sources: &[(&str, u64)], wanted: u64, edits: &[String]) -> [String; 2] {
    ["on", "off"].map(|warm| {
        let world = project(sources, wanted);
        let constraints = json!({"warm": warm, "max_parallel_agents": 2, "on_stuck": "abandon"});
        let path = world.plan(&trying(edits, constraints));
        world.descent(&["align", "-y", "-f", &path]).expect(0);
        let ran = world.descent(&["run"]);
        let word = world.state()["run"]["status"].as_str().unwrap().to_owned();
        if word == "completed" {
            assert!(passes_anew(&world), "{edits:?}\n{}", ran.stderr);
        }
        word
    })
}

/// Whether the suite passes on the files of the result alone.
fn passes_anew(world: &World) -> bool {
    let made = world.status()["workspace"]["path"].as_str().unwrap().to_owned();
    let fresh = world.out("fresh");
    let done = |program: &str, args: &[&str], at: &Path| {
        Command::new(program).args(args).current_dir(at).output().unwrap().status.success()
    };
    assert!(done("git", &["clone", "-q", &made, fresh.to_str().unwrap()], Path::new("/")));
    done("make", &["-s", "test"], &fresh)
}

#[test]
fn no_run_ends_otherwise_because_trees_begin_with_build_state() {
    let (mut completed, all) = (0, chance::count("WARM", 6));
    for seed in 0..all {
        let mut rng = Rng::new(chance::seed() * 1_000_003 + seed);
        let sources = ["a", "b", "c"].map(|name| (name, rng.below(4)));
        let edits: Vec<String> = (0..3).map(|n| edit(&mut rng, n)).collect();
        let [warm, cold] = endings(&sources, rng.below(9), &edits);
        assert_eq!(warm, cold, "seed {seed}: {sources:?} {edits:?}");
        completed += u64::from(cold == "completed");
    }
    println!("{completed} of {all} completed");
}
