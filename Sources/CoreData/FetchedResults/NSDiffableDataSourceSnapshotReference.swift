public import Foundation

/// The identifiers of what a list shows, by section: of fetched results the IDs of objects, and the names of sections.
///
/// On Apple's systems it is a class of UIKit and AppKit, which lists take as it is.
open class NSDiffableDataSourceSnapshotReference: NSObject {
  private struct Section {
    var identifier: AnyHashable
    var items: [AnyHashable]
  }

  /// Where an item is.
  private struct Place {
    let section: Int
    /// Among all items.
    let index: Int
  }

  private var made: (() -> [(section: Any, items: [Any])])?
  private var known: [Section] = []
  /// By item, once it was asked for and as long as nothing changes.
  private var knownPlaces: [AnyHashable: Place]?
  /// Identifiers of what is to be shown anew, though it stays where it is.
  public private(set) var reloadedItemIdentifiers: [Any] = []

  /// A snapshot of nothing.
  public override init() { super.init() }

  /// A snapshot that is made once somebody looks at it.
  init(reloaded: [Any], _ content: @escaping () -> [(section: Any, items: [Any])]) {
    made = content
    reloadedItemIdentifiers = reloaded
  }

  private var content: [Section] {
    get {
      make()
      return known
    }
    _modify {
      make()
      knownPlaces = nil
      yield &known
    }
  }

  private func make() {
    guard let made else { return }
    self.made = nil
    known = made().map {
      Section(identifier: Self.key($0.section), items: $0.items.map(Self.key))
    }
  }

  private var places: [AnyHashable: Place] {
    if let knownPlaces { return knownPlaces }
    var places: [AnyHashable: Place] = [:]
    var index = 0
    for (section, part) in content.enumerated() {
      for item in part.items {
        // Of one that is there twice it is the first place.
        if places[item] == nil { places[item] = Place(section: section, index: index) }
        index += 1
      }
    }
    knownPlaces = places
    return places
  }

  /// What identifies is compared by value, where it has one.
  private static func key(_ identifier: Any) -> AnyHashable {
    if let key = identifier as? AnyHashable { return key }
    return ObjectIdentifier(identifier as AnyObject)
  }

  // MARK: Reading

  /// How many items there are.
  open var numberOfItems: Int { content.reduce(0) { $0 + $1.items.count } }
  /// How many sections there are.
  open var numberOfSections: Int { content.count }
  /// The sections, in order.
  open var sectionIdentifiers: [Any] { content.map(\.identifier.base) }
  /// All items, in order.
  open var itemIdentifiers: [Any] { content.flatMap { $0.items.map(\.base) } }

  /// How many items a section has. A section that there is not is a precondition failure.
  open func numberOfItems(inSection sectionIdentifier: Any) -> Int {
    section(sectionIdentifier).items.count
  }

  /// The items of a section, in order. A section that there is not is a precondition failure.
  open func itemIdentifiersInSection(withIdentifier sectionIdentifier: Any) -> [Any] {
    section(sectionIdentifier).items.map(\.base)
  }

  /// The section of an item; nil for an item that is not there.
  open func sectionIdentifier(forSectionContainingItemIdentifier itemIdentifier: Any) -> Any? {
    places[Self.key(itemIdentifier)].map { content[$0.section].identifier.base }
  }

  /// The place of an item among all; `NSNotFound` for one that is not there.
  open func index(ofItemIdentifier itemIdentifier: Any) -> Int {
    places[Self.key(itemIdentifier)]?.index ?? NSNotFound
  }

  /// The place of a section; `NSNotFound` for one that is not there.
  open func index(ofSectionIdentifier sectionIdentifier: Any) -> Int {
    content.firstIndex { $0.identifier == Self.key(sectionIdentifier) } ?? NSNotFound
  }

  private func section(_ identifier: Any) -> Section {
    let index = index(ofSectionIdentifier: identifier)
    precondition(index != NSNotFound, "the snapshot has no section \(identifier)")
    return content[index]
  }

  // MARK: Changing

  /// Adds sections at the end.
  open func appendSections(withIdentifiers sectionIdentifiers: [Any]) {
    content += sectionIdentifiers.map { Section(identifier: Self.key($0), items: []) }
  }

  /// Adds items at the end of the last section. Where there is no section, it is a precondition failure.
  open func appendItems(withIdentifiers identifiers: [Any]) {
    precondition(!content.isEmpty, "the snapshot has no section for items")
    content[content.count - 1].items += identifiers.map(Self.key)
  }

  /// Adds items at the end of a section. A section that there is not is a precondition failure.
  open func appendItems(
    withIdentifiers identifiers: [Any], intoSectionWithIdentifier sectionIdentifier: Any
  ) {
    let index = index(ofSectionIdentifier: sectionIdentifier)
    precondition(index != NSNotFound, "the snapshot has no section \(sectionIdentifier)")
    content[index].items += identifiers.map(Self.key)
  }

  /// Takes items out.
  open func deleteItems(withIdentifiers identifiers: [Any]) {
    let gone = Set(identifiers.map(Self.key))
    content = content.map {
      Section(identifier: $0.identifier, items: $0.items.filter { !gone.contains($0) })
    }
  }

  /// Takes sections out, with their items.
  open func deleteSections(withIdentifiers sectionIdentifiers: [Any]) {
    let gone = Set(sectionIdentifiers.map(Self.key))
    content = content.filter { !gone.contains($0.identifier) }
  }

  /// Takes all out.
  open func deleteAllItems() { content = [] }

  /// Has items shown anew.
  open func reloadItems(withIdentifiers identifiers: [Any]) {
    reloadedItemIdentifiers += identifiers
  }
}
