//! Modules use only themselves and those above them in the list of layers, and only the bindings name pyo3.

use std::fs;
use std::path::{Path, PathBuf};

const LAYERS: [&[&str]; 9] = [
    &["error", "dtype"],
    &["shape"],
    &["storage", "scope"],
    &["array"],
    &["kernels"],
    &["graph"],
    &["ops"],
    &["engine"],
    &["func"],
];

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for e in fs::read_dir(dir).unwrap() {
        let p = e.unwrap().path();
        if p.is_dir() {
            files(&p, out);
        } else if p.extension().is_some_and(|x| x == "rs") {
            out.push(p);
        }
    }
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|l| l.contains(&module))
}

/// Modules that a source names after `crate::`, those of nested use lists included.
fn used(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
    let mut out = Vec::new();
    for part in code.join("\n").split("crate::").skip(1) {
        let names: Vec<&str> = if let Some(list) = part.strip_prefix('{') {
            list.split('}').next().unwrap_or("").split(',').collect()
        } else {
            vec![part]
        };
        for n in names {
            let n = n.trim();
            out.push(n.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    out
}

#[test]
fn no_module_uses_one_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut list = Vec::new();
    files(&src, &mut list);
    assert!(list.len() > 30);
    let mut bad = Vec::new();
    for f in list {
        let rel = f.strip_prefix(&src).unwrap();
        let first = rel.components().next().unwrap().as_os_str().to_string_lossy().replace(".rs", "");
        let text = fs::read_to_string(&f).unwrap();
        if first != "python" && text.lines().any(|l| !l.trim_start().starts_with("//") && l.contains("pyo3"))
        {
            bad.push(format!("{} names pyo3", rel.display()));
        }
        let Some(own) = layer(&first) else { continue };
        for u in used(&text) {
            if layer(&u).is_some_and(|l| l > own) || u == "python" {
                bad.push(format!("{} uses crate::{u}", rel.display()));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn an_upward_edge_would_be_found() {
    assert_eq!(used("use crate::{Array, engine};\nuse crate::ops::add;"), ["Array", "engine", "ops"]);
    assert!(layer("engine") > layer("graph"));
}
