//! Records where libpython lives, so that test binaries load the interpreter they were built for.

fn main() {
    #[cfg(feature = "python")]
    pyo3_build_config::add_libpython_rpath_link_args();
}
