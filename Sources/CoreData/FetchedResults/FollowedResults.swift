import Driftless
import Foundation

/// The objects of a fetch, kept up to date, whatever kind of controller shows them.
final class FollowedResults {
  /// Objects that follow each other and have one value of the section's key path.
  struct Section: NSFetchedResultsSectionInfo {
    let name: String
    let indexTitle: String?
    var members: [ManagedObject]
    /// What a fetch gave that gives no objects, in place of them.
    var others: [Any] = []

    var items: [Any] { others.isEmpty ? members : others }
    var numberOfObjects: Int { items.count }
    var objects: [Any]? { items }
  }

  let context: NSManagedObjectContext
  let sectionNameKeyPath: String?
  private(set) var sections: [Section]?
  /// Without one nothing is followed, as nobody would be told; the objects are those of the latest fetch then.
  weak var delegate: (any NSFetchedResultsControllerDelegate)? {
    didSet { followWhereWanted() }
  }
  /// Stands for the application's controller towards the delegate: that itself where it is of all results. Whoever made this
  /// holds it.
  weak var controller: NSFetchedResultsController<any NSFetchRequestResult>?
  /// What the application's controller says, which may be of a class of its own.
  var indexTitleOfSection: ((String) -> String?)?
  /// What is fetched since `begin()`.
  private var request = NSFetchRequest<NSManagedObject>()
  private var observer: (any NSObjectProtocol)?
  private var isUpdating = false
  /// Objects that changed and were not told of.
  private var changed: Set<ManagedObject> = []
  /// Whether something changed since the latest fetch.
  private var isDue = false
  /// Whether the delegate has no method of its own for what it was told last.
  var isAnsweredByDefault = false
  /// Whether the latest fetch gave objects, and the context has not forgotten all of them since.
  private var isCurrent = false

  init(_ context: NSManagedObjectContext, _ sectionNameKeyPath: String?) {
    self.context = context
    self.sectionNameKeyPath = sectionNameKeyPath
  }

  deinit {
    if let observer { NotificationCenter.default.removeObserver(observer) }
  }

  /// - Parameter asked: What is fetched from now on, whatever becomes of the request.
  func begin<Result>(_ asked: NSFetchRequest<Result>) throws {
    isUpdating = true
    defer { isUpdating = false }
    controller?.tell(of: asked)
    guard asked.resultType == .managedObjectResultType else { return try show(asked) }
    let taken = NSFetchRequest<NSManagedObject>()
    taken.take(asked)
    let made = try made(of: shown(taken))
    try checkOrder(of: made, taken)
    (request, sections, changed, isDue, isCurrent) = (taken, made, [], false, true)
    followWhereWanted()
    // A list that is made of snapshots has its first one by the fetch.
    guard let controller else { return }
    delegate?.controller(controller, didChangeContentWith: Self.snapshot(of: made))
  }

  /// Shows what gives no objects: that is not followed.
  private func show<Result>(_ asked: NSFetchRequest<Result>) throws {
    isCurrent = false
    followWhereWanted()
    let taken = NSFetchRequest<any NSFetchRequestResult>()
    taken.take(asked)
    let items = try context.fetch(taken)
    var shown: [Section] = []
    for item in items {
      let name = try name(ofSectionWith: item)
      if shown.last?.name != name || shown.isEmpty {
        let title = sectionNameKeyPath == nil ? nil : title(of: name)
        shown.append(Section(name: name, indexTitle: title, members: []))
      }
      shown[shown.count - 1].others.append(item)
    }
    if shown.isEmpty, sectionNameKeyPath == nil {
      shown = [Section(name: "", indexTitle: nil, members: [])]
    }
    sections = shown
  }

  private func name(ofSectionWith item: Any) throws -> String {
    guard let sectionNameKeyPath else { return "" }
    if let id = item as? NSManagedObjectID {
      return try made(of: [context.object(with: id)]).first?.name ?? ""
    }
    return (item as? NSDictionary)?[sectionNameKeyPath].map { "\($0)" } ?? ""
  }

  private func title(of section: String) -> String? {
    indexTitleOfSection.map { $0(section) } ?? indexTitle(of: section)
  }

