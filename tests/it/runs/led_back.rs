//! A command, a change and a Python outside of the project lead no job and no result back into it.

use std::{fs, path::Path, process::Command};

use serde_json::json;

use crate::{
    passed_over::{Lack, passed_over},
    world::{Ran, Running, World, plan, task},
};

const FILE: &str = "src/pkg.py";

/// The verdicts at the end of a run whose step breaks a file that the first check reads.
fn verdicts(
    world: &World,
    constraints: serde_json::Value,
    check: &str,
    vars: &[(&str, String)],
) -> Vec<String> {
    let descent = |args: &[&str]| -> Ran {
        let mut command = world.command(args);
        command.envs(vars.iter().map(|(name, value)| (name, value)));
        Running::of(command).wait()
    };
    let step = task(&format!("echo 'f = 22' > {FILE}; touch done"));
    let plan = world.plan(&plan(&[check, "test -e done"], constraints, json!({"A": step})));
    descent(&["align", "-y", "-f", &plan]).expect(0).shows("pass");
    let ran = descent(&["run", "--json"]).expect(5).result();
    let verdicts = ran["evidence"].as_array().unwrap().iter();
    verdicts.map(|one| one["verdict"].as_str().unwrap().to_owned()).collect()
}

fn put(at: &Path, text: &str) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(at, text).unwrap();
}

fn world() -> World {
    let world = World::new();
    fs::create_dir(world.repo().join("src")).unwrap();
    world.write(FILE, "f = 1\n");
    world.commit_all("a package");
    world
}

#[test]
fn a_check_and_a_setup_that_name_the_project_judge_the_result() {
    let repo = |world: &World| world.repo().display().to_string();
    let world_of_check = world();
    let check = format!("cd {} && grep -q 'f = 1$' {FILE}", repo(&world_of_check));
    assert_eq!(verdicts(&world_of_check, json!({}), &check, &[]), ["fail", "pass"]);
    let world = world();
    world.write(".gitignore", "copy\n");
    world.commit_all("an ignored copy");
    fs::write(world.repo().join("copy"), "f = 1\n").unwrap();
    let setup = json!({"setup": {"run": format!("cp {}/{FILE} copy", repo(&world))}});
    assert_eq!(verdicts(&world, setup, "grep -q 'f = 1$' copy", &[]), ["fail", "pass"]);
}

#[test]
fn a_package_that_is_installed_in_place_elsewhere_is_found_in_the_checkout() {
    // A list of directories, and a finder that maps a package.
    let forms: [(&str, &str); 2] = [
        ("in_place.pth", "REPO/src\n"),
        ("__editable___pkg_finder.py", "MAPPING = {'pkg': 'REPO/src/pkg.py'}\n"),
    ];
    for (name, text) in forms {
        let world = world();
        let venv = world.root().join("venv");
        let made =
            Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).output();
        if !made.is_ok_and(|made| made.status.success()) {
            return passed_over("packages in place", Lack::Program("python3 -m venv"));
        }
        let site = fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap();
        let site = site.path().join("site-packages");
        let text = text.replace("REPO", &world.repo().display().to_string());
        fs::write(site.join(name), text).unwrap();
        // The finder is no more than its mapping here: another list has the package as it was.
        put(&venv.join("other/pkg.py"), "f = 1\n");
        put(&site.join("other.pth"), &format!("{}/other\n", venv.display()));
        let path = format!("{}/bin:{}", venv.display(), std::env::var("PATH").unwrap());
        let vars = [("PATH", path), ("VIRTUAL_ENV", venv.display().to_string())];
        let check = "python3 -c 'import pkg; assert pkg.f == 1'";
        assert_eq!(verdicts(&world, json!({}), check, &vars), ["fail", "pass"], "{name}");
    }
}

#[test]
fn a_change_with_a_link_into_the_project_or_its_workspace_fails_by_name() {
    for is_project in [true, false] {
        let world = world();
        // A command that names the project would be led to the checkout.
        fs::write(world.out("repo"), world.repo().display().to_string()).unwrap();
        let top = if is_project {
            format!("$(cat {})", world.out("repo").display())
        } else {
            "$PWD".to_owned()
        };
        let step = task(&format!("ln -s {top}/{FILE} lnk; touch done"));
        let plan = world.plan(&plan(&["test -e done"], json!({}), json!({"A": step})));
        world.descent(&["align", "-y", "-f", &plan]).expect(0);
        world.run().expect(5).shows("`lnk`");
    }
}

#[test]
fn a_relative_link_comes_home() {
    let world = world();
    let step = task(&format!("ln -s {FILE} lnk; touch done"));
    let plan = world.plan(&plan(&["test -e done"], json!({}), json!({"A": step})));
    world.descent(&["align", "-y", "-f", &plan]).expect(0);
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert_eq!(fs::read_link(world.repo().join("lnk")).unwrap(), Path::new(FILE));
}
