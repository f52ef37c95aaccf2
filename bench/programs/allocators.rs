// allocators ROUNDS THREADS - maps of strings and vectors, on the global allocator that --cfg chooses: jemalloc,
// tcmalloc, mimalloc, or the C library's.
use std::collections::BTreeMap;

#[cfg(any(jemalloc, tcmalloc, mimalloc))]
mod linked {
    use std::alloc::{GlobalAlloc, Layout};
    use std::ffi::c_void;

    extern "C" {
        #[cfg_attr(jemalloc, link_name = "_rjem_malloc")]
        #[cfg_attr(tcmalloc, link_name = "tc_malloc")]
        #[cfg_attr(mimalloc, link_name = "mi_malloc")]
        fn malloc(size: usize) -> *mut c_void;
        #[cfg_attr(jemalloc, link_name = "_rjem_calloc")]
        #[cfg_attr(tcmalloc, link_name = "tc_calloc")]
        #[cfg_attr(mimalloc, link_name = "mi_calloc")]
        fn calloc(n: usize, size: usize) -> *mut c_void;
        #[cfg_attr(jemalloc, link_name = "_rjem_realloc")]
        #[cfg_attr(tcmalloc, link_name = "tc_realloc")]
        #[cfg_attr(mimalloc, link_name = "mi_realloc")]
        fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
        #[cfg_attr(jemalloc, link_name = "_rjem_free")]
        #[cfg_attr(tcmalloc, link_name = "tc_free")]
        #[cfg_attr(mimalloc, link_name = "mi_free")]
        fn free(block: *mut c_void);
    }

    // Nothing here wants a block that is aligned to more than 16 bytes.
    pub struct Linked;

    unsafe impl GlobalAlloc for Linked {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            malloc(layout.size()) as *mut u8
        }
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            calloc(1, layout.size()) as *mut u8
        }
        unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
            free(block as *mut c_void)
        }
        unsafe fn realloc(&self, block: *mut u8, _: Layout, size: usize) -> *mut u8 {
            realloc(block as *mut c_void, size) as *mut u8
        }
    }
}

#[cfg(any(jemalloc, tcmalloc, mimalloc))]
#[global_allocator]
static ALLOCATOR: linked::Linked = linked::Linked;

fn work(n: usize) -> usize {
    let mut words: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for i in 0..n {
        words.entry(format!("word {}", i * 7919 % 5003)).or_default().push(i as u32);
        if i % 20_000 == 19_999 {
            words.clear();
        }
    }
    words.len() + n
}

fn main() {
    let args: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let (n, n_threads) = (args[0], args[1]);
    let threads: Vec<_> = (0..n_threads).map(|_| std::thread::spawn(move || work(n))).collect();
    let total: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
    assert!(total > 0);
}
