//! Nothing of a person's surroundings leads from a checkout back into the project: neither a variable nor a link.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use crate::{
    safety::trust::trust_worker,
    world::{Ran, Running, World, plan, task},
};

/// The names that are passed on by default, from the list itself.
fn names() -> Vec<&'static str> {
    let source = include_str!("../../../crates/process/src/environment.rs");
    let (_, list) = source.split_once("const NAMES: &str = \"").unwrap();
    let (list, _) = list.split_once("\";").unwrap();
    let names: Vec<&str> = list.split_ascii_whitespace().collect();
    assert!(names.len() > 100, "{names:?}");
    names
}

/// The program with variables of its own.
fn descent(world: &World, args: &[&str], vars: &[(&str, String)]) -> Ran {
    let mut command = world.command(args);
    command.envs(vars.iter().map(|(name, value)| (name, value)));
    Running::of(command).wait()
}

fn is_here(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|found| found.status.success())
}

#[test]
fn no_job_is_handed_a_variable_that_leads_into_the_project() {
    let world = World::new();
    std::fs::create_dir(world.repo().join("src")).unwrap();
    world.write("src/tracked", "");
    let linked = world.root().join("linked");
    symlink(world.repo(), &linked).unwrap();
    let worker = world.program(
        "worker",
        &format!("#!/bin/sh\nenv >{}/worker; touch done\n", world.out("").display()),
    );
    let config = format!(
        "[agents.w]\nrun = \"{}\"\nenv = [\"MINE\"]\n[roles]\nworker = \"w\"\n",
        worker.display()
    );
    world.write("descent.toml", &config);
    world.commit_all("a worker with variables");
    trust_worker(&world);
    let (repo, linked) = (world.repo().display().to_string(), linked.display().to_string());
    let forms = [
        format!("{repo}/src"),
        format!("/x:{linked}/src:{repo}/src"),
        format!("--flag={repo}/src -I{linked}/src"),
        format!("file://{repo}/src"),
    ];
    let ours = ["PATH", "HOME", "TMPDIR", "TEMP", "TMP"];
    let names = names().into_iter().filter(|name| !ours.contains(name));
    let names: Vec<&str> = names.chain(["XDG_DATA_DIRS", "LC_X", "MINE", "PASSED"]).collect();
    let mut vars: Vec<(&str, String)> =
        names.iter().copied().zip(forms.iter().cloned().cycle()).collect();
    let path = std::env::var("PATH").unwrap();
    vars.extend([("PATH", format!("{path}:{repo}/src")), ("TMPDIR", format!("{repo}/src"))]);
    let note = |job: &str| format!("env >>{}", world.out(job).display());
    let constraints = json!({"setup": {"run": note("setup")}, "env": ["PASSED"]});
    let mut by_worker = task("");
    by_worker.as_object_mut().unwrap().remove("action");
    let atoms = json!({"A": task(&format!("{}; touch acted", note("action"))), "B": by_worker});
    let check = format!("{}; test -e done && test -e acted", note("check"));
    let plan = world.plan(&plan(&[&check], constraints, atoms));
    descent(&world, &["align", "-y", "-f", &plan], &vars).expect(0);
    // The look in the project itself is the one that is handed them as they are.
    let here = world.left("check");
    assert!(here.contains(&format!("PYTHONPATH={linked}")) || here.contains(&repo), "{here}");
    std::fs::remove_file(world.out("check")).unwrap();
    descent(&world, &["run"], &vars).expect(0);
    descent(&world, &["verify", "--result"], &vars).expect(0);
    for job in ["setup", "action", "worker", "check"] {
        let seen = world.left(job);
        let is_ours = |line: &&str| line.starts_with("DESCENT_") || line.starts_with("GIT_CEILING");
        let lines: Vec<&str> = seen.lines().filter(|line| !is_ours(line)).collect();
        let back = lines.iter().find(|line| line.contains(&repo) || line.contains(&linked));
        assert_eq!(back, None, "{job}");
        for name in names.iter().filter(|name| **name != "MINE") {
            let value = lines.iter().find(|line| line.starts_with(&format!("{name}=")));
            assert!(value.is_some_and(|line| line.contains("/src")), "{job}: {name}: {value:?}");
        }
    }
    let worker = world.left("worker");
    assert!(worker.contains("\nMINE="), "{worker}");
}

/// A tool that reads a file of the project by a variable: the program, the variable, the file, and a check that holds while
/// the file says 1.
struct Tool {
    program: &'static str,
    variable: &'static str,
    value: &'static str,
    file: &'static str,
    one: &'static str,
    check: &'static str,
}

