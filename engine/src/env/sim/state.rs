//! The files and directories of the simulated disk, as programs see them and as the platter has them.
//!
//! Like a unix file system, names and contents are apart: a directory maps names to nodes, and a node without a
//! name lives on while it is open. Each node knows both its live state and how much of it is durable; `crash`
//! throws the difference away.
//!
//! # Invariants
//! 1. A file's first `synced` bytes are durable, unless `shadow` holds the durable content instead: then the
//!    file was cut below what was durable and not synced since.
//! 2. A directory's `live` names are its `durable` ones with all `pending` changes applied in order.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::env::{DirEntry, Random, being_read, locked, os, refused};
use crate::error::{Error, Result};

use super::bad_path;
use super::faults::Faults;

/// Names a file or directory for as long as it lives.
pub(super) type NodeId = u64;

/// The one directory that always exists.
const ROOT: NodeId = 0;

/// A file's content and how much of it is durable.
#[derive(Clone, Debug, Default)]
pub(super) struct FileNode {
    pub(super) live: Arc<Vec<u8>>,
    pub(super) synced: usize,
    pub(super) shadow: Option<Arc<Vec<u8>>>,
    /// A sync failed: no later one makes anything durable.
    pub(super) doubtful: bool,
}

/// Names that change together: `None` for one that goes.
pub(super) type Change = Vec<(String, Option<NodeId>)>;

/// A directory's names and which of them are durable.
#[derive(Clone, Debug, Default)]
pub(super) struct DirNode {
    pub(super) live: BTreeMap<String, NodeId>,
    pub(super) durable: BTreeMap<String, NodeId>,
    pub(super) pending: Vec<Change>,
}

impl DirNode {
    fn change(&mut self, change: Change) {
        apply(&mut self.live, &change);
        self.pending.push(change);
    }
}

/// Carries a change out on a set of names.
pub(super) fn apply(names: &mut BTreeMap<String, NodeId>, change: &Change) {
    for (name, node) in change {
        match node {
            Some(node) => names.insert(name.clone(), *node),
            None => names.remove(name),
        };
    }
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    File(FileNode),
    Dir(DirNode),
}

