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

  /// - Parameter rows: sorted so that the objects of a section follow each other. Where an order takes several names for one, such
  ///   as one that passes over upper case, each name is one section all the same, at the place of its first object.
  init(_ rows: [(id: ManagedObjectID, section: String, version: Int64)]) {
    var ids: [[ManagedObjectID]] = []
    var names: [String] = []
    var places: [String: Int] = [:]
    for row in rows {
      if row.section == names.last {
        ids[ids.count - 1].append(row.id)
      } else if let place = places[row.section] {
        ids[place].append(row.id)
      } else {
        places[row.section] = ids.count
        names.append(row.section)
        ids.append([row.id])
      }
    }
    sections = zip(names, ids).map { Section(name: $0, objectIDs: $1) }
    versions = Dictionary(rows.map { ($0.id, $0.version) }) { first, _ in first }
  }

  /// The version of the object's row; nil for one that is not among the objects.
  func version(of id: ManagedObjectID) -> Int64? { versions[id] }

  /// Whether the object is among the objects.
  func contains(_ id: ManagedObjectID) -> Bool { versions[id] != nil }

  /// What leads from an older snapshot to this one.
  /// - Parameter changed: objects that changed in a way that their versions do not tell.
  func update(
    from old: FetchedResultsSnapshot, changed: Set<ManagedObjectID> = []
  ) -> FetchedResultsUpdate {
    let changes = SectionedChanges(from: old.listed, to: listed) { id in
      changed.contains(id) || versions[id] != old.versions[id]
    }
    let rows = changes.rows.map { row -> FetchedResultsUpdate.RowChange in
      switch row {
      case .delete(let id, let origin): .delete(id, from: origin)
      case .insert(let id, let place): .insert(id, at: place)
      case .move(let id, let origin, let place): .move(id, from: origin, to: place)
      case .update(let id, _, let place): .update(id, at: place)
      }
    }
    return FetchedResultsUpdate(
      snapshot: self,
      sectionChanges: changes.deletedSections.map { .delete(name: old.sections[$0].name, at: $0) }
        + changes.insertedSections.map { .insert(name: sections[$0].name, at: $0) },
      rowChanges: rows)
  }

  private var listed: [SectionedChanges<ManagedObjectID>.Section] {
    sections.map { SectionedChanges.Section(name: $0.name, items: $0.objectIDs) }
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