const TOOLS: [Tool; 7] = [
    Tool {
        program: "python3",
        variable: "PYTHONPATH",
        value: "REPO/src",
        file: "src/pkg.py",
        one: "f = 1",
        check: "python3 -c 'import pkg; assert pkg.f == 1'",
    },
    Tool {
        program: "cc",
        variable: "CPATH",
        value: "/nowhere:REPO/src",
        file: "src/one.h",
        one: "#define F 1",
        check: "printf '#include <one.h>\\nint x[F == 1 ? 1 : -1];' | cc -xc -c -o /dev/null -",
    },
    Tool {
        program: "cc",
        variable: "CFLAGS",
        value: "-O0 -IREPO/src",
        file: "src/one.h",
        one: "#define F 1",
        check: "printf '#include <one.h>\\nint x[F == 1 ? 1 : -1];' | cc $CFLAGS -xc -c -o /dev/null -",
    },
    Tool {
        program: "make",
        variable: "MAKEFLAGS",
        value: "-IREPO/src",
        file: "src/one.mk",
        one: "F = 1",
        check: "printf 'include one.mk\\nall:; test $(F) = 1\\n' | make -f -",
    },
    Tool {
        program: "perl",
        variable: "PERL5LIB",
        value: "REPO/src",
        file: "src/One.pm",
        one: "package One; our $f = 1; 1;",
        check: "perl -MOne -e 'exit($One::f != 1)'",
    },
    Tool {
        program: "node",
        variable: "NODE_PATH",
        value: "REPO/src",
        file: "src/one.js",
        one: "exports.f = 1",
        check: "node -e 'process.exit(require(\"one\").f === 1 ? 0 : 1)'",
    },
    Tool {
        program: "sh",
        variable: "PATH",
        value: "REPO/src:OLD",
        file: "src/one",
        one: "#!/bin/sh\necho 1",
        check: "test \"$(one)\" = 1",
    },
];

#[test]
fn a_check_that_a_variable_leads_to_the_project_judges_the_result() {
    for tool in TOOLS.iter().filter(|tool| is_here(tool.program)) {
        let world = World::new();
        std::fs::create_dir(world.repo().join("src")).unwrap();
        world.write(tool.file, &format!("{}\n", tool.one));
        Command::new("chmod").arg("+x").arg(world.repo().join(tool.file)).status().unwrap();
        world.commit_all("a file that is found by a variable");
        let repo = world.repo().display().to_string();
        let value =
            tool.value.replace("REPO", &repo).replace("OLD", &std::env::var("PATH").unwrap());
        let vars = [(tool.variable, value)];
        let step = format!("sed -i 's/1/22/' {}; touch done", tool.file);
        let step = step.replace("s/1/22/", "$s/1/22/");
        let constraints = json!({"env": [tool.variable]});
        let plan = world.plan(&plan(
            &[tool.check, "test -e done"],
            constraints,
            json!({"A": task(&step)}),
        ));
        descent(&world, &["align", "-y", "-f", &plan], &vars).expect(0).shows("pass");
        let ran = descent(&world, &["run", "--json"], &vars).expect(5).result();
        let verdicts = ran["evidence"].as_array().unwrap().iter();
        let verdicts: Vec<&str> = verdicts.map(|one| one["verdict"].as_str().unwrap()).collect();
        assert_eq!(verdicts, ["fail", "pass"], "{} {}", tool.program, tool.variable);
    }
}

