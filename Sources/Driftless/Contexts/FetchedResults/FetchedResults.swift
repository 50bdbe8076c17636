import Foundation

/// The objects of a fetch in sections, kept up to date as the context saves and merges.
///
/// ```swift
/// let results = try FetchedResults(request, context: context, sectionKeyPath: "author.name")
/// try results.performFetch()
/// for await update in results.updates() { show(update) }
/// ```
///
/// It belongs to its context and is used where the context is. Results are of what is saved: unsaved changes count once
/// they are, and objects without any show what the results were made of. Of a child context that is what its parent has, and what it saves into the parent. Updates tell of what the context saved, merged, rolled
/// back or refreshed; a context with ``ManagedObjectContext/automaticallyMergesChangesFromParent`` merges what others save,
/// what sync brings and what other processes write. ``PersistentContainer/fetchedResults(_:sectionKeyPath:)`` follows the store alone.
public final class FetchedResults<Object: ManagedObject> {
  /// What is asked for.
  public let fetchRequest: FetchRequest<Object>
  /// The context that fetches, and that the objects are in.
  public let context: ManagedObjectContext
  /// The key path whose values make the sections; nil for one section.
  public let sectionKeyPath: String?
  /// What the latest fetch found, in its order; empty before ``performFetch()``.
  public private(set) var fetchedObjects: [Object] = []
  /// What the latest fetch found, as IDs in sections.
  public private(set) var snapshot = FetchedResultsSnapshot([])
  /// What kept the latest update from being made, which leaves the results as they were.
  public private(set) var updateError: (any Error)?

  private var observers: [any NSObjectProtocol] = []
  private var listeners: [WeakListener] = []
  private var isUpdating = false
  /// Objects that changed since the listeners were told.
  private var changedIDs: Set<ManagedObjectID> = []

  /// - Throws: ``FetchError`` when the request has no sort key, or its first one is not the section's.
  public init(
    _ request: FetchRequest<Object>, context: ManagedObjectContext, sectionKeyPath: String? = nil
  ) throws(FetchError) {
    try request.checkSections(sectionKeyPath)
    fetchRequest = request
    self.context = context
    self.sectionKeyPath = sectionKeyPath
  }

  deinit {
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
    for listener in listeners { listener.listener?.end() }
  }

  /// Fetches, and follows the context from now on.
  ///
  /// - Throws: as `fetch(_:)` of the context. What was fetched before stays.
  public func performFetch() throws {
    (fetchedObjects, snapshot) = try fetchSnapshot()
    updateError = nil
    guard observers.isEmpty else { return tellListeners() }
    // What is there at first is no update.
    for listener in listeners { listener.listener?.begin(at: snapshot) }
    observe(.managedObjectContextDidSave)
    observe(.managedObjectContextObjectsDidChange)
  }

  /// The updates from now on. The stream ends with these results.
  ///
  /// What changes before somebody asks for the next update comes as one, which leads from what the last one told to what
  /// is there now: who is slow misses nothing, and nothing piles up.
  public func updates() -> AsyncStream<FetchedResultsUpdate> {
    let listener = ResultsListener(shown: snapshot)
    listeners.removeAll { $0.listener == nil }
    listeners.append(WeakListener(listener: listener))
    return AsyncStream { await listener.next() }
  }

  /// The object at a place of the snapshot; nil for a place that there is not.
  public func object(at place: FetchedResultsPlace) -> Object? {
    guard snapshot.sections.indices.contains(place.section),
      snapshot.sections[place.section].objectIDs.indices.contains(place.row)
    else { return nil }
    let before = snapshot.sections[..<place.section].reduce(0) { $0 + $1.objectIDs.count }
    return fetchedObjects[before + place.row]
  }

