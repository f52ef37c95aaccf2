// wasm stacks NAMES N TRUTH | wasm traps NAMES N | wasm work NAMES N - runs wasm that allocates through
// its host.
//
// NAMES: perf, jitdump or gdb: how wasmtime says which function is where; none: it does not.
// stacks: wasm functions call each other in N different ways, and the host allocates 100000 + I bytes in
// call I. TRUTH gets a line for each: I, then the names that wasmtime gives for its stack, innermost first.
// traps: N calls from wasm into the host that allocate, each followed by a trap that is a signal.
// work: N such calls without a trap.
// Prints how many calls were as expected.
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_char;
use std::fmt::Write;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use tikv_jemallocator::Jemalloc;
use wasmtime::{
    Caller, Config, Engine, Instance, Linker, Module, ProfilingStrategy, Store, Trap, TypedFunc, WasmBacktrace,
};

// jemalloc, or the C library's with WASM_ALLOCATOR=libc in the environment.
struct Chosen;

#[global_allocator]
static ALLOCATOR: Chosen = Chosen;
static CHOICE: AtomicU8 = AtomicU8::new(0);

extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
}

fn is_libc() -> bool {
    if CHOICE.load(Relaxed) == 0 {
        let is_set = unsafe { !getenv(c"WASM_ALLOCATOR".as_ptr()).is_null() };
        CHOICE.store(1 + is_set as u8, Relaxed);
    }
    CHOICE.load(Relaxed) == 2
}

unsafe impl GlobalAlloc for Chosen {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_libc() { System.alloc(layout) } else { Jemalloc.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_libc() { System.alloc_zeroed(layout) } else { Jemalloc.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_libc() { System.dealloc(block, layout) } else { Jemalloc.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_libc() { System.realloc(block, layout, size) } else { Jemalloc.realloc(block, layout, size) }
    }
}

const N_FUNCTIONS: u32 = 24;

#[derive(Default)]
struct Host {
    wants_truth: bool,
    n_calls: usize,
    truth: String,
}

#[inline(never)]
fn host_allocate(mut caller: Caller<'_, Host>, size: u32) {
    black_box(Vec::<u8>::with_capacity(size as usize));
    if caller.data().wants_truth {
        let mut line = format!("{size}");
        for frame in WasmBacktrace::capture(&caller).frames() {
            write!(line, " {}", frame.func_name().unwrap_or("?")).unwrap();
        }
        caller.data_mut().truth.push_str(&(line + "\n"));
    }
    caller.data_mut().n_calls += 1;
}

// Each function calls the next one, some directly and some by the table, until the depth is used up.
fn text_of_module() -> String {
    let mut text = String::from(
        "(module (import \"host\" \"allocate\" (func $allocate (param i32)))
         (type $step (func (param i32 i32 i32) (result i32)))
         (memory 1) (table 24 funcref)",
    );
    for i in 0..N_FUNCTIONS {
        let pass = "(local.get 0) (i32.sub (local.get 1) (i32.const 1)) (i32.div_u (local.get 2) (i32.const 3))";
        let next = if i % 3 == 0 {
            format!("(call $step{} {pass})", (i * 5 + 1) % N_FUNCTIONS)
        } else {
            let index = format!("(i32.rem_u (i32.add (local.get 2) (i32.const {i})) (i32.const {N_FUNCTIONS}))");
            format!("(call_indirect (type $step) {pass} {index})")
        };
        write!(
            text,
            "(func $step{i} (type $step) (if (result i32) (i32.eqz (local.get 1))
               (then (call $allocate (local.get 0)) (local.get 2))
               (else (i32.add {next} (i32.const {i})))))
             (elem (i32.const {i}) $step{i})",
        )
        .unwrap();
    }
    text.push_str(
        "(func $run (export \"run\") (type $step)
           (call_indirect (type $step) (local.get 0) (local.get 1) (local.get 2)
              (i32.rem_u (local.get 2) (i32.const 24))))
         (func $divide (export \"divide\") (param i32) (result i32) (call $allocate (local.get 0))
           (i32.div_s (local.get 0) (i32.sub (local.get 0) (local.get 0))))
         (func $beyond (export \"beyond\") (param i32) (result i32) (call $allocate (local.get 0))
           (i32.load (i32.add (local.get 0) (i32.const 0x7ffff000))))
         (func $stop (export \"stop\") (param i32) (result i32) (call $allocate (local.get 0)) unreachable))",
    );
    text
}

fn instantiate(names: &str) -> (Store<Host>, Instance) {
    let mut config = Config::new();
    config.profiler(match names {
        "perf" => ProfilingStrategy::PerfMap,
        "jitdump" => ProfilingStrategy::JitDump,
        _ => ProfilingStrategy::None,
    });
    config.debug_info(names == "gdb");
    config.wasm_backtrace_max_frames(std::num::NonZeroUsize::new(100));
    let engine = Engine::new(&config).unwrap();
    let module = Module::new(&engine, text_of_module()).unwrap();
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "allocate", host_allocate).unwrap();
    let mut store = Store::new(&engine, Host::default());
    let instance = linker.instantiate(&mut store, &module).unwrap();
    (store, instance)
}

type Step = TypedFunc<(u32, u32, u32), u32>;

fn stacks(store: &mut Store<Host>, instance: &Instance, n: u32) -> usize {
    let run: Step = instance.get_typed_func(&mut *store, "run").unwrap();
    for i in 0..n {
        run.call(&mut *store, (100_000 + i, 2 + i % 40, i.wrapping_mul(2_654_435_761) % 1_000_000_007)).unwrap();
    }
    store.data().n_calls
}

fn work(store: &mut Store<Host>, instance: &Instance, n: u32) -> usize {
    let run: Step = instance.get_typed_func(&mut *store, "run").unwrap();
    for i in 0..n {
        run.call(&mut *store, (16 + i % 100, 2 + i % 17, i % 4096)).unwrap();
    }
    store.data().n_calls
}

fn traps(store: &mut Store<Host>, instance: &Instance, n: u32) -> usize {
    let expected = [
        ("divide", Trap::IntegerDivisionByZero),
        ("beyond", Trap::MemoryOutOfBounds),
        ("stop", Trap::UnreachableCodeReached),
    ];
    let functions = expected.map(|(name, trap)| {
        (instance.get_typed_func::<u32, u32>(&mut *store, name).unwrap(), trap)
    });
    (0..n as usize)
        .filter(|i| {
            let (function, trap) = &functions[i % 3];
            let error = function.call(&mut *store, 64).unwrap_err();
            error.downcast_ref::<Trap>() == Some(trap)
        })
        .count()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n = args[3].parse().unwrap();
    let (mut store, instance) = instantiate(&args[2]);
    let n_good = match args[1].as_str() {
        "stacks" => {
            store.data_mut().wants_truth = true;
            stacks(&mut store, &instance, n)
        }
        "traps" => traps(&mut store, &instance, n),
        _ => work(&mut store, &instance, n),
    };
    if let Some(path) = args.get(4) {
        std::fs::write(path, &store.data().truth).unwrap();
    }
    println!("{n_good}");
    std::process::exit(if args[1] == "work" { 0 } else { 9 });
}