/// A project with an ignored environment in it, as `python3 -m venv` makes it.
fn with_environment() -> (World, [(&'static str, String); 2]) {
    let world = World::new();
    world.write(".gitignore", ".venv\n");
    std::fs::create_dir_all(world.repo().join(".venv/bin")).unwrap();
    std::fs::create_dir_all(world.repo().join(".venv/lib/site-packages")).unwrap();
    std::fs::create_dir(world.repo().join("src")).unwrap();
    world.write("src/pkg.py", "f = 1\n");
    world.write(".venv/bin/tool", "#!/bin/sh\n");
    Command::new("chmod").arg("+x").arg(world.repo().join(".venv/bin/tool")).status().unwrap();
    world.commit_all("an environment");
    let venv = world.repo().join(".venv").display().to_string();
    let path = format!("{venv}/bin:{}", std::env::var("PATH").unwrap());
    (world, [("PATH", path), ("VIRTUAL_ENV", venv)])
}

#[test]
fn a_variable_that_names_what_no_checkout_has_is_told_with_the_way_out() {
    let (world, vars) = with_environment();
    let plan = |constraints| {
        plan(&["tool", "test -e done"], constraints, json!({"A": task("touch done")}))
    };
    let align = |plan: &str| {
        let _ = std::fs::remove_dir_all(world.repo().join(".descent"));
        let aligned = descent(&world, &["align", "-y", "-f", plan], &vars).expect(0);
        aligned.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let named = "`.venv`: it is named by PATH and VIRTUAL_ENV, and a checkout lacks it";
    let page = align(&world.plan(&plan(json!({}))));
    assert!(page.contains(named), "{page}");
    assert!(page.contains("share yours: --link .venv"), "{page}");
    let ran = descent(&world, &["run"], &vars).expect(5);
    let named = "a checkout lacks it: share yours: descent run --set link=.venv; or";
    assert_eq!(ran.stderr.matches(named).count(), 2, "{}", ran.stderr);
    descent(&world, &["run", "--set", "link=.venv"], &vars).expect(0);
    // Each way out, after which nothing is told.
    let makes = json!({"setup": {"run": "mkdir -p .venv/bin; printf '#!/bin/sh\\n' >.venv/bin/tool; chmod +x .venv/bin/tool"}});
    for constraints in [json!({"link": [".venv"]}), makes] {
        let page = align(&world.plan(&plan(constraints)));
        assert!(!page.contains("lacks it"), "{page}");
        let ran = descent(&world, &["run"], &vars).expect(0);
        assert!(!ran.stderr.contains("lacks it"), "{}", ran.stderr);
    }
    // An environment that would lead back is not offered to be shared.
    let pth = world.repo().join(".venv/lib/site-packages/pkg.pth");
    std::fs::write(pth, format!("{}/src\n", world.repo().display())).unwrap();
    let page = align(&world.plan(&plan(json!({}))));
    assert!(page.contains("do: make it in each checkout: --setup COMMAND"), "{page}");
    assert!(page.contains("lacks it") && !page.contains("--link"), "{page}");
    // A setup that would write into the person's own environment does not get there, and the reason is named.
    let writes = json!({"setup": {"run": "echo here >\"$VIRTUAL_ENV/editable.pth\""}});
    let plan = world.plan(&plan(writes));
    std::fs::remove_dir_all(world.repo().join(".descent")).unwrap();
    let failed = descent(&world, &["align", "-y", "-f", &plan], &vars).expect(69);
    assert!(
        failed.stderr.contains("E-SETUP") && failed.stderr.contains("a checkout lacks it"),
        "{}",
        failed.stderr
    );
    assert!(!world.repo().join(".venv/editable.pth").exists());
}

/// Puts something into a project, by its top and a place outside.
type Puts = fn(&Path, &Path);

fn put_link(at: PathBuf, to: &Path) {
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(to, at).unwrap();
}

fn put(at: PathBuf, text: String) {
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, text).unwrap();
}

const LEADS_BACK: [(&str, Puts); 11] = [
    ("lnk", |top, _| put_link(top.join("lnk"), &top.join("src"))),
    ("src/lnk", |top, _| put_link(top.join("src/lnk"), top)),
    ("shared/x", |top, _| put_link(top.join("shared/x"), Path::new("../src"))),
    ("shared/@a/x", |top, _| put_link(top.join("shared/@a/x"), Path::new("../../src/pkg.py"))),
    ("shared", |top, _| put_link(top.join("shared"), Path::new("src"))),
    ("shared/lib/a.pth", |top, _| {
        put(top.join("shared/lib/a.pth"), format!("import os\n{}/src\n", top.display()))
    }),
    ("shared/lib/b.pth", |top, _| put(top.join("shared/lib/b.pth"), "../../src\n".to_owned())),
    ("shared/lib/c.egg-link", |top, _| {
        put(top.join("shared/lib/c.egg-link"), format!("{}\n.", top.display()))
    }),
    ("shared/spaced", |top, _| {
        put(top.join("my src/a"), String::new());
        put_link(top.join("shared/spaced"), &top.join("my src"));
    }),
    ("shared/lib/_editable_impl_p.py", |top, _| {
        let text = format!("import x\nx.map('p', '{}/src/pkg.py')\n", top.display());
        put(top.join("shared/lib/_editable_impl_p.py"), text);
    }),
    ("shared/lib/__editable___p_finder.py", |top, _| {
        let text = format!("MAPPING = {{'p': '{}/src'}}\n", top.display());
        put(top.join("shared/lib/__editable___p_finder.py"), text);
    }),
];

const STAYS_OUT: [Puts; 7] = [
    |top, _| put_link(top.join("lnk"), Path::new("src")),
    |top, out| put_link(top.join("lnk"), out),
    |top, _| put_link(top.join("lnk"), &top.join("shared/in")),
    |top, _| put_link(top.join("lnk"), &top.join("ignored/in")),
    |top, _| put_link(top.join("shared/x"), Path::new("y")),
    |top, out| {
        put(
            top.join("shared/a.pth"),
            format!("{}\nimport os; os.x('{}/ignored')\n", out.display(), top.display()),
        )
    },
    |top, out| {
        put(out.join("in/a"), String::new());
        put_link(top.join("shared"), &out.join("in"));
    },
];

fn with(puts: Puts) -> (World, String) {
    let world = World::new();
    world.write(".gitignore", "/shared\n/ignored\n");
    std::fs::create_dir(world.repo().join("src")).unwrap();
    world.write("src/pkg.py", "f = 1\n");
    put(world.repo().join("ignored/in"), String::new());
    puts(&world.repo(), &world.out(""));
    world.commit_all("what may lead back");
    let plan =
        plan(&["test -e done"], json!({"link": ["shared"]}), json!({"A": task("touch done")}));
    let plan = world.plan(&plan);
    (world, plan)
}

#[test]
fn a_link_or_a_list_of_packages_that_leads_back_is_refused_by_name() {
    for (name, puts) in LEADS_BACK {
        let (world, plan) = with(puts);
        let refused = world.descent(&["align", "-y", "-f", &plan]).expect(65);
        refused.says("E-LEADS-BACK").says(&format!("`{name}`"));
        assert!(!world.state_path().exists(), "{name}");
    }
}

#[test]
fn what_leads_elsewhere_is_not_refused() {
    for puts in STAYS_OUT {
        let (world, plan) = with(puts);
        world.descent(&["align", "-y", "-f", &plan]).expect(0);
        world.run().expect(0);
    }
}

#[test]
fn what_leads_back_since_the_agreement_is_refused_before_anything_runs() {
    let (world, plan) = with(|top, _| put(top.join("shared/a"), String::new()));
    world.descent(&["align", "-y", "-f", &plan]).expect(0);
    symlink(world.repo().join("src"), world.repo().join("shared/back")).unwrap();
    world.descent(&["run"]).expect(65).says("`shared/back`");
    assert_eq!(world.state()["run"]["attempts_started"], 0);
    std::fs::remove_file(world.repo().join("shared/back")).unwrap();
    symlink(world.repo().join("src"), world.repo().join("back")).unwrap();
    world.descent(&["run"]).expect(65).says("`back`");
    std::fs::remove_file(world.repo().join("back")).unwrap();
    world.run().expect(0);
    symlink(world.repo().join("src"), world.repo().join("shared/back")).unwrap();
    world.descent(&["verify", "--result"]).expect(65).says("E-LEADS-BACK");
}

#[test]
fn ignored_packages_that_no_checkout_has_are_named_with_the_way_out() {
    let world = World::new();
    world.write(".gitignore", "node_modules\n");
    world.commit_all("a project with packages");
    put(world.repo().join("node_modules/a/index.js"), String::new());
    let file = world.plan(&plan(
        &["test -e node_modules/a && test -e done"],
        json!({}),
        json!({"A": task("touch done")}),
    ));
    let words = "`node_modules`: it holds packages, and a checkout lacks it";
    world.descent(&["align", "-y", "-f", &file]).expect(0).shows("--link node_modules");
    world.descent(&["run"]).expect(5).says(words).says("descent run --set link=node_modules");
    world.descent(&["run", "--set", "link=node_modules"]).expect(0);
}

#[test]
fn a_step_that_opens_an_editor_fails_at_once() {
    let world = World::new();
    let editors = "$EDITOR $VISUAL $GIT_EDITOR $GIT_SEQUENCE_EDITOR";
    let step = task(&format!("git commit -q --allow-empty || echo {editors} >editors"));
    let check = "grep -x 'false false false false' editors";
    world.align(&plan(&[check], json!({"attempt_timeout": "20s"}), json!({"A": step})));
    let waits = [("EDITOR", "sleep 60".to_owned()), ("VISUAL", "sleep 60".to_owned())];
    descent(&world, &["run"], &waits).expect(0);
}
