//! The session at a terminal: it looks, draws, and does what the keys ask for, until the person leaves. The operations
//! behind the keys are those of the commands, without their output.

use std::{ffi::OsString, time::Duration};

use descent_core::{
    change::{Answer, Steering},
    id::{AtomId, AttemptId},
    state::objective::RequestKind,
    verdict::assertions,
};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    FOOT, FindingsWatch, PAGE,
    scene::{OpenPage, WatchHistory, output_rows},
};
use crate::cli::{
    Context, End, Failure, Line, Meaning, ask, clock, phrase, runtime, signals, steer::UNCHANGED,
};
use crate::render::watch::{PASTED, Screen, Theme, draw, draw_page};
use descent_engine::ops::{
    self,
    steer::SteeringOrder,
    stop::{StopOutcome, StopRequest},
    watch::{Lookout, WatchReport, newest_attempt, output_tail},
};
use descent_process::editor;
use descent_store::Store;
use descent_system::signal::Signal;

/// How long a key is waited for; then it is looked again.
const WAIT: Duration = Duration::from_millis(100);
/// Between two looks at the state.
const LOOK_EVERY_MS: u64 = 200;
/// Without news it is drawn again so often, for the seconds shown.
const DRAW_EVERY_MS: u64 = 1_000;
/// Characters of typed guidance.
const TYPED_MAX: usize = 4_000;

/// A question at the foot of the screen.
enum Question {
    Stop,
    Redirect,
    Guide { atom: AtomId, typed: String },
    Confirm(String),
}

struct Session<'a> {
    context: &'a Context,
    lookout: Lookout,
    look: WatchReport,
    seen: WatchHistory,
    selected: Option<usize>,
    page: Option<OpenPage>,
    /// Rows that the page had room for.
    room: usize,
    question: Option<Question>,
    message: Option<Line>,
    findings: FindingsWatch,
    is_changed: bool,
}

/// The consequence of a key.
enum Next {
    GoOn,
    Leave,
    /// Another command gets the terminal.
    Open(&'static str),
}

/// Shows the run until the person leaves.
pub(super) fn show(context: &Context, mut lookout: Lookout) -> Result<End, Failure> {
    let runtime = runtime()?;
    let mut signals = runtime.block_on(async { signals() })?;
    let look = lookout.look();
    let mut session = Session::new(context, lookout, look);
    let mut screen = Screen::open().map_err(|error| lost(&error))?;
    let theme = Theme::chosen();
    let (mut looked_ms, mut drawn_ms, mut drawn_at) = (0, 0, screen.size());
    loop {
        let signal = runtime
            .block_on(async { tokio::time::timeout(Duration::ZERO, signals.next()).await.ok() });
        if let Some(signal) = signal {
            return Ok(match signal {
                Signal::Interrupt => End::Code(0),
                Signal::Terminate | Signal::Hangup => End::Signal(signal),
            });
        }
        let now_ms = clock::since_boot().awake_ms;
        if now_ms.saturating_sub(looked_ms) >= LOOK_EVERY_MS {
            looked_ms = now_ms;
            session.look_again();
        }
        session.audit();
        if session.is_changed || now_ms.saturating_sub(drawn_ms) >= DRAW_EVERY_MS {
            drawn_ms = now_ms;
            session.is_changed = false;
            screen.draw(|frame| session.draw(frame, theme)).map_err(|error| lost(&error))?;
        }
        // Without keys the terminal is gone.
        let Ok(keys) = screen.typed(WAIT) else { return Ok(End::Signal(Signal::Hangup)) };
        let size = screen.size();
        session.is_changed |= size != drawn_at;
        drawn_at = size;
        for key in keys {
            match session.on_key(key) {
                Next::GoOn => {}
                Next::Leave => return Ok(End::Code(0)),
                Next::Open(command) => {
                    let lent = screen.lend(|| open(session.context, command));
                    lent.map_err(|error| lost(&error))?;
                    session.is_changed = true;
                }
            }
        }
    }
}

fn lost(error: &std::io::Error) -> Failure {
    Failure::io("the terminal cannot be drawn on", error)
}

/// Runs another command of ours at the terminal, then waits until the person has read its end.
fn open(context: &Context, command: &str) {
    let mut args: Vec<OsString> = vec!["-C".into(), context.dir.clone().into()];
    if let Some(state) = &context.state {
        args.extend(["--state".into(), state.clone().into()]);
    }
    args.push(command.into());
    if let Err(error) = editor::talk(&args) {
        context.out.say(&format!("descent {command} cannot be started: {error}"));
    }
    ask::forget_typed();
    let _ = ask::now(context.out, "Enter goes back to the screen ");
}

impl<'a> Session<'a> {
    fn new(context: &'a Context, lookout: Lookout, look: WatchReport) -> Self {
        let mut seen = WatchHistory::default();
        seen.take(&look);
        Self {
            context,
            lookout,
            look,
            seen,
            selected: None,
            page: None,
            room: 0,
            question: None,
            message: None,
            findings: FindingsWatch::default(),
            is_changed: true,
        }
    }

