//! A step allocates nothing once the first ones have allocated their buffers, and those are small.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use induct::recipe::Recipe;
use induct::train::Trainer;

/// The system's allocator, with counters.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Those of this thread: the test runner's own threads allocate too.
    static OWN_BYTES: Cell<usize> = const { Cell::new(0) };
}

const STEPS: usize = 10;

/// Only one test counts at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[expect(unsafe_code, reason = "an allocator can be written in no other way")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        OWN_BYTES.set(OWN_BYTES.get() + layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steps_allocate_nothing() {
    let _alone = ALONE.lock().unwrap();
    for overrides in [
        vec![],
        vec!["task.states=10", "model.width=32"],
        vec!["model.mlp=true", "model.layer_norm=true"],
        vec!["model.mlp=true"],
        vec!["model.mlp=true", "model.positions=absolute"],
        vec!["model.mlp=true", "model.dropout=0.1"],
        vec![
            "model.kind=minimal",
            "train.optimizer={kind=\"sgd\", lr=2e-3}",
        ],
    ] {
        let overrides: Vec<String> = overrides
            .iter()
            .map(|text: &&str| (*text).to_owned())
            .collect();
        let recipe = Recipe::from_toml("task.length = 20", &overrides).unwrap();
        // One thread: whether a second one has allocated its buffers yet is a matter of luck.
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        let allocations = pool.install(|| {
            let mut trainer = Trainer::new(&recipe).unwrap();
            for _ in 0..3 {
                trainer.advance().unwrap();
            }
            let before = COUNT.load(Ordering::Relaxed);
            for _ in 0..STEPS {
                trainer.advance_observed(true, &|_| {}).unwrap();
                assert!(trainer.gradient().iter().any(|&g| g != 0.0));
            }
            COUNT.load(Ordering::Relaxed) - before
        });
        // The thread pool's own bookkeeping allocates now and then, less than once per step.
        assert!(allocations < STEPS, "{overrides:?}: {allocations}");
    }
}

/// What a thread keeps of a block is rows of a fixed number of lanes: it grows like t, not like t²,
/// and does not depend on the batch.
#[test]
fn room_for_a_block_grows_in_proportion_to_the_length() {
    let _alone = ALONE.lock().unwrap();
    let room = |length: usize, overrides: &[String]| {
        let recipe = Recipe::from_toml(&format!("task.length = {length}"), overrides).unwrap();
        let model = recipe.model().unwrap();
        let evaluator = model.evaluator(&model.start(0)).unwrap();
        let tokens = vec![0; length];
        let before = BYTES.load(Ordering::Relaxed);
        evaluator.last_logits(&[&tokens]).unwrap();
        BYTES.load(Ordering::Relaxed) - before
    };
    for overrides in ["model.width=16", "task.states=10", "model.mlp=true"] {
        let overrides = [overrides.to_owned()];
        let (short, long) = (room(200, &overrides), room(1600, &overrides));
        assert!(long < 9 * short, "{overrides:?}: {short} -> {long} bytes");
        assert!(long < 64 << 20, "{overrides:?}: {long} bytes");
    }
}

/// Memory is estimated before it is allocated: never too low, and not so high that useful runs are refused.
#[test]
fn estimates_of_memory_are_a_little_more_than_it_is() {
    let _alone = ALONE.lock().unwrap();
    let taken = |work: &dyn Fn()| {
        let before = OWN_BYTES.get();
        work();
        (OWN_BYTES.get() - before) as f64
    };
    for overrides in [
        vec![],
        vec!["task.states=10", "model.width=32"],
        vec!["task.states=10", "model.width=128", "task.length=300"],
        vec!["task.states=40", "model.width=16", "model.layers=4"],
        vec!["model.heads=4", "model.width=64", "model.layers=3"],
        vec!["model.mlp=true", "model.layer_norm=true"],
        vec!["model.mlp=true", "model.width=64"],
        vec![
            "model.mlp=true",
            "model.positions=absolute",
            "model.heads=2",
        ],
        vec![
            "model.positions=absolute",
            "task.length=256",
            "model.width=64",
        ],
        vec!["model.positions=none", "model.width=256", "model.heads=8"],
        vec!["model.dropout=0.1", "model.heads=8", "model.mlp=true"],
        vec!["model.positions=relative-query", "task.states=5"],
        vec!["model.kind=minimal", "task.states=3"],
        vec![
            "model.kind=minimal",
            "model.form=softmax",
            "task.length=1000",
        ],
    ] {
        let sets: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        let recipe = Recipe::from_toml("task.length = 100\ntrain.batch = 8", &sets).unwrap();
        let model = recipe.model().unwrap();
        let params = model.start(0);
        let prepared = taken(&|| drop(model.evaluator(&params).unwrap()));
        let evaluator = model.evaluator(&params).unwrap();
        let tokens = vec![0; model.length()];
        let predict = || drop(evaluator.last_logits(&[&tokens]).unwrap());
        // The second call has the first one's buffers.
        let scratch = taken(&predict) - taken(&predict);
        for (name, taken, estimate) in [
            ("scratch", scratch, model.scratch_bytes()),
            ("prepared", prepared, model.prepared_bytes()),
        ] {
            // Lists of buffers are not counted.
            let ratio = estimate / (taken - 4096.0);
            let few = taken < 8192.0;
            assert!(
                few || (1.0..2.5).contains(&ratio),
                "{overrides:?}: {name} {taken} of {estimate}, {ratio}"
            );
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        let before = BYTES.load(Ordering::Relaxed);
        pool.install(|| Trainer::new(&recipe).unwrap().advance().unwrap());
        let run = (BYTES.load(Ordering::Relaxed) - before) as f64;
        let estimate = recipe.memory().unwrap();
        // One thread uses an eighth of the scratch buffers that are counted.
        let parts = estimate.parts().filter(|(name, _)| *name != "test sets");
        let estimate: f64 = parts.map(|(_, bytes)| bytes).sum();
        assert!(estimate > run, "{overrides:?}: {run} of {estimate}");
    }
}
