//! What was agreed: objective, constraints (contract §4), and the control flags.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use super::{
    Check, FreeValue,
    fields::{DurationText, Extra, Fields, Findings, Writer},
};
use crate::{
    doc::Node,
    id::{RequestId, RunId},
};

#[derive(Debug, Clone, Default)]
pub struct Objective {
    pub raw_input: String,
    pub goal: String,
    pub background_intent: String,
    pub deliverables: String,
    pub definition_of_done: String,
    pub scope: Option<FreeValue>,
    pub clarifications: Option<FreeValue>,
    pub base_case: Option<Check>,
    pub constraints: Constraints,
    pub extra: Extra,
}

/// Only what somebody chose; the defaults stand in the readers below.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    pub max_parallel_agents: Option<u32>,
    pub max_attempts: Option<u32>,
    pub max_transient: Option<u32>,
    pub max_interruptions: Option<u32>,
    pub max_repairs: Option<u32>,
    pub max_iterations: Option<u64>,
    pub max_depth: Option<u32>,
    pub max_planned_atoms: Option<u32>,
    pub max_replans: Option<u32>,
    pub max_refinements_per_atom: Option<u32>,
    pub max_planning_phases: Option<u32>,
    pub max_fragment_atoms: Option<u32>,
    pub max_fragment_depth: Option<u32>,
    pub time_budget: Option<DurationText>,
    pub attempt_timeout: Option<DurationText>,
    pub workspace: Option<Workspace>,
    pub link: Vec<String>,
    pub setup: Option<String>,
    pub setup_inputs: Vec<String>,
    pub keep: Vec<String>,
    pub env: Vec<String>,
    pub protected: Vec<String>,
    /// The run ends at the first verdict that holds, whatever is open.
    pub finish_early: bool,
    pub on_stuck: Option<OnStuck>,
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workspace {
    /// Worktrees of the person's repository.
    Git,
    /// Worktrees of a private one, for a directory that is in none.
    Shadow,
    /// The directory itself.
    Shared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnStuck {
    Ask,
    Abandon,
}

impl Workspace {
    pub const WORDS: [(&'static str, Workspace); 3] = [
        ("git", Workspace::Git),
        ("shadow", Workspace::Shadow),
        ("shared", Workspace::Shared),
    ];

    pub fn word(self) -> &'static str {
        match self {
            Workspace::Git => "git",
            Workspace::Shadow => "shadow",
            Workspace::Shared => "shared",
        }
    }
}

impl OnStuck {
    pub const WORDS: [(&'static str, OnStuck); 2] =
        [("ask", OnStuck::Ask), ("abandon", OnStuck::Abandon)];

    pub fn word(self) -> &'static str {
        match self {
            OnStuck::Ask => "ask",
            OnStuck::Abandon => "abandon",
        }
    }
}

/// Half an hour.
const ATTEMPT_TIMEOUT_MS: u64 = 30 * 60 * 1_000;

impl Constraints {
    pub fn max_attempts(&self, is_action: bool) -> u32 {
        self.max_attempts
            .unwrap_or(if is_action { 1 } else { 3 })
            .max(1)
    }

    /// Of whatever an atom turns out to be.
    pub fn max_attempts_of_any(&self) -> u32 {
        self.max_attempts(true).max(self.max_attempts(false))
    }

    pub fn max_transient(&self) -> u32 {
        self.max_transient.unwrap_or(3)
    }

    pub fn max_interruptions(&self) -> u32 {
        self.max_interruptions.unwrap_or(10).max(1)
    }

    pub fn max_repairs(&self) -> u32 {
        self.max_repairs.unwrap_or(3)
    }

    pub fn max_parallel_agents(&self) -> u32 {
        self.max_parallel_agents.unwrap_or(3).max(1)
    }

    pub fn max_depth(&self) -> u32 {
        self.max_depth.unwrap_or(5)
    }

    /// What planners may add in all.
    pub fn max_planned_atoms(&self) -> u32 {
        self.max_planned_atoms.unwrap_or(100)
    }

    /// How often planning steps are planned again, all together.
    pub fn max_replans(&self) -> u32 {
        self.max_replans.unwrap_or(10)
    }

    pub fn max_refinements_per_atom(&self) -> u32 {
        self.max_refinements_per_atom.unwrap_or(3)
    }

    pub fn max_planning_phases(&self) -> u32 {
        self.max_planning_phases.unwrap_or(5)
    }

    pub fn max_fragment_atoms(&self) -> u32 {
        self.max_fragment_atoms.unwrap_or(20)
    }

    pub fn max_fragment_depth(&self) -> u32 {
        self.max_fragment_depth.unwrap_or(3)
    }

    pub fn attempt_timeout_ms(&self) -> u64 {
        self.attempt_timeout
            .as_ref()
            .map_or(ATTEMPT_TIMEOUT_MS, |length| length.ms)
    }

    /// Outside of a repository `align` writes down which it is: what lies around the state decides nothing here.
    pub fn workspace(&self) -> Workspace {
        self.workspace.unwrap_or(Workspace::Git)
    }

    pub fn on_stuck(&self) -> OnStuck {
        self.on_stuck.unwrap_or(OnStuck::Abandon)
    }

    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        Some(Self {
            max_parallel_agents: fields.small("max_parallel_agents"),
            max_attempts: at_least_one(&mut fields, "max_attempts"),
            max_transient: fields.small("max_transient"),
            max_interruptions: at_least_one(&mut fields, "max_interruptions"),
            max_repairs: fields.small("max_repairs"),
            max_iterations: fields.count("max_iterations"),
            max_depth: fields.small("max_depth"),
            max_planned_atoms: fields.small("max_planned_atoms"),
            max_replans: fields.small("max_replans"),
            max_refinements_per_atom: fields.small("max_refinements_per_atom"),
            max_planning_phases: fields.small("max_planning_phases"),
            max_fragment_atoms: fields.small("max_fragment_atoms"),
            max_fragment_depth: fields.small("max_fragment_depth"),
            time_budget: fields.length("time_budget"),
            attempt_timeout: fields.length("attempt_timeout"),
            workspace: fields.word("workspace", &Workspace::WORDS),
            link: fields.texts("link"),
            setup: fields.command("setup"),
            setup_inputs: fields.texts("setup_inputs"),
            keep: fields.texts("keep"),
            env: fields.texts("env"),
            protected: fields.texts("protected"),
            finish_early: fields.flag("finish_early"),
            on_stuck: fields.word("on_stuck", &OnStuck::WORDS),
            extra: fields.finish(),
        })
    }

    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        let small = |count: Option<u32>| count.map(|count| Node::uint(u64::from(count)));
        let length = |length: &Option<DurationText>| {
            length.as_ref().map(|length| Node::string(length.as_str()))
        };
        to.some("max_parallel_agents", small(self.max_parallel_agents));
        to.some("max_attempts", small(self.max_attempts));
        to.some("max_transient", small(self.max_transient));
        to.some("max_interruptions", small(self.max_interruptions));
        to.some("max_repairs", small(self.max_repairs));
        to.some("max_iterations", self.max_iterations.map(Node::uint));
        to.some("max_depth", small(self.max_depth));
        to.some("max_planned_atoms", small(self.max_planned_atoms));
        to.some("max_replans", small(self.max_replans));
        to.some(
            "max_refinements_per_atom",
            small(self.max_refinements_per_atom),
        );
        to.some("max_planning_phases", small(self.max_planning_phases));
        to.some("max_fragment_atoms", small(self.max_fragment_atoms));
        to.some("max_fragment_depth", small(self.max_fragment_depth));
        to.some("time_budget", length(&self.time_budget));
        to.some("attempt_timeout", length(&self.attempt_timeout));
        to.some(
            "workspace",
            self.workspace
                .map(|workspace| Node::string(workspace.word())),
        );
        to.texts_unless_empty("link", &self.link);
        to.some("setup", self.setup.as_deref().map(Node::string));
        to.texts_unless_empty("setup_inputs", &self.setup_inputs)
            .texts_unless_empty("keep", &self.keep);
        to.texts_unless_empty("env", &self.env)
            .texts_unless_empty("protected", &self.protected)
            .flag_if("finish_early", self.finish_early);
        to.some(
            "on_stuck",
            self.on_stuck.map(|on_stuck| Node::string(on_stuck.word())),
        );
        to.finish(&self.extra)
    }
}

