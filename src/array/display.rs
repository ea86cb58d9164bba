//! Text of an array, as PyTorch prints tensors.

use super::Array;
use crate::Scalar;

/// What decides how numbers are printed.
#[derive(Debug, Clone)]
pub struct PrintOptions {
    /// Digits after the point.
    pub precision: usize,
    /// Arrays with more elements are summarised.
    pub threshold: usize,
    /// Elements shown at each end of a summarised dimension.
    pub edgeitems: usize,
    /// Characters of a line.
    pub linewidth: usize,
}

impl Default for PrintOptions {
    fn default() -> PrintOptions {
        PrintOptions { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80 }
    }
}

/// How the numbers of one array are written: all alike.
enum Style {
    /// Whole numbers with a point, as in `3.`.
    Whole,
    Fixed,
    Scientific,
    /// Integers and bools.
    Plain,
}

struct Formatter {
    style: Style,
    precision: usize,
    width: usize,
}

/// Python's `e` format: at least two digits of exponent, with its sign.
fn scientific(v: f64, precision: usize) -> String {
    let text = format!("{v:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |d| ('-', d));
    format!("{mantissa}e{sign}{digits:0>2}")
}

impl Formatter {
    fn new(a: &Array, shown: &[Scalar], options: &PrintOptions) -> Formatter {
        let mut f = Formatter { style: Style::Plain, precision: options.precision, width: 1 };
        if a.dtype().is_float() {
            let sized: Vec<f64> =
                shown.iter().map(|s| s.as_f64()).filter(|v| v.is_finite() && *v != 0.0).collect();
            let (most, least) =
                sized.iter().fold((0.0f64, f64::INFINITY), |(m, l), v| (m.max(v.abs()), l.min(v.abs())));
            let whole = sized.iter().all(|v| v.fract() == 0.0);
            let spread = most / least > 1000.0 || most > 1e8;
            f.style = match (sized.is_empty(), whole) {
                (true, _) => Style::Whole,
                (_, true) if spread => Style::Scientific,
                (_, true) => Style::Whole,
                (_, false) if spread || least < 1e-4 => Style::Scientific,
                _ => Style::Fixed,
            };
            f.width = sized.iter().map(|&v| f.text(Scalar::Float(v)).len()).max().unwrap_or(1);
        } else {
            f.width = shown.iter().map(|&v| f.text(v).len()).max().unwrap_or(1);
        }
        f
    }

    fn text(&self, s: Scalar) -> String {
        let v = match s {
            Scalar::Bool(b) => return if b { "True" } else { "False" }.into(),
            Scalar::Int(i) => return i.to_string(),
            Scalar::Float(v) => v,
        };
        if v.is_nan() {
            return "nan".into();
        }
        if v.is_infinite() {
            return if v > 0.0 { "inf" } else { "-inf" }.into();
        }
        match self.style {
            Style::Scientific => scientific(v, self.precision),
            Style::Whole => format!("{v:.0}."),
            _ => format!("{v:.*}", self.precision),
        }
    }

    fn padded(&self, s: Scalar) -> String {
        format!("{:>width$}", self.text(s), width = self.width)
    }
}

/// Indexes of a dimension that are shown; `None` stands for those left out.
fn shown(n: usize, cut: bool, edge: usize) -> Vec<Option<usize>> {
    if !cut || n <= 2 * edge {
        return (0..n).map(Some).collect();
    }
    (0..edge).map(Some).chain([None]).chain((n - edge..n).map(Some)).collect()
}

fn collect(a: &Array, cut: bool, edge: usize, index: &mut Vec<usize>, out: &mut Vec<Scalar>) {
    if index.len() == a.ndim() {
        out.push(a.at(index));
        return;
    }
    for i in shown(a.dims()[index.len()], cut, edge).into_iter().flatten() {
        index.push(i);
        collect(a, cut, edge, index, out);
        index.pop();
    }
}

fn write(
    a: &Array,
    f: &Formatter,
    options: &PrintOptions,
    cut: bool,
    indent: usize,
    index: &mut Vec<usize>,
) -> String {
    let left = a.ndim() - index.len();
    if left == 0 {
        return f.padded(a.at(index));
    }
    let mut parts = Vec::new();
    for i in shown(a.dims()[index.len()], cut, options.edgeitems) {
        match i {
            None => parts.push(if left == 1 { " ...".to_string() } else { "...".to_string() }),
            Some(i) => {
                index.push(i);
                parts.push(write(a, f, options, cut, indent + 1, index));
                index.pop();
            }
        }
    }
    let pad = " ".repeat(indent + 1);
    if left > 1 {
        return format!("[{}]", parts.join(&format!(",{}{pad}", "\n".repeat(left - 1))));
    }
    let each = (options.linewidth.saturating_sub(indent) / (f.width + 2)).max(1);
    let lines: Vec<String> = parts.chunks(each).map(|c| c.join(", ")).collect();
    format!("[{}]", lines.join(&format!(",\n{pad}")))
}

/// The elements in brackets between `prefix` and `suffix`, whose parts follow a comma each.
pub fn format(a: &Array, options: &PrintOptions, prefix: &str, suffix: &str) -> String {
    let cut = a.numel() > options.threshold;
    let mut values = Vec::new();
    collect(a, cut, options.edgeitems, &mut Vec::new(), &mut values);
    let f = Formatter::new(a, &values, options);
    let body = if a.numel() == 0 {
        "[]".to_string()
    } else if a.ndim() == 0 {
        f.text(a.at(&[]))
    } else {
        write(a, &f, options, cut, prefix.len(), &mut Vec::new())
    };
    let mut out = format!("{prefix}{body}");
    // A part that would run over the line goes to the next.
    let (parts, end) = suffix.strip_suffix(')').map_or((suffix, ""), |s| (s, ")"));
    for part in parts.split(", ").filter(|p| !p.is_empty()) {
        let last = out.len() - out.rfind('\n').map_or(0, |i| i + 1);
        if last + part.len() + 2 + end.len() > options.linewidth {
            out += &format!(",\n{}{part}", " ".repeat(prefix.len()));
        } else {
            out += &format!(", {part}");
        }
    }
    out + end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(v: &[f64], dims: &[usize]) -> String {
        format(&Array::from_slice(v, dims).unwrap(), &PrintOptions::default(), "tensor(", ")")
    }

    #[test]
    fn numbers_are_written_as_pytorch_writes_them() {
        assert_eq!(text(&[1.0, 2.0], &[2]), "tensor([1., 2.])");
        assert_eq!(text(&[0.5], &[]), "tensor(0.5000)");
        assert_eq!(text(&[1.0, -0.25, f64::NAN], &[3]), "tensor([ 1.0000, -0.2500,     nan])");
        assert_eq!(text(&[1e-5, 1.0], &[2]), "tensor([1.0000e-05, 1.0000e+00])");
        assert_eq!(text(&[1.0, 2.0, 3.0, 4.0], &[2, 2]), "tensor([[1., 2.],\n        [3., 4.]])");
        assert_eq!(text(&[], &[0]), "tensor([])");
        let long: Vec<f64> = (0..1001).map(|i| i as f64).collect();
        assert_eq!(text(&long, &[1001]), "tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.])");
    }
}