  private func followWhereWanted() {
    guard isCurrent, delegate != nil else {
      if let observer { NotificationCenter.default.removeObserver(observer) }
      return observer = nil
    }
    guard observer == nil else { return }
    nonisolated(unsafe) weak let results = self  // a context posts where it and these are used
    observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
    ) { results?.contextDidChange($0) }
  }

  private static func snapshot(
    of sections: [Section], reloaded: [NSManagedObjectID] = []
  ) -> NSDiffableDataSourceSnapshotReference {
    NSDiffableDataSourceSnapshotReference(reloaded: reloaded) {
      sections.map { ($0.name, $0.members.map(\.objectID)) }
    }
  }

  func indexTitle(of section: String) -> String? {
    guard let delegate, let controller else { return section.first.map { String($0).uppercased() } }
    return delegate.controller(controller, sectionIndexTitleForSectionName: section)
  }

  /// What is fetched, by the values that the objects have here: in their sections are those whose values say so.
  private func shown(
    _ request: NSFetchRequest<NSManagedObject>
  ) throws -> [ManagedObject] {
    try context.asCocoaErrors {
      try context.base.shown(request.known(in: context)) { try context.fetch(request) }
    }
  }

  /// Each section once. Its objects may have come apart since the first fetch, which checks that: values changed by which nothing is sorted.
  private static func gathered(_ sections: [Section]) -> [Section] {
    var gathered: [Section] = []
    var places: [String: Int] = [:]
    for section in sections {
      if let place = places[section.name] {
        gathered[place].members += section.members
      } else {
        places[section.name] = gathered.count
        gathered.append(section)
      }
    }
    return gathered
  }

  /// - Throws: 134060 where the order does not keep the objects of a section together.
  private func checkOrder(
    of sections: [Section], _ request: NSFetchRequest<NSManagedObject>
  ) throws {
    var seen: Set<String> = []
    guard let sectionNameKeyPath,
      let torn = sections.first(where: { !seen.insert($0.name).inserted })
    else { return }
    let first = request.sortDescriptors?.first?.key ?? "nothing"
    throw CocoaError(
      .coreData,
      userInfo: [
        NSLocalizedDescriptionKey:
          "Sections are by \(sectionNameKeyPath), and the order, by \(first) first, does not keep the objects of the "
          + "section \"\(torn.name)\" together. Sort by \(sectionNameKeyPath) first, or by what gives the same order."
      ])
  }

  /// - Throws: what kept the section of an object from being known, such as a key that its entity does not have.
  private func made(of objects: [ManagedObject]) throws -> [Section] {
    guard let sectionNameKeyPath else {
      return [Section(name: "", indexTitle: nil, members: objects)]
    }
    return try context.asCocoaErrors {
      try context.base.accessing { sections(of: objects, by: sectionNameKeyPath) }
    }
  }

  private func sections(
    of objects: [ManagedObject], by sectionNameKeyPath: String
  ) -> [Section] {
    var sections: [Section] = []
    for object in objects {
      let name = object.value(forKeyPath: sectionNameKeyPath).map { "\($0)" } ?? ""
      if sections.last?.name == name {
        sections[sections.count - 1].members.append(object)
      } else {
        sections.append(Section(name: name, indexTitle: title(of: name), members: [object]))
      }
    }
    return sections
  }

  private func contextDidChange(_ notification: Notification) {
    // A delegate that went is told of nothing.
    guard delegate != nil else { return followWhereWanted() }
    if notification.userInfo?[NSInvalidatedAllObjectsKey] != nil {
      // What was fetched is no more: as by Core Data nothing is told of that, nor of what comes, until the next fetch.
      (changed, isDue, isCurrent) = ([], false, false)
      return followWhereWanted()
    }
    for key in [NSUpdatedObjectsKey, NSRefreshedObjectsKey] {
      changed.formUnion(notification.userInfo?[key] as? Set<ManagedObject> ?? [])
    }
    isDue = true
    // A fetch ends an event, and so may who is told: what changed then is taken along here.
    guard !isUpdating else { return }
    isUpdating = true
    defer { isUpdating = false }
    while isDue {
      // What cannot be fetched now leaves the results as they are.
      do { try update() } catch { return }
    }
  }

  private func update() throws {
    guard isCurrent, let old = sections else { return isDue = false }
    let objects = try shown(request)
    isDue = false
    let new = Self.gathered(try made(of: objects))
    let changes = ResultChanges(from: old, to: new, changed: changed)
    (sections, changed) = (new, [])
    if let delegate, let controller, !changes.isEmpty {
      tell(delegate, of: controller, changes, old, new)
    }
  }

  private func tell(
    _ delegate: any NSFetchedResultsControllerDelegate,
    of controller: NSFetchedResultsController<any NSFetchRequestResult>,
    _ changes: ResultChanges, _ old: [Section], _ new: [Section]
  ) {
    // As in Core Data, who takes snapshots is told of nothing else, nor who takes differences of results without sections.
    isAnsweredByDefault = false
    let updated = changes.rows.filter { $0.type == .update }.map(\.object.objectID)
    delegate.controller(
      controller, didChangeContentWith: Self.snapshot(of: new, reloaded: updated))
    guard isAnsweredByDefault else { return }
    if sectionNameKeyPath == nil, let difference = changes.difference {
      isAnsweredByDefault = false
      delegate.controller(controller, didChangeContentWith: difference)
      guard isAnsweredByDefault else { return }
    }
    delegate.controllerWillChangeContent(controller)
    for index in changes.deletedSections {
      var gone = old[index]
      gone.members = []
      delegate.controller(controller, didChange: gone, atSectionIndex: index, for: .delete)
    }
    for index in changes.insertedSections {
      delegate.controller(
        controller, didChange: new[index], atSectionIndex: index, for: .insert)
    }
    for row in changes.rows {
      delegate.controller(
        controller, didChange: row.object, at: row.origin, for: row.type, newIndexPath: row.place)
    }
    delegate.controllerDidChangeContent(controller)
  }
}