/// Everything about the disk but its clock.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) nodes: BTreeMap<NodeId, Node>,
    next_node: NodeId,
    /// How many handles each open file has.
    open: BTreeMap<NodeId, usize>,
    /// Held locks, with the number of those who share one; 0 is held by one alone.
    locks: BTreeMap<PathBuf, usize>,
    /// Counts restarts; handles of another epoch are dead.
    pub(super) epoch: u64,
    pub(super) faults: Faults,
    pub(super) capacity: Option<u64>,
    pub(super) random: Random,
    /// The highest answer of the monotonic clock so far.
    pub(super) latest_nanos: u64,
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            nodes: BTreeMap::from([(ROOT, Node::Dir(DirNode::default()))]),
            next_node: ROOT + 1,
            open: BTreeMap::new(),
            locks: BTreeMap::new(),
            epoch: 0,
            faults: Faults::default(),
            capacity: None,
            random: Random::new(seed),
            latest_nanos: 0,
        }
    }

    /// Forgets whatever belongs to a running program: handles, locks, injected failures.
    pub(super) fn detach(&mut self) {
        self.open.clear();
        self.locks.clear();
        self.faults = Faults::default();
        self.collect();
    }

    pub(super) fn open(&mut self, node: NodeId) {
        *self.open.entry(node).or_default() += 1;
    }

    pub(super) fn close(&mut self, node: NodeId) {
        if let Some(count) = self.open.get_mut(&node) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(&node);
            }
        }
    }

    pub(super) fn create(&mut self, path: &Path) -> Result<NodeId> {
        let (dir, name) = self.place("create the file", path)?;
        if let Some(node) = self.dir_ref(dir).and_then(|dir| dir.live.get(&name).copied()) {
            let file = self.file_mut("create the file", node, path)?;
            cut(file, 0);
            return Ok(node);
        }
        Ok(self.add(dir, name, Node::File(FileNode::default())))
    }

    /// Makes a directory; whether it was missing.
    pub(super) fn make_dir(&mut self, path: &Path) -> Result<bool> {
        let (dir, name) = self.place("create the directory", path)?;
        match self.dir_ref(dir).and_then(|dir| dir.live.get(&name)).and_then(|node| self.nodes.get(node)) {
            Some(Node::Dir(_)) => Ok(false),
            Some(Node::File(_)) => {
                Err(refused("create the directory", path, io::ErrorKind::AlreadyExists.into()))
            }
            None => {
                self.add(dir, name, Node::Dir(DirNode::default()));
                Ok(true)
            }
        }
    }

    pub(super) fn append(&mut self, node: NodeId, path: &Path, bytes: &[u8]) -> Result<()> {
        if self.free_space().is_some_and(|free| free < bytes.len() as u64) {
            return Err(refused("append to the file", path, io::ErrorKind::StorageFull.into()));
        }
        let file = self.file_mut("append to the file", node, path)?;
        Arc::make_mut(&mut file.live).extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn sync(&mut self, node: NodeId, path: &Path) -> Result<()> {
        let file = self.file_mut("sync the file", node, path)?;
        if !file.doubtful {
            file.synced = file.live.len();
            file.shadow = None;
        }
        Ok(())
    }

    /// A sync of the file failed.
    pub(super) fn doubt(&mut self, node: NodeId) {
        if let Some(Node::File(file)) = self.nodes.get_mut(&node) {
            file.doubtful = true;
        }
    }

    pub(super) fn truncate(&mut self, path: &Path, len_bytes: u64) -> Result<()> {
        let node = self.find_file("truncate the file", path)?;
        let file = self.file_mut("truncate the file", node, path)?;
        match usize::try_from(len_bytes) {
            Ok(len) if len <= file.live.len() => {
                cut(file, len);
                Ok(())
            }
            _ => Err(os::too_short(path, file.live.len() as u64, len_bytes)),
        }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<()> {
        let (dir, old) = self.place("rename the file", from)?;
        let (_, new) = self.place("rename the file", to)?;
        let node = self.find("rename the file", from)?;
        let names = self.dir_mut("rename the file", dir, from)?;
        let taken = names.live.get(&new).copied();
        if old == new {
            return Ok(());
        }
        if taken.is_some_and(|taken| matches!(self.nodes.get(&taken), Some(Node::Dir(_)))) {
            return Err(refused("rename the file", from, io::ErrorKind::AlreadyExists.into()));
        }
        self.dir_mut("rename the file", dir, from)?.change(vec![(old, None), (new, Some(node))]);
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<()> {
        self.find_file("remove the file", path)?;
        let (dir, name) = self.place("remove the file", path)?;
        self.dir_mut("remove the file", dir, path)?.change(vec![(name, None)]);
        Ok(())
    }

    /// Removes a directory's entries one by one, innermost first, then itself.
    pub(super) fn remove_dir_all(&mut self, path: &Path) -> Result<()> {
        const WHAT: &str = "remove the directory";
        let node = self.find(WHAT, path)?;
        let names: Vec<(String, NodeId)> = self.dir_mut(WHAT, node, path)?.live.clone().into_iter().collect();
        for (name, child) in names {
            if matches!(self.nodes.get(&child), Some(Node::Dir(_))) {
                self.remove_dir_all(&path.join(&name))?;
            } else {
                self.dir_mut(WHAT, node, path)?.change(vec![(name, None)]);
            }
        }
        let (dir, name) = self.place(WHAT, path)?;
        self.dir_mut(WHAT, dir, path)?.change(vec![(name, None)]);
        Ok(())
    }

    pub(super) fn link(&mut self, from: &Path, to: &Path) -> Result<()> {
        let node = self.find_file("link the file", from)?;
        let (dir, name) = self.place("link the file", to)?;
        let names = self.dir_mut("link the file", dir, to)?;
        if names.live.contains_key(&name) {
            return Err(refused("link the file", to, io::ErrorKind::AlreadyExists.into()));
        }
        names.change(vec![(name, Some(node))]);
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> Result<()> {
        let node = self.find("sync the directory", path)?;
        let dir = self.dir_mut("sync the directory", node, path)?;
        dir.durable = dir.live.clone();
        dir.pending.clear();
        self.collect();
        Ok(())
    }

    pub(super) fn list(&mut self, path: &Path) -> Result<Vec<DirEntry>> {
        let node = self.find("list the directory", path)?;
        let names = self.dir_mut("list the directory", node, path)?.live.clone();
        let entry = |(name, node)| match self.nodes.get(&node) {
            Some(Node::File(file)) => DirEntry { name, is_dir: false, len: file.live.len() as u64 },
            _ => DirEntry { name, is_dir: true, len: 0 },
        };
        Ok(names.into_iter().map(entry).collect())
    }

    pub(super) fn exists(&self, path: &Path) -> Result<bool> {
        components(path).map(|names| self.walk(&names).is_some())
    }

    pub(super) fn find_file(&self, what: &str, path: &Path) -> Result<NodeId> {
        let node = self.find(what, path)?;
        match self.nodes.get(&node) {
            Some(Node::File(_)) => Ok(node),
            _ => Err(refused(what, path, io::ErrorKind::IsADirectory.into())),
        }
    }

    pub(super) fn content(&self, node: NodeId, path: &Path) -> Result<Arc<Vec<u8>>> {
        match self.nodes.get(&node) {
            Some(Node::File(file)) => Ok(Arc::clone(&file.live)),
            _ => Err(missing("read the file", path)),
        }
    }

    pub(super) fn lock(&mut self, path: &Path) -> Result<()> {
        match self.locks.get(path) {
            None => {}
            Some(0) => return Err(locked(path, Some(std::process::id()))),
            Some(_) => return Err(being_read(path)),
        }
        let node = self.create(path)?;
        self.append(node, path, format!("{}\n", std::process::id()).as_bytes())?;
        self.locks.insert(path.to_path_buf(), 0);
        Ok(())
    }

    /// `false` if the file is not there.
    pub(super) fn lock_shared(&mut self, path: &Path) -> Result<bool> {
        if !self.exists(path)? {
            return Ok(false);
        }
        match self.locks.get_mut(path) {
            Some(0) => return Err(locked(path, Some(std::process::id()))),
            Some(readers) => *readers += 1,
            None => drop(self.locks.insert(path.to_path_buf(), 1)),
        }
        Ok(true)
    }

    pub(super) fn unlock(&mut self, path: &Path) {
        match self.locks.get_mut(path) {
            Some(readers) if *readers > 1 => *readers -= 1,
            _ => drop(self.locks.remove(path)),
        }
    }

    /// Bytes that still fit, if there is a limit.
    pub(super) fn free_space(&self) -> Option<u64> {
        let capacity = self.capacity?;
        let named = self.reachable(|dir| dir.live.values().copied().collect());
        let used = |(id, node): (&NodeId, &Node)| match node {
            Node::File(file) if named.contains(id) || self.open.contains_key(id) => file.live.len() as u64,
            _ => 0,
        };
        Some(capacity.saturating_sub(self.nodes.iter().map(used).sum()))
    }

    pub(super) fn flip(&mut self, path: &Path, offset: u64, mask: u8) -> Result<()> {
        let node = self.find_file("damage the file", path)?;
        let file = self.file_mut("damage the file", node, path)?;
        let byte = usize::try_from(offset).ok().and_then(|at| Arc::make_mut(&mut file.live).get_mut(at));
        *byte.ok_or_else(|| Error::invalid("there is no such byte").at(path, offset))? ^= mask;
        Ok(())
    }

    pub(super) fn dump(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut dirs = vec![(PathBuf::new(), ROOT)];
        while let Some((path, node)) = dirs.pop() {
            for (name, child) in self.dir_ref(node).into_iter().flat_map(|dir| &dir.live) {
                match self.nodes.get(child) {
                    Some(Node::File(file)) => _ = files.insert(path.join(name), file.live.to_vec()),
                    _ => dirs.push((path.join(name), *child)),
                }
            }
        }
        files
    }

    /// Drops nodes that no name, durable or not, and no handle leads to.
    pub(super) fn collect(&mut self) {
        let named = self.reachable(|dir| {
            let pending = dir.pending.iter().flatten().filter_map(|(_, node)| *node);
            dir.live.values().chain(dir.durable.values()).copied().chain(pending).collect()
        });
        let open = &self.open;
        self.nodes.retain(|id, _| named.contains(id) || open.contains_key(id));
    }

    /// The nodes found from the root, where `names` lists those a directory leads to.
    fn reachable(&self, names: impl Fn(&DirNode) -> Vec<NodeId>) -> BTreeSet<NodeId> {
        let mut found = BTreeSet::from([ROOT]);
        let mut dirs = vec![ROOT];
        while let Some(node) = dirs.pop() {
            for child in self.dir_ref(node).map(&names).unwrap_or_default() {
                if found.insert(child) {
                    dirs.push(child);
                }
            }
        }
        found
    }

    fn add(&mut self, dir: NodeId, name: String, node: Node) -> NodeId {
        let id = self.next_node;
        self.next_node += 1;
        self.nodes.insert(id, node);
        if let Some(Node::Dir(dir)) = self.nodes.get_mut(&dir) {
            dir.change(vec![(name, Some(id))]);
        }
        id
    }

    fn walk(&self, names: &[String]) -> Option<NodeId> {
        names.iter().try_fold(ROOT, |node, name| self.dir_ref(node)?.live.get(name).copied())
    }

    fn find(&self, what: &str, path: &Path) -> Result<NodeId> {
        self.walk(&components(path)?).ok_or_else(|| missing(what, path))
    }

    /// The directory that a path lies in, which must exist, and the path's last name.
    fn place(&self, what: &str, path: &Path) -> Result<(NodeId, String)> {
        let mut names = components(path)?;
        let name = names.pop().ok_or_else(|| bad_path(path))?;
        let dir = self.walk(&names).ok_or_else(|| missing(what, path))?;
        Ok((dir, name))
    }

    fn dir_ref(&self, node: NodeId) -> Option<&DirNode> {
        match self.nodes.get(&node) {
            Some(Node::Dir(dir)) => Some(dir),
            _ => None,
        }
    }

    fn dir_mut(&mut self, what: &str, node: NodeId, path: &Path) -> Result<&mut DirNode> {
        match self.nodes.get_mut(&node) {
            Some(Node::Dir(dir)) => Ok(dir),
            _ => Err(refused(what, path, io::ErrorKind::NotADirectory.into())),
        }
    }

    fn file_mut(&mut self, what: &str, node: NodeId, path: &Path) -> Result<&mut FileNode> {
        match self.nodes.get_mut(&node) {
            Some(Node::File(file)) => Ok(file),
            _ => Err(refused(what, path, io::ErrorKind::IsADirectory.into())),
        }
    }
}

/// Shortens a file's live content, keeping the durable one aside if that was longer.
fn cut(file: &mut FileNode, len: usize) {
    if len < file.synced {
        if file.shadow.is_none() {
            let mut durable = file.live.to_vec();
            durable.truncate(file.synced);
            file.shadow = Some(Arc::new(durable));
        }
        file.synced = len;
    }
    Arc::make_mut(&mut file.live).truncate(len);
}

fn missing(what: &str, path: &Path) -> Error {
    refused(what, path, io::ErrorKind::NotFound.into())
}

/// The names along a path from the root.
fn components(path: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_str().ok_or_else(|| bad_path(path))?.to_string()),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return Err(bad_path(path)),
        }
    }
    Ok(names)
}
