//! `wait`: it ends as the run did, or says why there is no ending.

use serde_json::json;

use super::detach::{send, waiting};
use rustix::process::Signal;

use crate::world::{World, plan, task, wait_for};

#[test]
fn a_wait_ends_as_the_run_does_and_at_once_where_none_is_at_work() {
    let world = World::new();
    let go = world.out("go");
    let fails = format!("while ! test -f {}; do sleep 0.02; done; exit 1", go.display());
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&fails)})));
    world.descent(&["wait"]).expect(3).says("error[E-NO-RUN]");
    world.descent(&["run", "--detach"]).expect(0);
    let mut wait = world.start(&["wait", "--json"]);
    world
        .descent(&["wait", "--timeout", "50ms"])
        .expect(75)
        .says("error[E-WAIT-TIMEOUT]: the run has not ended within 50ms");
    assert!(!wait.has_ended());
    world.touch("go");
    let waited = wait.wait().expect(5).result();
    assert_eq!(waited["serial"], world.state()["serial"]);
    let again = world.descent(&["wait", "--json"]).expect(5).result();
    assert_eq!(again, waited);
    world.descent(&["wait"]).expect(5).shows("exhausted: ");
    let odd = world.descent(&["wait", "--timeout", "soon"]).expect(2);
    odd.says("--timeout soon: that is not a duration");
}

#[test]
fn a_loop_that_is_killed_leaves_a_wait_with_the_command_that_goes_on() {
    let world = waiting();
    let begun = world.descent(&["run", "--detach", "--json"]).expect(0).json();
    let mut wait = world.start(&["wait"]);
    wait_for("it waits", || world.status()["live"] == true && !wait.has_ended());
    send(&begun["pid"], Signal::KILL);
    wait.wait().expect(3).says("error[E-CUT-OFF]: the run was cut off").says("next: descent run");
    world.touch("go");
    world.run().expect(0);
}