fn at_least_one(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<u32> {
    let count = fields.small(key)?;
    if count == 0 {
        let at = fields.at(key);
        let span = fields
            .node
            .get(key)
            .map_or(fields.node.span, |node| node.span);
        let message = format!("`{key}` is 0, so nothing could ever be tried");
        fields
            .found
            .fault("limit", (&at, span), message, Some("1 or more".to_owned()));
    }
    Some(count)
}

impl Objective {
    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let raw_input = fields.text_or_empty("raw_input");
        let goal = fields.text_or_empty("goal");
        let background_intent = fields.text_or_empty("background_intent");
        let deliverables = fields.text_or_empty("deliverables");
        let definition_of_done = fields.text_or_empty("definition_of_done");
        let scope = fields.take("scope").cloned();
        let clarifications = fields.take("clarifications").cloned();
        let base_case = fields.take("base_case").and_then(|node| {
            let at = fields.at("base_case");
            Check::read(node, &at, fields.found)
        });
        let constraints = fields.take("constraints").and_then(|node| {
            let at = fields.at("constraints");
            Constraints::read(node, &at, fields.found)
        });
        Some(Self {
            raw_input,
            goal,
            background_intent,
            deliverables,
            definition_of_done,
            scope,
            clarifications,
            base_case,
            constraints: constraints.unwrap_or_default(),
            extra: fields.finish(),
        })
    }

    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        to.text("raw_input", &self.raw_input)
            .text("goal", &self.goal);
        to.text("background_intent", &self.background_intent)
            .text("deliverables", &self.deliverables);
        to.text("definition_of_done", &self.definition_of_done);
        to.some("scope", self.scope.clone())
            .some("clarifications", self.clarifications.clone());
        to.some("base_case", self.base_case.as_ref().map(Check::node));
        to.put("constraints", self.constraints.node());
        to.finish(&self.extra)
    }
}

