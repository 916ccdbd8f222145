//! Lists the prompts: each file of `prompts/` is one, under its name.
#![allow(clippy::print_stdout, clippy::disallowed_methods)] // how a build script speaks; door: reads the prompts

use std::{env, fmt::Write as _, fs, io, path::Path};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=prompts");
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
    let mut files: Vec<_> = fs::read_dir(&dir)?.collect::<io::Result<Vec<_>>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    let mut list = String::new();
    for path in files.iter().map(fs::DirEntry::path) {
        let name = path.file_stem().unwrap_or_default();
        let _ = writeln!(list, "({name:?}, include_str!({path:?})),");
    }
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("prompts.rs"), format!("&[{list}]"))
}
