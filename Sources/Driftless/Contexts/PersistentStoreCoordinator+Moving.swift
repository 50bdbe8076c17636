public import Foundation

/// A store in another place: saved as another file, or found where its file was moved to.
extension PersistentStoreCoordinator {
  /// Saves a store as another one, which takes its place: from a file to a file, from a file into memory, from memory into
  /// a file. Objects, history, metadata, the state of sync and large values come along.
  ///
  /// ```swift
  /// let store = try coordinator.migratePersistentStore(draft, to: libraryURL)
  /// ```
  ///
  /// The new store has the identifier of the old, so object IDs and their URIs mean the same objects, and contexts go on
  /// with theirs: unsaved changes are saved into the new store. The old store is closed: streams of its changes end, and
  /// query generations of it can be read no more. Its file stays as it is. It and
  /// the new one are copies of each other: each may be opened and synced, but one coordinator takes only one of them.
  ///
  /// - Parameters:
  ///   - store: A store of this coordinator.
  ///   - url: Where no file is; nil for memory.
  ///   - options: Those of the new store; nil for those of the old.
  /// - Returns: The new store. The old one is of no more use: what reads or writes it gets `cannotOpen`.
  /// - Throws: ``ObjectError`` with the code `noStore` for a store of another coordinator; `StoreError`, and the coordinator
  ///   keeps the store that it has, and no new file is left.
  @discardableResult
  public func migratePersistentStore(
    _ store: PersistentStore, to url: URL?, options: StoreOptions? = nil
  ) throws -> PersistentStore {
    let plan = try plan(of: store)
    defer { tellIfMoved(store) }
    return try store.whileNobodyWrites {
      let copy = try store.copy(to: url, options: options ?? store.options)
      try move(plan, to: copy)
      store.close()
      return copy
    }
  }

  /// Goes on with a store whose file was moved: it is opened where it is now. Contexts keep their objects, as with
  /// ``migratePersistentStore(_:to:options:)``. What lies beside the file, its log and its large values, has to be moved with it.
  ///
  /// - Parameters:
  ///   - url: Where the store's file is now.
  ///   - store: A store of this coordinator, in a file. Nothing of it may be in use by another process.
  /// - Returns: The store as it is opened there. The former one is closed.
  /// - Throws: ``ObjectError`` with the code `noStore` for a store of another coordinator; `StoreError`: `invalidArgument` for
  ///   a store in memory, or where another store lies at `url`, or one that numbers its entities otherwise; `cannotOpen` when there is none. The coordinator keeps the store
  ///   that it has.
  @_disfavoredOverload
  @discardableResult
  public func setURL(_ url: URL, for store: PersistentStore) throws -> PersistentStore {
    let plan = try plan(of: store)
    guard let former = store.file.url else {
      throw StoreError(
        .invalidArgument, "A store in memory has no file.",
        suggestion: "Save it as one with migratePersistentStore.")
    }
    defer { tellIfMoved(store) }
    return try store.whileNobodyWrites(movedTo: url) {
      // What lies in the write-ahead log under the former name belongs into the file, wherever that is now.
      store.checkpointNow(movedTo: url)
      let (identifier, _) = try PersistentStore.metadata(at: url)
      guard identifier == store.identifier else {
        throw StoreError(
          .invalidArgument, "At \(url.path) lies another store.",
          suggestion: "Remove this store from the coordinator, and add the other.")
      }
      store.close()
      do {
        let found = try store.reopened(at: url)
        try move(plan, to: found)
        return found
      } catch {
        if let same = try? store.reopened(at: former) { try move(plan, to: same) }
        throw error
      }
    }
  }

  /// Tells observers, with no lock held, that another object stands for a store from now on.
  private func tellIfMoved(_ former: PersistentStore) {
    guard let present = persistentStore(withIdentifier: former.identifier), present !== former
    else { return }
    post(
      .persistentStoreCoordinatorStoresDidChange, added: [present], removed: [former],
      changed: [former, present])
  }

  private func move(_ plan: ObjectPlan, to store: PersistentStore) throws {
    do {
      try plan.move(to: store)
    } catch {
      store.close()
      throw error
    }
    store.notifications.addPoster(self)
    followStoresWhereWanted()
  }

  private func plan(of store: PersistentStore) throws -> ObjectPlan {
    if let plan = plan(identifier: store.identifier), plan.store === store { return plan }
    throw ObjectError(
      .noStore, "The store \(store.identifier) is not the coordinator's",
      suggestion: "Give one of persistentStores.")
  }
}

extension PersistentStoreCoordinator {
  /// Empties the store at a URL: see ``PersistentStore/destroy(at:)``. Where the coordinator has it attached, it is detached then: what
  /// is added at the URL next is a new store.
  ///
  /// - Throws: as ``PersistentStore/destroy(at:)``. A store whose file is another one by then, or none, is detached all the same.
  public func destroyPersistentStore(at url: URL) throws {
    let store = persistentStore(behind: url)
    do { try PersistentStore.destroy(at: url) } catch {
      if let store, store.isGone { remove(store) }
      throw error
    }
    if let store { remove(store) }
  }

  /// The attached store of a file. A link, and the file that it leads to, are one store.
  package func persistentStore(behind url: URL) -> PersistentStore? {
    let file = StorePath.resolved(url).standardizedFileURL
    return persistentStores.first {
      $0.url.map { StorePath.resolved($0).standardizedFileURL } == file
    }
  }

  /// Puts the content of one store in place of another's: see ``PersistentStore/replace(at:withStoreAt:)``.
  ///
  /// - Throws: as ``PersistentStore/replace(at:withStoreAt:)``.
  public func replacePersistentStore(at url: URL, withPersistentStoreFrom source: URL) throws {
    try PersistentStore.replace(at: url, withStoreAt: source)
  }
}

extension PersistentStore {
  /// Whether under its name there is no file, or that of another store or of none. What keeps the file from being looked at says
  /// neither.
  fileprivate var isGone: Bool {
    guard let url else { return false }
    let file = StorePath.resolved(url)
    guard FileManager.default.fileExists(atPath: file.path) else { return true }
    do { return try PersistentStore.metadata(at: file).identifier != identifier } catch {
      // The log beside it is this store's, and the file is not.
      guard let code = (error as? StoreError)?.code else { return false }
      return [.notAStore, .notADatabase, .strayLog].contains(code)
    }
  }
}
