public import Driftless
public import Foundation

extension PersistentStoreCoordinator {
  /// Opens the store that is described, or makes it, attaches it, and calls the block: before it returns, or later on
  /// another thread where the description says `shouldAddStoreAsynchronously`.
  @preconcurrency
  public func addPersistentStore(
    with storeDescription: NSPersistentStoreDescription,
    completionHandler block:
      @escaping @Sendable (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    let work: @Sendable () -> Void = {
      do {
        try self.attach(storeDescription)
        block(storeDescription, nil)
      } catch { block(storeDescription, error) }
    }
    if storeDescription.shouldAddStoreAsynchronously {
      // It may wait for other processes, which would keep tasks waiting on one of their threads.
      ContextQueue(label: "driftless.opening").async(work)
    } else {
      work()
    }
  }

  /// Opens a store, or makes it, and attaches it.
  /// - Throws: Errors of Core Data's domain: 134000 for another type and 134060 for another option than there is, 134080 and
  ///   others for what kept it from being opened.
  @discardableResult
  public func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try requireURL(storeURL, for: storeType)
    if let own = StoreClasses[storeType] {
      return try attachOwn(own, at: storeURL, known(configuration), options)
    }
    return try attach(.made(storeType, configuration, storeURL, options))
  }

  /// Opens a store, or makes it, and attaches it.
  /// - Throws: as the one that takes a name of the type.
  @discardableResult
  public func addPersistentStore(
    type: NSPersistentStore.StoreType, configuration: String? = nil, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try addPersistentStore(
      ofType: type.rawValue, configurationName: configuration, at: storeURL, options: options)
  }

  /// Mapping models are looked for in the main bundle's resources.
  @discardableResult
  func attach(_ description: PersistentStoreDescription) throws -> PersistentStore {
    if let own = StoreClasses[description.knownType.rawValue] {
      var options: [AnyHashable: Any] = description.options
      if description.isReadOnly { options[NSReadOnlyPersistentStoreOption] = NSNumber(value: true) }
      return try attachOwn(own, at: description.url, known(description.configuration), options)
    }
    try StoreTypes.check(description.knownType.rawValue)
    do {
      // Known before it is told that it has the store.
      StoreOwners.note(self)
      let described = description.copy()
      described.storeOptions.postsAsCoreData = true
      described.configuration = known(description.configuration)
      // As Core Data lays out new files; one that has tables keeps them, and in memory an object may be in several sets.
      described.storeOptions.holdsToManyInColumns = description.knownType != .inMemory
      if described.storeOptions.mappingFolders.isEmpty {
        described.storeOptions.mappingFolders = ManagedObjectModel.resourceFolders(in: nil)
      }
      return try addPersistentStore(with: described)
    } catch { throw storeError(error, at: description.url) }
  }

  /// Detaches the store and closes its file, which is whole then without a log, unless another process has it open. Objects
  /// that contexts have of it are forgotten when the context ends its event.
  /// - Throws: 134060 for a store of another coordinator.
  public func remove(_ store: NSPersistentStore) throws {
    guard persistentStores.contains(where: { $0 === store }) else {
      throw CocoaError(
        .coreData,
        userInfo: [NSLocalizedDescriptionKey: "\(store.identifier) is not the coordinator's."])
    }
    (store as? any OwnStore)?.willBeRemoved(from: self)
    detach(store)
    store.close()
  }

  /// The file of a store; `/dev/null` for one in memory.
  public func url(for store: NSPersistentStore) -> URL {
    store.url ?? URL(fileURLWithPath: "/dev/null")
  }

  /// Goes on with a store whose file was moved; one of an own class saves there from now on. False when there is no such store.
  @discardableResult
  public func setURL(_ url: URL, for store: NSPersistentStore) -> Bool {
    guard store is any OwnStore else { return (try? setKnownURL(url, for: store)) != nil }
    store.stand(for: url)
    return true
  }

  /// What a store says of itself, with its type and UUID.
  public func metadata(for store: NSPersistentStore) -> [String: Any] {
    (store as? any OwnStore)?.ownMetadata ?? knownMetadata(for: store)
  }

  /// Sets what a store says of itself, at once; of one of an own class with the next save. Values that no property list can have
  /// are a precondition failure.
  public func setMetadata(_ metadata: [String: Any], for store: NSPersistentStore) {
    if let own = store as? any OwnStore {
      own.ownMetadata = metadata
      return
    }
    do { try setKnownMetadata(metadata, for: store) } catch { preconditionFailure("\(error)") }
  }

