/// What leads from some sections of items to others: what fetched results tell of, whatever they show.
package struct SectionedChanges<Item: Hashable> {
  /// Items that follow each other under one name.
  package struct Section {
    let name: String
    let items: [Item]

    /// - Parameters:
    ///   - name: What the items have in common.
    ///   - items: None of them is in another section as well.
    package init(name: String, items: [Item]) {
      self.name = name
      self.items = items
    }
  }

  /// An item that came, went, moved or changed. Its first place is that before, the other one that after.
  package enum Row {
    case delete(Item, from: FetchedResultsPlace)
    case insert(Item, at: FetchedResultsPlace)
    /// It may have changed as well.
    case move(Item, from: FetchedResultsPlace, to: FetchedResultsPlace)
    case update(Item, from: FetchedResultsPlace, at: FetchedResultsPlace)
  }

  /// Indexes of sections that went, of those before. One that is at another place among those that stayed went as well, and came.
  package let deletedSections: [Int]
  /// Indexes of sections that came, of those after.
  package let insertedSections: [Int]
  /// What went first, then all others in their order.
  package private(set) var rows: [Row] = []

  /// - Parameter isChanged: Whether an item that was there before is another one now, at whatever place.
  package init(from old: [Section], to new: [Section], _ isChanged: (Item) -> Bool) {
    let stayed = Self.stayed(old, new)
    deletedSections = old.indices.filter { !stayed.contains(old[$0].name) }
    insertedSections = new.indices.filter { !stayed.contains(new[$0].name) }
    let (origins, places) = (Self.places(old), Self.places(new))
    for item in old.lazy.flatMap(\.items) where places[item] == nil {
      if let origin = origins[item] { rows.append(.delete(item, from: origin)) }
    }
    let moved = Self.moved(old, new, stayed, origins, isChanged)
    for item in new.lazy.flatMap(\.items) {
      guard let place = places[item] else { continue }
      guard let origin = origins[item] else {
        rows.append(.insert(item, at: place))
        continue
      }
      if moved.contains(item) {
        rows.append(.move(item, from: origin, to: place))
      } else if isChanged(item) {
        rows.append(.update(item, from: origin, at: place))
      }
    }
  }

  /// The names of sections that are in the order that they had among each other.
  private static func stayed(_ old: [Section], _ new: [Section]) -> Set<String> {
    let places = Dictionary(zip(old.lazy.map(\.name), 0...)) { first, _ in first }
    let common = new.filter { places[$0.name] != nil }
    let kept = OrderPlaces.kept(common.map { Int64(places[$0.name] ?? 0) }) { _ in false }
    return Set(kept.lazy.map { common[$0].name })
  }

  private static func places(_ sections: [Section]) -> [Item: FetchedResultsPlace] {
    var places: [Item: FetchedResultsPlace] = [:]
    for (section, content) in sections.enumerated() {
      for (row, item) in content.items.enumerated() {
        places[item] = FetchedResultsPlace(section: section, row: row)
      }
    }
    return places
  }

  /// Items in another section than before, or at another place among those that stayed in theirs: changed ones, as long as the
  /// unchanged ones are in the order that they had.
  private static func moved(
    _ old: [Section], _ new: [Section], _ kept: Set<String>,
    _ origins: [Item: FetchedResultsPlace],
    _ isChanged: (Item) -> Bool
  ) -> Set<Item> {
    var moved: Set<Item> = []
    for section in new {
      var stayed: [Item] = []
      var before: [Int64] = []
      for item in section.items {
        guard let origin = origins[item] else { continue }
        if old[origin.section].name == section.name, kept.contains(section.name) {
          stayed.append(item)
          before.append(Int64(origin.section) << 32 | Int64(origin.row))
        } else {
          moved.insert(item)
        }
      }
      let unmoved = Set(OrderPlaces.kept(before) { isChanged(stayed[$0]) })
      moved.formUnion(stayed.indices.lazy.filter { !unmoved.contains($0) }.map { stayed[$0] })
    }
    return moved
  }
}
