// The global allocator: one of the crate registry, which the features choose, and which counts what it is asked for.
// A crate of its own, so that the compiler cannot put it into the code that allocates: dlmalloc is recorded by
// __rust_alloc and its siblings.
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(feature = "jemalloc")]
type Inner = tikv_jemallocator::Jemalloc;
#[cfg(feature = "jemalloc")]
const INNER: Inner = tikv_jemallocator::Jemalloc;
#[cfg(feature = "mimalloc")]
type Inner = mimalloc::MiMalloc;
#[cfg(feature = "mimalloc")]
const INNER: Inner = mimalloc::MiMalloc;
#[cfg(feature = "snmalloc")]
type Inner = snmalloc_rs::SnMalloc;
#[cfg(feature = "snmalloc")]
const INNER: Inner = snmalloc_rs::SnMalloc;
#[cfg(feature = "dlmalloc")]
type Inner = dlmalloc::GlobalDlmalloc;
#[cfg(feature = "dlmalloc")]
const INNER: Inner = dlmalloc::GlobalDlmalloc;
#[cfg(not(any(feature = "dlmalloc", feature = "jemalloc", feature = "mimalloc", feature = "snmalloc")))]
type Inner = std::alloc::System;
#[cfg(not(any(feature = "dlmalloc", feature = "jemalloc", feature = "mimalloc", feature = "snmalloc")))]
const INNER: Inner = std::alloc::System;

pub static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

struct Counted(Inner);

fn count(which: usize, bytes: usize) {
    COUNTS[which].fetch_add(1, Relaxed);
    COUNTS[3].fetch_add(bytes as u64, Relaxed);
}

unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        self.0.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        self.0.alloc_zeroed(layout)
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(2, 0);
        self.0.dealloc(block, layout)
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size);
        self.0.realloc(block, layout, size)
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted(INNER);
