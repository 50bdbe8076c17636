/// Where an object stands in fetched results.
public struct FetchedResultsPlace: Hashable, Sendable {
  /// The index of the section, from 0 on.
  public let section: Int
  /// The index within the section, from 0 on.
  public let row: Int

  /// - Parameters:
  ///   - section: The index of the section, from 0 on.
  ///   - row: The index within the section, from 0 on.
  public init(section: Int, row: Int) {
    self.section = section
    self.row = row
  }
}

/// What a fetch found at one time, in sections.
public struct FetchedResultsSnapshot: Hashable, Sendable {
  /// Objects that follow each other and have one value of the section's key path.
  public struct Section: Hashable, Sendable {
    /// The value of the section's key path as text; empty for none, and for results without sections.
    public let name: String
    /// The objects, in the order of the fetch.
    public let objectIDs: [ManagedObjectID]
  }

  /// The sections, in the order of the fetch; at most one where there is no key path.
  public let sections: [Section]
  /// What tells whether an object changed since.
  private let versions: [ManagedObjectID: Int64]

  /// The objects of all sections.
  public var objectIDs: [ManagedObjectID] { sections.flatMap(\.objectIDs) }

  /// - Parameter rows: sorted so that the objects of a section follow each other.
  init(_ rows: [(id: ManagedObjectID, section: String, version: Int64)]) {
    var sections: [Section] = []
    var ids: [ManagedObjectID] = []
    for (index, row) in rows.enumerated() {
      ids.append(row.id)
      if index + 1 == rows.count || rows[index + 1].section != row.section {
        sections.append(Section(name: row.section, objectIDs: ids))
        ids = []
      }
    }
    self.sections = sections
    versions = Dictionary(rows.map { ($0.id, $0.version) }) { first, _ in first }
  }

  /// Whether the object is among the objects.
  func contains(_ id: ManagedObjectID) -> Bool { versions[id] != nil }

  /// What leads from an older snapshot to this one.
  /// - Parameter changed: objects that changed in a way that their versions do not tell.
  func update(
    from old: FetchedResultsSnapshot, changed: Set<ManagedObjectID> = []
  ) -> FetchedResultsUpdate {
    let (before, after) = (old.places, places)
    var rows: [FetchedResultsUpdate.RowChange] = []
    for id in old.objectIDs {
      if let place = before[id], after[id] == nil { rows.append(.delete(id, from: place)) }
    }
    func isChanged(_ id: ManagedObjectID) -> Bool {
      changed.contains(id) || versions[id] != old.versions[id]
    }
    let moved = movedObjects(from: old, before, after, isChanged)
    for id in objectIDs {
      guard let place = after[id] else { continue }
      guard let origin = before[id] else {
        rows.append(.insert(id, at: place))
        continue
      }
      if moved.contains(id) {
        rows.append(.move(id, from: origin, to: place))
      } else if isChanged(id) {
        rows.append(.update(id, at: place))
      }
    }
    return FetchedResultsUpdate(
      snapshot: self, sectionChanges: sectionChanges(from: old), rowChanges: rows)
  }

  private var places: [ManagedObjectID: FetchedResultsPlace] {
    var places: [ManagedObjectID: FetchedResultsPlace] = [:]
    for (section, content) in sections.enumerated() {
      for (row, id) in content.objectIDs.enumerated() {
        places[id] = FetchedResultsPlace(section: section, row: row)
      }
    }
    return places
  }

  /// Objects in another section than before, or at another place among those that stayed in theirs: changed ones, as long as the
  /// unchanged ones are in the order that they had.
  private func movedObjects(
    from old: FetchedResultsSnapshot, _ before: [ManagedObjectID: FetchedResultsPlace],
    _ after: [ManagedObjectID: FetchedResultsPlace], _ isChanged: (ManagedObjectID) -> Bool
  ) -> Set<ManagedObjectID> {
    func name(_ id: ManagedObjectID, _ all: [ManagedObjectID: FetchedResultsPlace], _ of: Self)
      -> String?
    {
      all[id].map { of.sections[$0.section].name }
    }
    var moved: Set<ManagedObjectID> = []
    for section in sections {
      var stayed: [ManagedObjectID] = []
      for id in section.objectIDs {
        guard let origin = name(id, before, old) else { continue }
        if origin == section.name { stayed.append(id) } else { moved.insert(id) }
      }
      let origins = stayed.map { id in
        before[id].map { Int64($0.section) << 32 | Int64($0.row) } ?? 0
      }
      let kept = Set(OrderPlaces.kept(origins) { isChanged(stayed[$0]) })
      moved.formUnion(stayed.indices.lazy.filter { !kept.contains($0) }.map { stayed[$0] })
    }
    return moved
  }

  private func sectionChanges(
    from old: FetchedResultsSnapshot
  ) -> [FetchedResultsUpdate.SectionChange] {
    let (before, after) = (old.sections.map(\.name), sections.map(\.name))
    let (former, present) = (Set(before), Set(after))
    return before.indices.filter { !present.contains(before[$0]) }
      .map { .delete(name: before[$0], at: $0) }
      + after.indices.filter { !former.contains(after[$0]) }
      .map { .insert(name: after[$0], at: $0) }
  }
}

/// How fetched results changed: sections first, then rows. Places of deletes and origins of moves are those before,
/// all others those after.
public struct FetchedResultsUpdate: Hashable, Sendable {
  /// A section that came or went.
  public enum SectionChange: Hashable, Sendable {
    case delete(name: String, at: Int)
    case insert(name: String, at: Int)
  }

  /// An object that came, went, moved or changed.
  public enum RowChange: Hashable, Sendable {
    case delete(ManagedObjectID, from: FetchedResultsPlace)
    case insert(ManagedObjectID, at: FetchedResultsPlace)
    /// The object may have changed as well.
    case move(ManagedObjectID, from: FetchedResultsPlace, to: FetchedResultsPlace)
    case update(ManagedObjectID, at: FetchedResultsPlace)
  }

  /// The results after the change.
  public let snapshot: FetchedResultsSnapshot
  /// What became of the sections.
  public let sectionChanges: [SectionChange]
  /// What became of the objects.
  public let rowChanges: [RowChange]

  /// Whether nothing changed.
  public var isEmpty: Bool { sectionChanges.isEmpty && rowChanges.isEmpty }
}
