. "$(dirname "$0")/common.sh"
mkdir -p src && cat >Cargo.toml <<'EOF'
[package]
name = "small"
version = "0.1.0"
edition = "2021"
EOF
cat >src/main.rs <<'EOF'
use std::collections::BTreeMap;
use std::thread;
fn main() {
    let all: Vec<_> = (0..4).map(|t| thread::spawn(move || {
        let mut m = BTreeMap::new();
        for i in 0..50_000u64 { m.insert(i * 7919 % 50_021, format!("{t}-{i}")); }
        m.values().map(|s| s.len()).sum::<usize>()
    })).collect();
    println!("{}", all.into_iter().map(|t| t.join().unwrap()).sum::<usize>());
    assert!(std::panic::catch_unwind(|| { let v: Vec<u8> = vec![]; v[std::env::args().count()] }).is_err());
}
EOF
export CARGO_HOME=$WORK/cargo CARGO_INCREMENTAL=0 CARGO_TERM_COLOR=never
under cargo build -q --offline --release; echo "build $?"
under ./target/release/small 2>/dev/null; echo "run $?"
under cargo test -q --offline 2>&1 | grep 'test result' | cut -d';' -f1-2
