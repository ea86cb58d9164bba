//! What operations there are, for documentation and for tests that hold names, docs and bindings together.

/// An operation of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpInfo {
    /// Name in Rust and Python.
    pub name: &'static str,
    /// `unary`, `binary`, `parametric` or `comparison`.
    pub kind: &'static str,
    /// What it computes.
    pub doc: &'static str,
    /// Value and derivatives as written in the table.
    pub formula: String,
}

/// All operations of the table.
pub fn registry() -> Vec<OpInfo> {
    let rows = [
        ("unary", super::unary::UNARY),
        ("binary", super::binary::BINARY),
        ("parametric", super::params::PARAMETRIC),
    ];
    let mut out = Vec::new();
    for (kind, list) in rows {
        for r in list {
            let mut formula = r.formula.to_string();
            for d in r.derivatives {
                formula += &format!("; d/d{} = {}", d.operand, d.formula);
            }
            out.push(OpInfo { name: r.name, kind, doc: r.doc, formula });
        }
    }
    for list in [super::compare::COMPARISONS, super::compare::TESTS] {
        for c in list {
            out.push(OpInfo { name: c.name, kind: "comparison", doc: c.doc, formula: String::new() });
        }
    }
    out
}