    fn look_again(&mut self) {
        let look = self.lookout.look();
        let is_news = look.is_news
            || !look.events.is_empty()
            || look.work != self.look.work
            || look.observed.liveness.activity != self.look.observed.liveness.activity;
        self.seen.take(&look);
        self.look = look;
        if let Some(page) = &mut self.page {
            let before = page.lines.len();
            page.read_on(&self.lookout);
            self.is_changed |= page.lines.len() != before;
        }
        self.is_changed |= is_news;
    }

    fn audit(&mut self) {
        if let Some(words) = self.findings.news(&self.look) {
            let at = clock::now().rfc3339();
            let line = Line::new().dim("audit").pad(10).plain(words);
            self.seen.add(&at, line);
            self.is_changed = true;
        }
    }

    /// The row that is selected: the person's, else that of the first atom at work.
    fn row(&self) -> usize {
        let row = self.selected.or_else(|| self.seen.first_at_work());
        row.unwrap_or(0).min(self.seen.rows().saturating_sub(1))
    }

    fn draw(&mut self, frame: &mut ratatui::Frame<'_>, theme: Theme) {
        let foot = self.foot();
        if let Some(page) = &self.page {
            let room = usize::from(frame.area().height.saturating_sub(2));
            let first = page.first_row(room);
            self.room = draw_page(frame, &page.title, &page.lines, first, &foot, theme);
            return;
        }
        let columns = usize::from(frame.area().width);
        let mut scene = self.seen.scene(self.row(), clock::now(), columns / 2);
        scene.foot = foot;
        if let Some(attempt) = self.shown_attempt() {
            scene.output_of = format!("output of {attempt}");
            let text = output_tail(self.lookout.place(), &attempt);
            scene.output = output_rows(&text.unwrap_or_default());
        }
        draw(frame, &scene, theme);
    }

    /// The newest attempt of the selected atom, else the first in flight.
    fn shown_attempt(&self) -> Option<AttemptId> {
        let state = self.look.state();
        let atom = self.seen.atom(self.row());
        let newest = atom.and_then(|atom| newest_attempt(self.lookout.place(), state, &atom));
        newest.or_else(|| state.run.in_flight.first().map(|intent| intent.id.clone()))
    }

    fn foot(&self) -> Line {
        match (&self.question, &self.message) {
            (Some(Question::Stop), _) => Line::new().strong("end this run? y/n"),
            (Some(Question::Redirect), _) => {
                Line::new().strong("end what is in flight, and say what shall be another? y/n")
            }
            (Some(Question::Guide { atom, typed }), _) => {
                Line::new().strong(format!("say to {atom}: ")).plain(typed).strong("▏")
            }
            (Some(Question::Confirm(name)), _) => {
                Line::new().strong(format!("does it hold? y/n  {}", phrase::line(name)))
            }
            (None, Some(message)) => message.clone(),
            (None, None) => Line::new().dim(FOOT),
        }
    }

    fn say(&mut self, done: Result<String, Failure>) {
        self.is_changed = true;
        self.message = Some(match done {
            Ok(words) => Line::new().strong(phrase::line(&words)),
            Err(failure) => Line::new()
                .put(Meaning::Error, phrase::line(&failure.message))
                .plain("  ")
                .dim(phrase::line(&failure.hint)),
        });
    }

    fn on_key(&mut self, event: KeyEvent) -> Next {
        self.is_changed = true;
        self.message = None;
        let has_control = event.modifiers.contains(KeyModifiers::CONTROL);
        if has_control && event.code == KeyCode::Char('c') {
            return Next::Leave;
        }
        if let Some(question) = self.question.take() {
            return self.answer(question, event);
        }
        match event.code {
            _ if event.modifiers.contains(PASTED) => {}
            KeyCode::Char('d') if has_control => return Next::Leave,
            _ if has_control => {}
            KeyCode::Char('q') => return Next::Leave,
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => match self.page.take() {
                Some(_) => {}
                None => self.selected = None,
            },
            KeyCode::Up | KeyCode::Char('k') => self.go(1, 0),
            KeyCode::Down | KeyCode::Char('j') => self.go(0, 1),
            KeyCode::PageUp => self.go(PAGE, 0),
            KeyCode::PageDown | KeyCode::Char(' ') => self.go(0, PAGE),
            KeyCode::Home => self.go(usize::MAX, 0),
            KeyCode::End => self.go(0, usize::MAX / 2),
            KeyCode::Enter | KeyCode::Right => self.open_page('o'),
            KeyCode::Char(key @ ('o' | 'd' | 'w')) => self.open_page(key),
            KeyCode::Char('?' | 'h') => self.page = Some(OpenPage::help()),
            KeyCode::Char('s') if !self.look.is_live() => self.say(Ok("nothing runs".to_owned())),
            KeyCode::Char('s') => self.question = Some(Question::Stop),
            KeyCode::Char('g') => {
                let atom = self.seen.atom(self.row());
                self.question = atom.map(|atom| Question::Guide { atom, typed: String::new() });
            }
            KeyCode::Char('c') => match assertions::open(self.look.state()).into_iter().next() {
                Some(name) => self.question = Some(Question::Confirm(name)),
                None => self.say(Ok("nothing here waits for a person's word".to_owned())),
            },
            KeyCode::Char('r') if self.look.is_live() => self.question = Some(Question::Redirect),
            KeyCode::Char('r') => return Next::Open("redirect"),
            KeyCode::Char('e') => return Next::Open("edit"),
            _ => {}
        }
        Next::GoOn
    }