/// What a delegate is told when some sections become others.
struct ResultChanges {
  struct Row {
    let object: ManagedObject
    let type: NSFetchedResultsChangeType
    let origin: IndexPath?
    let place: IndexPath?

    init(_ row: SectionedChanges<ManagedObject>.Row) {
      (object, type, origin, place) =
        switch row {
        case .delete(let object, let origin): (object, .delete, origin.indexPath, nil)
        case .insert(let object, let place): (object, .insert, nil, place.indexPath)
        case .move(let object, let origin, let place):
          (object, .move, origin.indexPath, place.indexPath)
        case .update(let object, let origin, let place):
          (object, .update, origin.indexPath, place.indexPath)
        }
    }
  }

  /// The last one first, so that each index is good when it is told.
  let deletedSections: [Int]
  let insertedSections: [Int]
  let rows: [Row]

  var isEmpty: Bool { deletedSections.isEmpty && insertedSections.isEmpty && rows.isEmpty }

  init(
    from old: [FollowedResults.Section], to new: [FollowedResults.Section],
    changed: Set<ManagedObject>
  ) {
    func listed(
      _ sections: [FollowedResults.Section]
    ) -> [SectionedChanges<ManagedObject>.Section] {
      sections.map { .init(name: $0.name, items: $0.members) }
    }
    let changes = SectionedChanges(from: listed(old), to: listed(new), changed.contains)
    deletedSections = changes.deletedSections.reversed()
    insertedSections = changes.insertedSections
    rows = changes.rows.map(Row.init)
  }

  /// What came, went and moved in one section, or in none.
  var difference: CollectionDifference<NSManagedObjectID>? {
    CollectionDifference(
      rows.flatMap { row -> [CollectionDifference<NSManagedObjectID>.Change] in
        let (id, origin, place) = (row.object.objectID, row.origin?.last, row.place?.last)
        switch (row.type, origin, place) {
        case (.delete, let origin?, _):
          return [.remove(offset: origin, element: id, associatedWith: nil)]
        case (.insert, _, let place?):
          return [.insert(offset: place, element: id, associatedWith: nil)]
        case (.move, let origin?, let place?):
          return [
            .remove(offset: origin, element: id, associatedWith: place),
            .insert(offset: place, element: id, associatedWith: origin),
          ]
        default: return []
        }
      })
  }
}

extension FetchedResultsPlace {
  fileprivate var indexPath: IndexPath { IndexPath(indexes: [section, row]) }
}