/// What a person asks of the loop, by command or by hand.
#[derive(Debug, Clone, Default)]
pub struct Control {
    pub stop_requested: bool,
    pub stop_reason: Option<String>,
    pub redirect_requested: bool,
    pub request: Option<Request>,
    pub extra: Extra,
}

/// A request by command: addressed to one run, obeyed once.
#[derive(Debug, Clone)]
pub struct Request {
    pub id: RequestId,
    pub run: Option<RunId>,
    pub by: String,
    pub at: String,
    pub kind: RequestKind,
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// End in order: what may not be interrupted finishes.
    Stop,
    /// End at once.
    StopNow,
    Redirect,
}

impl RequestKind {
    const WORDS: [(&'static str, RequestKind); 3] = [
        ("stop", RequestKind::Stop),
        ("stop_now", RequestKind::StopNow),
        ("redirect", RequestKind::Redirect),
    ];

    pub fn word(self) -> &'static str {
        match self {
            RequestKind::Stop => "stop",
            RequestKind::StopNow => "stop_now",
            RequestKind::Redirect => "redirect",
        }
    }
}

impl Request {
    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let _ = fields.need("id");
        let id = fields.text("id").map(RequestId::new);
        let run = fields.text("run").map(RunId::new);
        let by = fields.text_or_empty("by");
        let at = fields.text_or_empty("at");
        let _ = fields.need("kind");
        let kind = fields.word("kind", &RequestKind::WORDS);
        let extra = fields.finish();
        Some(Self {
            id: id?,
            run,
            by,
            at,
            kind: kind?,
            extra,
        })
    }

    fn node(&self) -> Node {
        let mut to = Writer::default();
        to.text("id", self.id.as_str());
        to.some(
            "run",
            self.run.as_ref().map(|run| Node::string(run.as_str())),
        );
        to.text("by", &self.by)
            .text("at", &self.at)
            .text("kind", self.kind.word());
        to.finish(&self.extra)
    }
}

impl Control {
    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let stop_requested = fields.flag("stop_requested");
        let stop_reason = fields.text("stop_reason");
        let redirect_requested = fields.flag("redirect_requested");
        let request = fields.take("request").and_then(|node| {
            let at = fields.at("request");
            let request = Request::read(node, &at, fields.found);
            if request.is_none() {
                fields.keep("request");
            }
            request
        });
        Some(Self {
            stop_requested,
            stop_reason,
            redirect_requested,
            request,
            extra: fields.finish(),
        })
    }

    pub fn node(&self) -> Node {
        let text = |text: &Option<String>| text.as_deref().map_or_else(Node::null, Node::string);
        let mut to = Writer::default();
        to.put("stop_requested", Node::bool(self.stop_requested));
        to.put("stop_reason", text(&self.stop_reason));
        to.put("redirect_requested", Node::bool(self.redirect_requested));
        to.put(
            "request",
            self.request.as_ref().map_or_else(Node::null, Request::node),
        );
        to.finish(&self.extra)
    }
}