  /// Sets what a store says of itself, at once; nil leaves nothing but the store's own.
  public func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    let given: [String: Any] = metadata ?? [:]
    setMetadata(given, for: store)
  }

  /// What the store in a file says of itself, without opening it for work.
  /// - Throws: 260 when there is no file, and what tells that it is no store.
  public class func metadataForPersistentStore(
    ofType storeType: String?, at url: URL
  ) throws -> [String: Any] {
    try Self.metadata(ofType: storeType, at: url)
  }

  /// What the store in a file says of itself, without opening it for work, for which options have no effect.
  /// - Throws: 260 when there is no file, and what tells that it is no store.
  public class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try Self.metadata(ofType: storeType, at: url)
  }

  /// What the store in a file says of itself, without opening it for work, for which options have no effect.
  /// - Throws: 260 when there is no file, and what tells that it is no store.
  public class func metadataForPersistentStore(
    type storeType: NSPersistentStore.StoreType, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try Self.metadata(ofType: storeType.rawValue, at: storeURL)
  }

  private class func metadata(ofType type: String?, at url: URL) throws -> [String: Any] {
    guard let own = type.flatMap({ StoreClasses[$0] }) else {
      return try PersistentStore.metadataForPersistentStore(with: url)
    }
    try requireFile(at: url)
    do { return try own.metadata(at: url) } catch { throw cocoaError(error) }
  }

  private class func setMetadata(
    _ metadata: [String: Any]?, ofType type: String?, at url: URL,
    _ options: [AnyHashable: Any]? = nil
  ) throws {
    do {
      if let own = type.flatMap({ StoreClasses[$0] }) {
        return try own.setMetadata(metadata, at: url)
      }
      if let type { try StoreTypes.check(type, options) }
      try PersistentStore.setMetadata(metadata, forPersistentStoreAt: url)
    } catch { throw cocoaError(error) }
  }

  /// Sets what the store in a file says of itself, at once.
  /// - Throws: 134000 for a type and 134060 for an option that there is not, and 134060 for values that no property list can have;
  ///   what kept the file from being written.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String?, at url: URL
  ) throws {
    try setMetadata(metadata, ofType: storeType, at: url)
  }

  /// Sets what the store in a file says of itself, at once.
  /// - Throws: 134000 for a type and 134060 for an option that there is not, and 134060 for values that no property list can have;
  ///   what kept the file from being written.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try setMetadata(metadata, ofType: storeType, at: url, options)
  }

  /// Sets what the store in a file says of itself, at once.
  /// - Throws: 134000 for a type and 134060 for an option that there is not, and 134060 for values that no property list can have;
  ///   what kept the file from being written.
  public class func setMetadata(
    _ metadata: [String: Any]?, type storeType: NSPersistentStore.StoreType, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try setMetadata(metadata, ofType: storeType.rawValue, at: storeURL, options)
  }

  // MARK: Files

  /// Saves a store as another one, which takes its place, and is opened with the options, else with those of the old.
  /// - Throws: 134060 for an option, 134010 for a type that there is not; what kept it from being done; the coordinator keeps the store that it has.
  @discardableResult
  public func migratePersistentStore(
    _ store: NSPersistentStore, to url: URL, options: [AnyHashable: Any]? = nil,
    withType storeType: String
  ) throws -> NSPersistentStore {
    do {
      guard storeType == NSSQLiteStoreType || storeType == NSInMemoryStoreType else {
        throw StoreError(
          .invalidArgument, "A store is not saved as one of type \(storeType).",
          suggestion: "Add a store of that type, and insert objects with the values.")
      }
      return try migratePersistentStore(
        store, to: storeType == NSInMemoryStoreType ? nil : url,
        options: try options.map { try store.knownOptions.with($0) })
    } catch { throw cocoaError(error) }
  }

  /// Saves a store as another one, which takes its place, and is opened with the options, else with those of the old.
  /// - Throws: 134060 for an option, 134010 for a type that there is not; what kept it from being done; the coordinator keeps the store that it has.
  @discardableResult
  public func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil,
    type storeType: NSPersistentStore.StoreType
  ) throws -> NSPersistentStore {
    try migratePersistentStore(store, to: storeURL, options: options, withType: storeType.rawValue)
  }

  /// Empties the store at a URL.
  /// - Throws: 134000 for a type and 134060 for an option that there is not; what kept it from being done.
  public func destroyPersistentStore(
    at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil
  ) throws {
    do {
      if StoreClasses[storeType] != nil { return try removeFile(at: url) }
      try StoreTypes.check(storeType, options)
      try destroyPersistentStore(at: url)
    } catch { throw cocoaError(error) }
  }

  /// Removes the file of a store of an own class, which is detached then.
  private func removeFile(at url: URL) throws {
    let store = persistentStore(behind: url)
    defer {
      // Whatever was thrown: without its file it is no store.
      if let store, !FileManager.default.fileExists(atPath: url.path) { try? remove(store) }
    }
    try FileManager.default.removeItem(at: url)
  }

  /// Empties the store at a URL.
  /// - Throws: 134000 for a type and 134060 for an option that there is not; what kept it from being done.
  public func destroyPersistentStore(
    at url: URL, type storeType: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil
  ) throws {
    try destroyPersistentStore(at: url, ofType: storeType.rawValue, options: options)
  }

  /// Puts the content of one store in place of another's.
  /// - Throws: 134000 for a type and 134060 for an option that there is not; what kept it from being done.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
    withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil,
    ofType storeType: String
  ) throws {
    do {
      if StoreClasses[storeType] != nil {
        try BinaryStoreFile.checkIsNoDatabase(sourceURL)
        return try Data(contentsOf: sourceURL).write(to: destinationURL, options: .atomic)
      }
      try StoreTypes.check(storeType, destinationOptions)
      try StoreTypes.check(storeType, sourceOptions)
      try replacePersistentStore(at: destinationURL, withPersistentStoreFrom: sourceURL)
    } catch { throw cocoaError(error) }
  }

  /// Puts the content of one store in place of another's.
  /// - Throws: 134000 for a type and 134060 for an option that there is not; what kept it from being done.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
    withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil,
    type sourceType: NSPersistentStore.StoreType
  ) throws {
    try replacePersistentStore(
      at: destinationURL, destinationOptions: destinationOptions,
      withPersistentStoreFrom: sourceURL, sourceOptions: sourceOptions,
      ofType: sourceType.rawValue)
  }

  // MARK: Work

  /// The ID that a URI in words names.
  public func managedObjectID(for string: String) -> NSManagedObjectID? {
    URL(string: string).flatMap(managedObjectID(forURIRepresentation:))
  }

  /// Carries a request out in a context, on the caller's thread.
  ///
  /// - Returns: An array of what a fetch request asks for; an empty one for a request to save, which saves the context; else what the context's
  ///   `execute(_:)` gives.
  /// - Throws: as the context's `fetch(_:)`, `save()` and `execute(_:)`.
  public func execute(
    _ request: NSPersistentStoreRequest, with context: NSManagedObjectContext
  ) throws -> Any {
    switch request {
    case let fetch as any ListedRequest: return try fetch.list(in: context)
    case is NSSaveChangesRequest:
      try context.save()
      return [Any]()
    default: return try context.execute(request)
    }
  }

  /// The place in the history after everything that stores have recorded; nil when one cannot be read.
  public func currentPersistentHistoryToken(
    fromStores stores: [Any]?
  ) -> NSPersistentHistoryToken? {
    currentPersistentHistoryToken(fromStores: stores?.compactMap { $0 as? PersistentStore })
  }

  /// The place in the history after everything that stores have recorded; nil when one cannot be read.
  public func currentPersistentHistoryToken(
    fromStores stores: [NSPersistentStore]?
  ) -> NSPersistentHistoryToken? {
    let asked = stores ?? persistentStores
    var token = PersistentHistoryToken()
    for store in asked {
      guard let part = try? store.currentHistoryToken() else { return nil }
      token.formUnion(part)
    }
    return NSPersistentHistoryToken(token)
  }

  /// Runs the block on the coordinator's queue, after what was sent before, and waits; at once when the caller is there.
  /// - Throws: what the block throws.
  @discardableResult
  public func performAndWait<T, E: Error>(_ block: () throws(E) -> T) throws(E) -> T {
    let queue = StoreOwners.queue(of: self)
    let outcome = queue.sync { () -> Result<T, E> in
      do throws(E) { return .success(try block()) } catch { return .failure(error) }
    }
    return try outcome.get()
  }

  /// Runs the block on the coordinator's queue, and gives what it gave.
  /// - Throws: what the block throws.
  @preconcurrency
  @discardableResult
  public func perform<T, E: Error>(
    _ block: @escaping @Sendable () throws(E) -> T
  ) async throws(E) -> sending T {
    let outcome = await withCheckedContinuation { continuation in
      StoreOwners.queue(of: self).async {
        let outcome: Result<T, E>
        do throws(E) { outcome = .success(try block()) } catch { outcome = .failure(error) }
        continuation.resume(returning: Carried(outcome))
      }
    }
    nonisolated(unsafe) let result = outcome.value  // the queue is done with it
    return try result.get()
  }

  /// Runs the block on the coordinator's queue, one block after the other. It does not wait.
  @preconcurrency
  public func perform(_ block: @escaping @Sendable () -> Void) {
    StoreOwners.queue(of: self).async(block)
  }
}
