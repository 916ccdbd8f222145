//! `descent migrate`: converts the state file of an AoT loop into a state of this program, with a word on each thing in
//! it. `descent validate`: every fault of a state file or a plan, with its place.
//!
//! Invariant: a file is only read, and nothing of it is run. Not here: the meaning of the old keys (`descent-migrate`).

use std::path::{Path, PathBuf};

use clap::Args;
use descent_core::{
    doc::{self, Fault},
    id::Lineage,
    judging::Issue,
    state::{Severity, Version},
};
use descent_migrate::{Additions, Fate, Host, Item, Migration};
use serde::Serialize;

use super::{Context, End, Failure, Line, Meaning, Page, exit, phrase, quoted, render};
use descent_engine::{
    ops::{self, align, trust},
    plan_file::{self, Notation, PlanFile},
};
use descent_store::{self as store, StatePlace, Store, StoreError};

const HOST: Host = Host { yaml: plan_file::yaml_below, pattern_faults: store::pattern_faults };
/// The usual path of the AoT loop's state.
const USUAL: &str = ".claude/aot-loop-state.md";

#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// The old state file; without it .claude/aot-loop-state.md; `-` is standard input
    file: Option<PathBuf>,
    /// Only tell what would become of it
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Write the state there, instead of to .descent/state.json
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Why it is wanted, where the old file does not say
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// A command that must pass too; may be given again
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
}

/// The fate of each thing in an old file: `descent migrate --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct MigrateOutput<'a> {
    schema: &'static str,
    /// The old file.
    file: String,
    /// The contract that it follows.
    contract: &'a str,
    /// The path of the new state; null if none was written.
    state: Option<String>,
    items: Vec<MigrateItem<'a>>,
    /// One command to type next.
    next: &'a str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MigrateItem<'a> {
    /// `warned`: it looks wrong, and was carried as it stands. `mended`: it could be meant in one way only, and is read
    /// so. `changed`: it stands in another form, or means something else here. `kept`: it has no place here, and is kept
    /// under `notes`.
    #[cfg_attr(test, schemars(extend("enum" = Fate::ALL.map(Fate::word))))]
    fate: &'static str,
    /// In the old file, from 1.
    line: usize,
    /// From 1, in characters.
    column: usize,
    /// A pointer into the old file.
    from: &'a str,
    what: &'a str,
}

impl<'a> MigrateOutput<'a> {
    fn of(
        file: &PlanFile,
        contract: &'a str,
        made: Option<&StatePlace>,
        items: &'a [Item],
        next: &'a str,
    ) -> Self {
        let item = |one: &'a Item| MigrateItem {
            fate: one.fate.word(),
            line: one.line,
            column: one.column,
            from: &one.from,
            what: &one.what,
        };
        Self {
            schema: "descent/migrate/1",
            file: file.name.display().to_string(),
            contract,
            state: made.map(|place| place.state.display().to_string()),
            items: items.iter().map(item).collect(),
            next,
        }
    }
}

pub(super) fn migrate(context: &Context, flags: &MigrateArgs) -> Result<End, Failure> {
    let top = context.top()?;
    let (dir, path) = match &flags.file {
        Some(path) => (context.dir.as_path(), path.as_path()),
        None => (top.as_path(), Path::new(USUAL)),
    };
    let file = plan_file::read(dir, path)?;
    if let Some(version) = version_of(&file) {
        return already(context, &file, &version);
    }
    let lineage = Lineage::new(uuid::Uuid::now_v7().to_string());
    let additions = Additions { why: flags.why.clone(), checks: flags.check.clone() };
    let hint = "mend them in the old file, where what is meant is known; nothing was written";
    let migration = descent_migrate::of_aot(&file.bytes, &additions, &lineage, HOST)
        .map_err(|faults| faulty("E-INVALID", &file.name, &file.bytes, &faults, hint))?;
    for line in file.lines(&migration.warnings) {
        context.out.say(&format!("warning: {line}"));
    }
    if flags.dry_run {
        report(context, &file, &migration, None);
        return Ok(End::Code(0));
    }
    let output = flags.output.as_ref().map(|path| context.dir.join(path));
    let named = output.as_deref().or(context.state.as_deref());
    // Nothing is created beside a file that stays as it is.
    StatePlace::at(&top, named).is_free()?;
    let mut state = migration.state.clone();
    // A large directory is left to `run --set`.
    align::presume_workspace(&top, &mut state)?;
    let mut store = Store::open(StatePlace::create(&top, named)?);
    store.create(state)?;
    store.write_journal();
    let origin = dir.join(path);
    trust::taken_from(&context.client(None), &top, &origin, &lineage);
    report(context, &file, &migration, Some(store.place()));
    Ok(End::Code(0))
}

/// The version of a file that is a state of this program already.
fn version_of(file: &PlanFile) -> Option<String> {
    if file.notation != Notation::Json {
        return None;
    }
    let root = file.tree().node?;
    root.get("internal").or_else(|| root.get("lineage"))?;
    Some(root.get("version")?.as_str()?.to_owned())
}