  private func observe(_ name: Notification.Name) {
    nonisolated(unsafe) weak let results = self  // a context posts where it and these are used
    observers.append(
      NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) {
        // Without these it is the end of an event, of changes that are not saved; without any, a save of nothing.
        guard let changes = $0.userInfo?["changes"] as? ContextChanges, !changes.isEmpty else {
          return
        }
        results?.contextDidChange(changes)
      })
  }

  private func contextDidChange(_ changes: ContextChanges) {
    guard !isUpdating else { return }
    isUpdating = true
    defer { isUpdating = false }
    changedIDs.formUnion(changes.updatedObjectIDs)
    do {
      let (objects, latest) = try fetchSnapshot()
      (fetchedObjects, snapshot) = (objects, latest)
      updateError = nil
      tellListeners()
    } catch {
      updateError = error
      changedIDs = changedIDs.filter(snapshot.contains)
    }
  }

  private func tellListeners() {
    listeners.removeAll { $0.listener == nil }
    for listener in listeners { listener.listener?.tell(snapshot, changedIDs) }
    changedIDs = []
  }

  /// How often rows of a store in memory, which has no states, are asked for again that others changed while their objects were
  /// read.
  private static var roundCount: Int { 16 }

  private func fetchSnapshot() throws -> ([Object], FetchedResultsSnapshot) {
    let found = try fetchOnce()
    guard context.parent == nil, !older(found).isEmpty else { return found }
    // Objects show what the snapshot was made of, but for what is changed here: one state, whatever is saved meanwhile.
    return try context.readingOneState {
      var (found, before) = (try fetchOnce(), FetchedResultsSnapshot([]))
      for _ in 0..<Self.roundCount {
        let older = older(found)
        // A store of another kind may know no versions.
        if older.isEmpty || found.1 == before { break }
        before = found.1
        for object in older { try context.refresh(object, mergeChanges: false) }
        found = try fetchOnce()
      }
      return found
    }
  }

  /// Objects without changes that show another version than the snapshot was made of.
  private func older(_ found: ([Object], FetchedResultsSnapshot)) -> [Object] {
    found.0.filter { !$0.hasChanges && $0.version != found.1.version(of: $0.objectID) }
  }

  private func fetchOnce() throws -> ([Object], FetchedResultsSnapshot) {
    let rows = try fetchRequest.snapshotRows(sectionKeyPath, in: context)
    let snapshot =
      if let parent = context.parent {
        try context.snapshot(rows, sectionKeyPath, in: parent)
      } else { FetchedResultsSnapshot(try context.fetchRows(rows), sectionKeyPath) }
    let found = snapshot.objectIDs.compactMap { id in
      context.place(of: id).flatMap {
        context.graph.object(for: $0.key, in: $0.plan, adopting: Object.self)
      }
    }
    try context.readFaults(found)
    let objects = try found.map { object in
      guard let object = object as? Object else { throw object.classMismatch(Object.self) }
      return object
    }
    return (objects, snapshot)
  }
}

extension FetchRequest {
  /// What a snapshot is made of.
  ///
  /// - Parameter context: What knows the entity of a class.
  func snapshotRows(
    _ sectionKeyPath: String?, in context: ManagedObjectContext
  ) throws(ObjectError) -> FetchRequest<FetchedRow> {
    var rows = FetchRequest<FetchedRow>(
      entityName: try context.shape(of: self).entity.name, predicate: predicate, sort: sort,
      limit: limit, offset: offset)
    rows.includesSubentities = includesSubentities
    rows.affectedStores = affectedStores
    rows.propertiesToFetch =
      ["SELF", .version] + (sectionKeyPath.map { [FetchedProperty($0)] } ?? [])
    return rows
  }

  func checkSections(_ keyPath: String?) throws(FetchError) {
    guard let first = sort.first else {
      throw FetchError(
        .invalidRequest, "Fetched results need an order", suggestion: "Set the request's sort.")
    }
    if let keyPath, first.keyPath != FetchSort(keyPath).keyPath {
      throw FetchError(
        .invalidRequest, "Sections are by \(keyPath), but the first sort key is another one",
        suggestion: "Sort by \(keyPath) first.")
    }
  }
}

extension ManagedObjectContext {
  /// What a request finds in the parent, whose unsaved changes are facts here.
  ///
  /// An object that the parent has not saved is known by its temporary ID, and is another row once it has another one.
  func snapshot(
    _ request: FetchRequest<FetchedRow>, _ sectionKeyPath: String?,
    in parent: ManagedObjectContext
  ) throws -> FetchedResultsSnapshot {
    var request = request
    request.propertiesToFetch = []
    request.predicate = newest(request.predicate)
    let section = sectionKeyPath.map { FetchExpression.keyPath(FetchSort($0).keyPath) }
    processPendingChanges()
    return FetchedResultsSnapshot(
      try ask(parent) { parent in
        try parent.objects(for: request).compactMap { above in
          guard let object = object(under: above), object.shape === above.shape else { return nil }
          let name =
            try section.map { try PredicateEvaluator(nulls: .unknown, source: above).name(of: $0) }
            ?? ""
          return (id: object.objectID, section: name, version: above.version)
        }
      })
  }
}

extension PredicateEvaluator {
  /// The value of an expression as a section is named after it.
  fileprivate func name(of expression: FetchExpression) throws(FetchError) -> String {
    try value(operand(expression), expression).sectionName
  }
}

extension FetchedResultsSnapshot {
  init(_ rows: [FetchedRow], _ sectionKeyPath: String?) {
    self.init(
      rows.compactMap { row in
        guard let id = row.objectID("SELF") else { return nil }
        let section = sectionKeyPath.flatMap { row[$0] }?.sectionName ?? ""
        let version = row[FetchedProperty.version.name, as: Int64.self] ?? 0
        return (id: id, section: section, version: version)
      })
  }
}

extension PropertyValue {
  /// As a section is named after it.
  fileprivate var sectionName: String {
    switch self {
    case .null: ""
    case .string(let text): text
    case .reference(let key): "\(key.key)"
    default: plain.map { "\($0)" } ?? ""
    }
  }
}
