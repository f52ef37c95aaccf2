// linked_allocator_rs ROUNDS - a Rust program whose global allocator is a jemalloc that is linked in with the
// prefix _rjem_, used as the crate tikv-jemallocator uses it, and counted.
// Prints: allocations, reallocations, frees, bytes.
use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

extern "C" {
    fn _rjem_malloc(size: usize) -> *mut c_void;
    fn _rjem_mallocx(size: usize, flags: i32) -> *mut c_void;
    fn _rjem_calloc(n: usize, size: usize) -> *mut c_void;
    fn _rjem_rallocx(block: *mut c_void, size: usize, flags: i32) -> *mut c_void;
    fn _rjem_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn _rjem_sdallocx(block: *mut c_void, size: usize, flags: i32);
}

static COUNTS: [AtomicU64; 4] =
    [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];

struct Jemalloc;

fn flags(layout: &Layout) -> i32 {
    if layout.align() <= 16 && layout.align() <= layout.size() {
        return 0;
    }
    layout.align().trailing_zeros() as i32
}

unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNTS[0].fetch_add(1, Relaxed);
        COUNTS[3].fetch_add(layout.size() as u64, Relaxed);
        match flags(&layout) {
            0 => _rjem_malloc(layout.size()) as *mut u8,
            f => _rjem_mallocx(layout.size(), f) as *mut u8,
        }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNTS[0].fetch_add(1, Relaxed);
        COUNTS[3].fetch_add(layout.size() as u64, Relaxed);
        match flags(&layout) {
            0 => _rjem_calloc(1, layout.size()) as *mut u8,
            f => _rjem_mallocx(layout.size(), f | 64) as *mut u8,
        }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        COUNTS[2].fetch_add(1, Relaxed);
        _rjem_sdallocx(block as *mut c_void, layout.size(), flags(&layout))
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNTS[1].fetch_add(1, Relaxed);
        COUNTS[3].fetch_add(size as u64, Relaxed);
        match flags(&layout) {
            0 => _rjem_realloc(block as *mut c_void, size) as *mut u8,
            f => _rjem_rallocx(block as *mut c_void, size, f) as *mut u8,
        }
    }
}

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[repr(align(128))]
struct Wide(#[allow(dead_code)] [u8; 300]);

fn work(n: usize) -> usize {
    let mut words: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut wide = Vec::new();
    for i in 0..n {
        words.entry(format!("word {}", i % 97)).or_default().push(i as u32);
        if i % 10 == 0 {
            wide.push(Box::new(Wide([1; 300])));
        }
        if i % 1000 == 999 {
            wide.clear();
        }
    }
    words.len() + wide.len() + vec![0u64; n + 1].len()
}

fn main() {
    let n: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(0);
    let threads: Vec<_> = (1..5).map(|i| std::thread::spawn(move || work(n * i / 4))).collect();
    let total: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
    let counts: Vec<u64> = COUNTS.iter().map(|c| c.load(Relaxed)).collect();
    println!("{} {} {} {}", counts[0], counts[1], counts[2], counts[3]);
    assert!(total > 0);
    std::process::exit(9);
}
