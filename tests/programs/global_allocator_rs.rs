// global_allocator_rs ROUNDS - a Rust program with a global allocator that no table knows, and that counts.
//
// --cfg own: blocks come from a mapping, each freed block goes to a list of its size. --cfg hybrid: the same for small
// blocks, malloc for the others; the first blocks come from malloc. Otherwise: each block comes from malloc.
// Prints: allocations, reallocations, frees, bytes wanted.
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

extern "C" {
    fn mmap(at: *mut u8, n: usize, protection: i32, flags: i32, fd: i32, offset: i64) -> *mut u8;
}

const N_LISTS: usize = 48; // one for each power of 2
const ARENA: usize = 1 << 28;

struct Pool {
    locked: AtomicBool,
    start: AtomicUsize,
    used: AtomicUsize,
    lists: [AtomicUsize; N_LISTS],
    counts: [AtomicU64; 4],
}

impl Pool {
    #[inline(never)]
    unsafe fn take(&self, size: usize) -> *mut u8 {
        let list = &self.lists[size.trailing_zeros() as usize];
        while self.locked.swap(true, Acquire) {
            std::hint::spin_loop();
        }
        let mut block = list.load(Relaxed);
        if block != 0 {
            list.store(*(block as *const usize), Relaxed);
        } else {
            if self.start.load(Relaxed) == 0 {
                self.start.store(mmap(std::ptr::null_mut(), ARENA, 3, 0x4022, -1, 0) as usize, Relaxed);
            }
            let at = (self.used.load(Relaxed) + size - 1) & !(size - 1);
            self.used.store(at + size, Relaxed);
            block = if at + size > ARENA { 0 } else { self.start.load(Relaxed) + at };
        }
        self.locked.store(false, Release);
        block as *mut u8
    }

    #[inline(never)]
    unsafe fn give(&self, block: *mut u8, size: usize) {
        let list = &self.lists[size.trailing_zeros() as usize];
        while self.locked.swap(true, Acquire) {
            std::hint::spin_loop();
        }
        *(block as *mut usize) = list.load(Relaxed);
        list.store(block as usize, Relaxed);
        self.locked.store(false, Release);
    }

    fn is_own(&self, layout: Layout) -> bool {
        cfg!(own) || (cfg!(hybrid) && layout.size() < 512 && self.counts[0].load(Relaxed) > 40)
    }

    fn size_of(layout: Layout) -> usize {
        layout.size().max(layout.align()).max(16).next_power_of_two()
    }

    fn count(&self, what: usize, bytes: usize) {
        self.counts[what].fetch_add(1, Relaxed);
        self.counts[3].fetch_add(bytes as u64, Relaxed);
    }

    // Does the block lie in the arena?
    fn has(&self, block: *mut u8) -> bool {
        (block as usize).wrapping_sub(self.start.load(Relaxed)) < ARENA && self.start.load(Relaxed) != 0
    }

    unsafe fn get(&self, layout: Layout) -> *mut u8 {
        if self.is_own(layout) { self.take(Pool::size_of(layout)) } else { System.alloc(layout) }
    }

    unsafe fn put(&self, block: *mut u8, layout: Layout) {
        if self.has(block) { self.give(block, Pool::size_of(layout)) } else { System.dealloc(block, layout) }
    }
}

unsafe impl GlobalAlloc for Pool {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(0, layout.size());
        self.get(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.count(2, 0);
        self.put(block, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(0, layout.size());
        if !self.is_own(layout) {
            return System.alloc_zeroed(layout);
        }
        let block = self.get(layout);
        std::ptr::write_bytes(block, 0, layout.size());
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count(1, size);
        let wanted = Layout::from_size_align_unchecked(size, layout.align());
        if !self.has(block) && !self.is_own(wanted) {
            return System.realloc(block, layout, size);
        }
        let new = self.get(wanted);
        std::ptr::copy_nonoverlapping(block, new, layout.size().min(size));
        self.put(block, layout);
        new
    }
}

#[allow(clippy::declare_interior_mutable_const)]
const EMPTY: AtomicUsize = AtomicUsize::new(0);
#[allow(clippy::declare_interior_mutable_const)]
const NONE: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static POOL: Pool = Pool {
    locked: AtomicBool::new(false),
    start: EMPTY,
    used: EMPTY,
    lists: [EMPTY; N_LISTS],
    counts: [NONE; 4],
};

#[repr(align(128))]
struct Wide([u8; 300]);

#[inline(never)]
fn work(rounds: usize) -> usize {
    let mut sum = 0;
    let mut kept: Vec<String> = Vec::new();
    for i in 0..rounds {
        kept.push(format!("round {} of {}", i, rounds));
        let wide = Box::new(Wide([i as u8; 300]));
        let zeros = vec![0u64; i % 50 + 1];
        sum += wide.0[5] as usize + zeros.len();
        if i % 100 == 99 {
            sum += kept.drain(..90).map(|s| s.len()).sum::<usize>();
        }
    }
    sum + kept.len()
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(0);
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(move || work(rounds))).collect();
    let sum: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
    let counts: Vec<u64> = POOL.counts.iter().map(|c| c.load(Relaxed)).collect();
    println!("{} {} {} {}", counts[0], counts[1], counts[2], counts[3]);
    std::process::exit(if sum == 1 { 1 } else { 9 });
}
