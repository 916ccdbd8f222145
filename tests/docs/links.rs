//! Links between the documents lead to existing files, and to headings that these have.
//!
//! Not here: links to other sites; nobody asks the network in a test.

use std::{fs, path::Path};

use regex::Regex;

#[test]
fn every_link_between_the_documents_leads_to_a_file_and_a_heading() {
    let root = fs::read_dir(env!("CARGO_MANIFEST_DIR")).expect("the project");
    let root = root.map(|entry| entry.expect("an entry").path());
    let root = root.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let pages = super::documents().into_iter().chain(root);
    let broken: Vec<String> = pages.flat_map(|page| broken_in(&page)).collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

fn broken_in(page: &Path) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern");
    let text = fs::read_to_string(page).expect("a page");
    let mut broken = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for hit in link.captures_iter(line) {
            let target = &hit[1];
            if !target.contains("://") && !leads_somewhere(page, target) {
                broken.push(format!("{}:{}: {target}", page.display(), index + 1));
            }
        }
    }
    broken
}

fn leads_somewhere(page: &Path, target: &str) -> bool {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => page.to_owned(),
        file => page.parent().expect("a folder").join(file),
    };
    path.exists() && (heading.is_empty() || has_heading(&path, heading))
}

fn has_heading(path: &Path, heading: &str) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| anchor(line.trim_start_matches('#').trim()) == heading)
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let lower = heading.to_lowercase();
    lower.chars().filter(kept).collect::<String>().replace(' ', "-")
}