fn already(context: &Context, file: &PlanFile, version: &str) -> Result<End, Failure> {
    let foreign = Version::parse(version).and_then(|it| StoreError::of_version(&file.name, it));
    if let Some(error) = foreign {
        return Err(error.into());
    }
    let output = MigrateOutput::of(file, version, None, &[], "descent status");
    Ok(context.answer(&output, || {
        format!(
            "{} is a state of version {version}: there is nothing to migrate, it is read as it is\nnext: {}",
            output.file, output.next
        )
    }))
}

fn report(context: &Context, file: &PlanFile, migration: &Migration, made: Option<&StatePlace>) {
    let next = match made {
        Some(place) if place.is_usual() => "descent run".to_owned(),
        Some(place) => format!("descent --state {} run", quoted(&place.state)),
        None => "descent migrate, without -n".to_owned(),
    };
    let output = MigrateOutput::of(file, migration.contract, made, &migration.items, &next);
    context.answer_page(&output, || page(&output, &migration.items));
}

fn page(output: &MigrateOutput<'_>, items: &[Item]) -> Page {
    let (name, contract) = (&output.file, output.contract);
    let mut page = Page::new(usize::MAX);
    let head = format!("{name}: the state of an AoT loop, contract {contract}");
    page.push(Line::new().strong(head));
    for fate in Fate::ALL {
        let of_it: Vec<&Item> = items.iter().filter(|one| one.fate == fate).collect();
        if of_it.is_empty() {
            continue;
        }
        let meaning = if fate == Fate::Warned { Meaning::Error } else { Meaning::Plain };
        page.push(Line::new().put(meaning, format!("{} ({})", heading(fate), of_it.len())));
        for one in of_it {
            let from = if one.from.is_empty() { "/" } else { &one.from };
            let (from, what) = (phrase::visible(from), phrase::visible(&one.what));
            let text = format!("{name}:{}:{}: {from}: {what}", one.line, one.column);
            page.push(Line::indent(2).plain(text));
        }
    }
    if let Some(path) = &output.state {
        page.push(Line::of(format!("written: {path}")));
    }
    page.next(output.next);
    page
}

fn heading(fate: Fate) -> &'static str {
    match fate {
        Fate::Warned => "carried as it stands, and it looks wrong",
        Fate::Mended => "mended in the reading",
        Fate::Changed => "changed",
        Fate::Kept => "no place for it here: kept in /notes",
        Fate::Carried => "carried",
    }
}

#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// A state file, or a plan in JSON or YAML; `-` is standard input; without it the state of this directory
    file: Option<PathBuf>,
}

/// The faults of a file: `descent validate --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ValidateOutput<'a> {
    schema: &'static str,
    valid: bool,
    faults: Vec<store::PlacedFault>,
    /// The issues are among them, with their places.
    warnings: Vec<store::PlacedFault>,
    /// The issues of the work that is still to be done; the rules look for them where there is no fault.
    issues: &'a [Issue],
}

pub(super) fn validate(context: &Context, flags: &ValidateArgs) -> Result<End, Failure> {
    let found = match &flags.file {
        None => ops::file_faults::state(&mut context.store()?)?,
        Some(path) => ops::file_faults::file(&context.dir, path, &context.top()?)?,
    };
    let valid = found.faults.is_empty();
    for line in store::show_faults(&found.path, &found.bytes, &found.warnings) {
        context.out.say(&format!("warning: {line}"));
    }
    if context.out.json {
        context.out.json(&ValidateOutput {
            schema: "descent/validate/1",
            valid,
            faults: store::place_faults(&found.bytes, &found.faults),
            warnings: store::place_faults(&found.bytes, &found.warnings),
            issues: &found.issues,
        });
    } else if !valid {
        let code = if found.is_plan { "E-INVALID" } else { "E-STATE-INVALID" };
        let hint = "mend them in an editor; nothing was written";
        return Err(faulty(code, &found.path, &found.bytes, &found.faults, hint));
    } else {
        let issues = match &found.issues[..] {
            [] => String::new(),
            issues => format!("; {}: {}", render::issue_count(issues), render::ADVICE),
        };
        context.out.data(&format!("{} is valid{issues}", found.path.display()));
        if found.is_plan && flags.file.is_none() {
            context.out.say("not agreed yet\nnext: descent run");
        }
    }
    let is_heavy = |issue: &Issue| issue.severity == Severity::High;
    Ok(End::Code(match valid {
        false => exit::INVALID,
        true if found.issues.iter().any(is_heavy) => exit::NOT_SO,
        true => 0,
    }))
}

/// The error that tells every fault with its line.
fn faulty(code: &'static str, path: &Path, bytes: &[u8], faults: &[Fault], hint: &str) -> Failure {
    let lines = explained(path, bytes, faults);
    let message = format!("{} has {}", path.display(), store::count(lines.len()));
    Failure::new(code, exit::INVALID, message, hint).with(lines)
}

/// Each fault with its line.
pub(super) fn explained(path: &Path, bytes: &[u8], faults: &[Fault]) -> Vec<String> {
    let text = doc::readable(bytes);
    let lines: Vec<&str> = text.split('\n').collect();
    let one = |at: store::PlacedFault| {
        let place = format!("{}:{at}", path.display());
        let line = lines.get(at.line - 1).filter(|line| !line.trim().is_empty());
        match line {
            Some(line) => format!("{place}\n{}", render::excerpt(line, at.line, at.column)),
            None => place,
        }
    };
    store::place_faults(bytes, faults).into_iter().map(one).collect()
}
