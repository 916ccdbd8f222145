//! Scenes to cut, each with the facts that must hold afterwards: a story a scene, before each call to the disk.
//!
//! Not here: the disk that forgets.

use super::*;

/// A world whose disk can lose power at every call.
struct Scene {
    world: World,
    power: Arc<Power>,
    store: Store,
}

impl Scene {
    fn of(world: World, lacks: &'static [&'static str], person: Option<Person>) -> Self {
        let place = StatePlace::find(world.path(), None).unwrap();
        let power = Arc::new(Power {
            real: RealDisk::in_dir(place.parent()),
            model: Mutex::default(),
            state: place.state.clone(),
            person,
            lacks,
        });
        if let Ok(bytes) = fs::read(&place.state) {
            power.model().written.push(bytes.clone());
            power.model().serial = 7;
            let (durable, live) = (bytes.clone(), bytes);
            power.add(&place.state, Bytes { durable, live }, true);
        }
        let seam = Box::new(Seam(Arc::clone(&power)));
        let store = Store::new(place, seam);
        Self { world, power, store }
    }

    fn new(person: impl Fn(&Power, &'static str, usize) + Send + Sync + 'static) -> Self {
        Self::of(World::new(), &[], Some(Box::new(person)))
    }

    fn plain() -> Self {
        Self::new(|_, _, _| {})
    }

    /// A commit that adopts a person's save, like the loop's.
    fn commit(&mut self) {
        let known = self.power.model().saved.clone();
        let (serial, iteration) = {
            let model = self.power.model();
            (model.serial, model.iteration)
        };
        let done = self.store.commit(|now| {
            // Only known lines count; a line that was not read yet comes by itself.
            let known = known.intersection(&notes(&now.state)).cloned().collect();
            let (mut next, _) = merged(&known, now);
            Arc::make_mut(&mut next.state.run).iteration = iteration + 1;
            next.state.serial = Serial(serial.max(now.state.serial.0) + 1);
            Ok::<_, Infallible>(Some(next))
        });
        let done = done.unwrap();
        let mut model = self.power.model();
        (model.serial, model.iteration) = (done.state.serial.0, done.state.run.iteration);
    }

    fn tend(&mut self) {
        self.store.tend(later()).unwrap();
    }

    /// Ends the scene: at least so many images were tried, and no line is missing.
    fn end(self, images_min: usize) {
        self.power.cut();
        let images = self.power.model().images;
        println!("{images} images of {} calls", self.power.model().calls.len());
        assert!(images >= images_min, "only {images} images");
        drop(self.world);
    }
}

impl Power {
    /// Saves as an editor does that writes a new file, syncs it and renames it.
    fn save_by_rename(&self, line: &str) {
        let text = with_line(&fs::read_to_string(&self.state).unwrap(), line);
        let beside = self.state.with_file_name("4913");
        fs::write(&beside, &text).unwrap();
        let bytes = text.clone().into_bytes();
        let (durable, live) = (bytes.clone(), bytes.clone());
        self.add(&beside, Bytes { durable, live }, true);
        fs::rename(&beside, &self.state).unwrap();
        let file = self.at(&beside);
        self.note(Change::Move(beside, self.state.clone(), file), true);
        let mut model = self.model();
        model.written.push(bytes);
        model.saved.insert(line.to_owned());
    }

    /// Writes into an open file, and syncs it.
    fn save_into(&self, mut open: fs::File, text: &str, line: &str) {
        let text = with_line(text, line);
        open.set_len(0).unwrap();
        open.rewind().unwrap();
        open.write_all(text.as_bytes()).unwrap();
        let number = self.of(&open);
        let mut model = self.model();
        let bytes = text.into_bytes();
        let (durable, live) = (bytes.clone(), bytes.clone());
        model.files.insert(number, Bytes { durable, live });
        model.written.push(bytes);
        model.saved.insert(line.to_owned());
    }

    fn open(&self) -> fs::File {
        fs::OpenOptions::new().write(true).open(&self.state).unwrap()
    }
}

#[test]
fn a_power_cut_in_commits_leaves_the_old_state_or_the_new_one() {
    let mut scene = Scene::plain();
    (0..3).for_each(|_| scene.commit());
    scene.tend();
    scene.commit();
    scene.end(40);
}

#[test]
fn a_power_cut_around_a_save_by_rename_loses_neither_it_nor_a_commit() {
    for at in [("create", 1), ("exchange", 1), ("fsync_dir", 1), ("lease", 3)] {
        let mut scene = Scene::new(move |power, call, n| {
            if (call, n) == at {
                power.save_by_rename("n1");
            }
        });
        (0..4).for_each(|_| scene.commit());
        scene.tend();
        scene.commit();
        scene.end(40);
    }
}

#[test]
fn a_power_cut_around_a_save_in_place_loses_neither_it_nor_a_commit() {
    for (at, lacks) in [(("lease", 1), &[][..]), (("exchange", 1), &["lease"][..])] {
        let person = move |power: &Power, call: &'static str, n: usize| {
            if (call, n) == at {
                let text = fs::read_to_string(&power.state).unwrap();
                power.save_into(power.open(), &text, "n1");
            }
        };
        let mut scene = Scene::of(World::new(), lacks, Some(Box::new(person)));
        (0..3).for_each(|_| scene.commit());
        scene.tend();
        scene.commit();
        scene.end(40);
    }
}

#[test]
fn a_power_cut_while_a_late_save_is_taken_up_loses_neither_it_nor_the_commits_since() {
    let mut scene = Scene::plain();
    scene.commit();
    let (open, text) = (scene.power.open(), fs::read_to_string(&scene.power.state).unwrap());
    scene.commit();
    scene.commit();
    scene.power.save_into(open, &text, "n1");
    scene.tend();
    assert!(scene.store.read().unwrap().is_foreign);
    scene.commit();
    scene.tend();
    scene.commit();
    scene.end(60);
}

#[test]
fn a_power_cut_where_there_is_no_exchange_leaves_the_old_state_or_the_new_one() {
    let mut scene = Scene::of(World::new(), &["exchange", "lease"], None);
    (0..3).for_each(|_| scene.commit());
    scene.tend();
    scene.end(30);
}

#[test]
fn a_power_cut_in_a_first_state_leaves_none_or_all_of_it() {
    let world = World::empty();
    let mut scene = Scene::of(world, &[], None);
    let done = scene.store.create(fixture()).unwrap();
    scene.power.model().serial = done.state.serial.0;
    scene.commit();
    scene.end(12);
}

#[test]
fn a_power_cut_while_a_state_is_replaced_leaves_the_archived_one_somewhere() {
    let mut scene = Scene::plain();
    scene.commit();
    let old = scene.world.bytes();
    scene.power.model().kept.push(old);
    let mut other = fixture();
    Arc::make_mut(&mut other.run).iteration = 1;
    other.serial = Serial(9);
    scene.store.replace(other, true).unwrap();
    scene.power.model().serial = 9;
    scene.tend();
    scene.commit();
    scene.end(30);
}
