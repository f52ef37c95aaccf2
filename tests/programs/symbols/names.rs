// Functions whose names test_symbol.py compares with addr2line's; Rust.
use std::collections::BTreeMap;
// Hides where a value comes from. std::hint has it too, but not in the compiler of Debian 12.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe {
        let same = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        same
    }
}

trait Area {
    fn area(&self) -> u64;
}

struct Square(u64);
struct Pair<T>(T, T);

impl Area for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        black_box(self.0) * self.0
    }
}

impl<T: Copy + Into<u64>> Area for Pair<T> {
    #[inline(never)]
    fn area(&self) -> u64 {
        black_box(self.0.into()) * self.1.into()
    }
}

#[inline(never)]
fn apply<F: Fn(u64) -> u64>(f: F, n: u64) -> u64 {
    f(black_box(n)) + 1
}

#[inline(never)]
fn generic<T: Ord + Clone>(items: &[T]) -> Vec<T> {
    let mut sorted: Vec<T> = items.iter().filter(|x| **x >= items[0]).cloned().collect();
    sorted.sort_by(|a, b| b.cmp(a));
    sorted
}

fn main() {
    let base = black_box(5u64);
    let shapes: Vec<Box<dyn Area>> = vec![
        Box::new(Square(3)),
        Box::new(Pair(2u32, 3u32)),
        Box::new(Pair(4u8, 5u8)),
    ];
    let mut by_area = BTreeMap::new();
    for s in &shapes {
        by_area.insert(s.area(), apply(|n| black_box(n) + base, s.area()));
    }
    let words = generic(&["b".to_string(), "c".to_string(), "a".to_string()]);
    println!("{:?} {:?} {:?}", by_area, words, generic(&[3, 1, 2]));
}
