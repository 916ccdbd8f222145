//! How long processes may go on: before they are ended, and while they end.

use std::time::Duration;

/// The longest that a tool may take, unless its caller allows less.
pub const TOOL_MAX: Duration = Duration::from_secs(600);
/// The longest that a program may take to tell its version, or whether a person is logged in.
pub const ASK_MAX: Duration = Duration::from_secs(30);
/// The longest that a command may take which tells a person of a run.
pub const NOTIFY_MAX: Duration = Duration::from_secs(30);
/// How long a tool may go on after nobody waits for its result any more.
pub const GRACE: Duration = Duration::from_secs(2);
/// How long a loop may go on after SIGTERM, if a person wants it gone at once.
pub const LOOP_GRACE: Duration = Duration::from_secs(2);
/// Time limit for killing one job's remains, or for a sweep. A process that the kernel can't end
/// (it hangs in a file system) is left then.
pub(crate) const ENDING_MAX: Duration = Duration::from_secs(2);
/// How long to wait for a killed leader. A leader that hangs in the kernel is given up.
pub(super) const REAP_MAX: Duration = Duration::from_secs(2);

/// The pauses between tries to start a program, where something lacks that may come back.
pub(super) const START_PAUSES: [Duration; 5] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
];
