//! The help, completions and man pages.

use std::{io::Write, process::Stdio};

use crate::world::World;

#[test]
fn help_is_given_by_a_flag_and_by_a_command() {
    let world = World::bare();
    let help = world.descent(&["--help"]).expect(0);
    assert_eq!(world.descent(&["help"]).expect(0).stdout, help.stdout);
    assert_eq!(world.descent(&["-h"]).expect(0).stdout, help.stdout);
    let one = world.descent(&["help", "graph"]).expect(0).shows("Example:");
    assert_eq!(world.descent(&["graph", "--help"]).expect(0).stdout, one.stdout);
}

#[test]
fn the_version_is_the_newest_one_of_the_changelog() {
    let told = World::bare().descent(&["--version"]).expect(0).stdout;
    let headings = include_str!("../../../CHANGELOG.md").lines();
    let mut cut = headings.filter_map(|line| line.strip_prefix("## [")?.split_once("] - "));
    let (newest, _) = cut.next().expect("a version was cut");
    assert_eq!(told, format!("descent {newest}\n"));
}

#[test]
fn completions_are_printed_for_every_shell_and_bash_can_read_its_own() {
    let world = World::bare();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = world.descent(&["dev", "completions", shell]).expect(0);
        assert!(ran.stdout.contains("descent") && ran.stdout.contains("align"), "{shell}");
        assert!(!ran.stdout.contains('\x1b'), "{shell}");
    }
    let script = world.descent(&["dev", "completions", "bash"]).expect(0).stdout;
    let mut bash =
        std::process::Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
    world.descent(&["dev", "completions", "csh"]).expect(2);
    world.descent(&["dev", "completions", "bash", "--to", "here"]).expect(2).says("E-USAGE");
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let world = World::bare();
    let main = world.descent(&["dev", "man"]).expect(0).shows(".TH descent 1");
    assert!(!main.stdout.contains('\x1b'), "{}", main.stdout);
    let help = world.descent(&["--help"]).expect(0).stdout;
    for command in ["align", "run", "status", "graph", "why", "log"] {
        assert!(help.contains(command));
        let page = world.descent(&["dev", "man", command]).expect(0).stdout;
        assert!(
            page.contains(&format!("descent {command}"))
                || page.contains(&format!("descent\\-{command}")),
            "{page}"
        );
    }
    world.descent(&["dev", "man", "ps"]).expect(2).says("there is no command `ps`");
}