    fn go(&mut self, up: usize, down: usize) {
        if let Some(page) = &mut self.page {
            return page.scroll(up, down, self.room);
        }
        let last = self.seen.rows().saturating_sub(1);
        let row = self.row().saturating_sub(up).saturating_add(down);
        self.selected = Some(row.min(last));
    }

    /// Opens the output, the difference or the story of the selected atom.
    fn open_page(&mut self, key: char) {
        let Some(atom) = self.seen.atom(self.row()) else { return };
        let columns = self.context.out.width();
        let page = match key {
            'd' => OpenPage::difference(self.lookout.store(), &atom).map(Some),
            'w' => Ok(OpenPage::why(&self.look, &atom, clock::now(), columns)),
            _ => Ok(OpenPage::output(&self.lookout, &self.look, &atom)),
        };
        match page {
            Ok(Some(page)) => self.page = Some(page),
            Ok(None) => self.say(Ok("nothing is kept of an attempt there".to_owned())),
            Err(failure) => self.say(Err(failure)),
        }
    }

    fn answer(&mut self, question: Question, event: KeyEvent) -> Next {
        let takes_text = matches!(question, Question::Guide { .. });
        if event.modifiers.contains(PASTED) && !takes_text {
            self.question = Some(question);
            return Next::GoOn;
        }
        let is_yes = matches!(event.code, KeyCode::Char('y' | 'Y'));
        let is_no = matches!(event.code, KeyCode::Char('n' | 'N'));
        match question {
            Question::Stop if is_yes => {
                let done = stop(self.context, self.lookout.store());
                self.say(done);
            }
            Question::Confirm(name) if is_yes || is_no => {
                let done = confirm(self.context, self.lookout.store(), &name, is_yes);
                self.say(done);
            }
            Question::Redirect if is_yes => return Next::Open("redirect"),
            Question::Guide { atom, typed } => self.type_on(atom, typed, event),
            Question::Stop | Question::Redirect | Question::Confirm(_) => {}
        }
        Next::GoOn
    }

    fn type_on(&mut self, atom: AtomId, mut typed: String, event: KeyEvent) {
        match event.code {
            KeyCode::Esc => return,
            KeyCode::Enter if typed.trim().is_empty() => return,
            KeyCode::Enter => {
                let done = guide(self.context, self.lookout.store(), &atom, &typed);
                return self.say(done);
            }
            KeyCode::Backspace => drop(typed.pop()),
            KeyCode::Char(_) if event.modifiers == KeyModifiers::CONTROL => {}
            KeyCode::Char(char) if typed.chars().count() < TYPED_MAX => typed.push(char),
            _ => {}
        }
        self.question = Some(Question::Guide { atom, typed });
    }
}

/// Asks the loop to end, and waits for nothing: the screen shows the end.
fn stop(context: &Context, store: &mut Store) -> Result<String, Failure> {
    let request = StopRequest { kind: RequestKind::Stop, reason: None, waits: false };
    let client = context.silent_client();
    Ok(match ops::stop::stop(&client, store, &request)? {
        StopOutcome::NothingRuns => "nothing runs".to_owned(),
        StopOutcome::Requested(_) | StopOutcome::Stopped(_) => "stop requested".to_owned(),
    })
}

/// Adds words to an atom.
fn guide(
    context: &Context,
    store: &mut Store,
    atom: &AtomId,
    words: &str,
) -> Result<String, Failure> {
    let order =
        SteeringOrder { steering: Steering::Guide(words), atoms: vec![atom.clone()], reason: None };
    let client = context.silent_client();
    Ok(match ops::steer::steer(&client, store, &order)? {
        Some(_) => format!("{atom} is told in every further attempt"),
        None => UNCHANGED.to_owned(),
    })
}

/// Records a person's word on an assertion.
fn confirm(
    context: &Context,
    store: &mut Store,
    name: &str,
    holds: bool,
) -> Result<String, Failure> {
    let client = context.silent_client();
    let loaded = ops::current(&client, store)?;
    let all = assertions::assertions(&loaded.state);
    let Some(assertion) = all.iter().find(|one| one.is_called(name)) else {
        return Ok(format!("no assertion is called {name} any more"));
    };
    let answer = Answer { assertion, holds, on: None, reason: None };
    let word = if holds { "confirmed" } else { "denied" };
    let is_news = ops::steer::confirm(&client, store, loaded, &answer)?.is_ok();
    Ok(format!("{word}{}: {name}", if is_news { "" } else { " already" }))
}
