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
  /// Identifiers of sections that are to be shown anew.
  public private(set) var reloadedSectionIdentifiers: [Any] = []
  /// Identifiers of what is to be shown anew in the cell that it has.
  public private(set) var reconfiguredItemIdentifiers: [Any] = []

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
    content += newSections(sectionIdentifiers)
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

  /// Adds items before another one. An item that there is not is a precondition failure.
  open func insertItems(
    withIdentifiers identifiers: [Any], beforeItemWithIdentifier itemIdentifier: Any
  ) { insert(identifiers, at: itemIdentifier, 0) }

  /// Adds items behind another one. An item that there is not is a precondition failure.
  open func insertItems(
    withIdentifiers identifiers: [Any], afterItemWithIdentifier itemIdentifier: Any
  ) { insert(identifiers, at: itemIdentifier, 1) }

  /// Puts an item before another one, of whatever section. Items that there are not are a precondition failure.
  open func moveItem(
    withIdentifier fromIdentifier: Any, beforeItemWithIdentifier toIdentifier: Any
  ) { move(fromIdentifier, to: toIdentifier, 0) }

  /// Puts an item behind another one, of whatever section. Items that there are not are a precondition failure.
  open func moveItem(
    withIdentifier fromIdentifier: Any, afterItemWithIdentifier toIdentifier: Any
  ) { move(fromIdentifier, to: toIdentifier, 1) }

  private func insert(_ identifiers: [Any], at other: Any, _ distance: Int) {
    let key = Self.key(other)
    guard let section = places[key]?.section,
      let index = content[section].items.firstIndex(of: key)
    else { preconditionFailure("the snapshot has no item \(other)") }
    content[section].items.insert(contentsOf: identifiers.map(Self.key), at: index + distance)
  }

  private func move(_ identifier: Any, to other: Any, _ distance: Int) {
    let key = Self.key(identifier)
    precondition(places[key] != nil, "the snapshot has no item \(identifier)")
    guard key != Self.key(other) else { return }
    deleteItems(withIdentifiers: [identifier])
    insert([identifier], at: other, distance)
  }

  /// Adds sections before another one. A section that there is not is a precondition failure.
  open func insertSections(
    withIdentifiers sectionIdentifiers: [Any],
    beforeSectionWithIdentifier toSectionIdentifier: Any
  ) { insertSections(newSections(sectionIdentifiers), at: toSectionIdentifier, 0) }

  /// Adds sections behind another one. A section that there is not is a precondition failure.
  open func insertSections(
    withIdentifiers sectionIdentifiers: [Any],
    afterSectionWithIdentifier toSectionIdentifier: Any
  ) { insertSections(newSections(sectionIdentifiers), at: toSectionIdentifier, 1) }

  /// Puts a section, with its items, before another one. Sections that there are not are a precondition failure.
  open func moveSection(
    withIdentifier fromSectionIdentifier: Any,
    beforeSectionWithIdentifier toSectionIdentifier: Any
  ) { moveSection(fromSectionIdentifier, to: toSectionIdentifier, 0) }

  /// Puts a section, with its items, behind another one. Sections that there are not are a precondition failure.
  open func moveSection(
    withIdentifier fromSectionIdentifier: Any,
    afterSectionWithIdentifier toSectionIdentifier: Any
  ) { moveSection(fromSectionIdentifier, to: toSectionIdentifier, 1) }

  private func newSections(_ identifiers: [Any]) -> [Section] {
    identifiers.map { Section(identifier: Self.key($0), items: []) }
  }

  private func insertSections(_ sections: [Section], at other: Any, _ distance: Int) {
    let index = index(ofSectionIdentifier: other)
    precondition(index != NSNotFound, "the snapshot has no section \(other)")
    content.insert(contentsOf: sections, at: index + distance)
  }

  private func moveSection(_ identifier: Any, to other: Any, _ distance: Int) {
    let moved = section(identifier)
    guard moved.identifier != Self.key(other) else { return }
    content.removeAll { $0.identifier == moved.identifier }
    insertSections([moved], at: other, distance)
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

  /// Has items shown anew in the cells that they have.
  open func reconfigureItems(withIdentifiers identifiers: [Any]) {
    reconfiguredItemIdentifiers += identifiers
  }

  /// Has sections shown anew.
  open func reloadSections(withIdentifiers sectionIdentifiers: [Any]) {
    reloadedSectionIdentifiers += sectionIdentifiers
  }
}
