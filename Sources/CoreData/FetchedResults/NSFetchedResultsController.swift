import Driftless
public import Foundation

/// The objects of a fetch in sections, kept up to date as their context changes, for who shows them in a list.
///
/// It follows unsaved changes too: a change is told when the event ends that it is part of. It is used where its context is.
/// A delegate is told by a controller of all results that stands for this one, has its objects and places, and is equal to it:
/// Swift on Linux casts no controller to another kind of result. It is one for each controller, and a controller that is of all results itself.
open class NSFetchedResultsController<ResultType>: NSObject {
  /// What is asked for.
  public let fetchRequest: NSFetchRequest<ResultType>
  /// The context that fetches, and that the objects are in.
  public var managedObjectContext: NSManagedObjectContext { results.context }
  /// The key path whose values make the sections; nil for one section.
  public var sectionNameKeyPath: String? { results.sectionNameKeyPath }
  /// As it was given: sections are made of the objects of the fetch, and no cache is kept.
  public let cacheName: String?
  fileprivate private(set) var results: FollowedResults
  /// Told of by the delegate's methods; nil where that is this one, or stands for it.
  private var standIn: NSFetchedResultsController<any NSFetchRequestResult>?

  /// - Parameters:
  ///   - fetchRequest: Sorted by what makes the sections first.
  ///   - context: Fetches, and is followed.
  ///   - sectionNameKeyPath: The key path whose values make the sections; nil for one section.
  ///   - name: Kept, and without effect.
  public init(
    fetchRequest: NSFetchRequest<ResultType>, managedObjectContext context: NSManagedObjectContext,
    sectionNameKeyPath: String?, cacheName name: String?
  ) {
    self.fetchRequest = fetchRequest
    cacheName = name
    results = FollowedResults(context, sectionNameKeyPath)
    super.init()
    results.indexTitleOfSection = { [weak self] in self?.sectionIndexTitle(forSectionName: $0) }
    if let ofAll = self as? NSFetchedResultsController<any NSFetchRequestResult> {
      results.controller = ofAll
    } else {
      let standIn = NSFetchedResultsController<any NSFetchRequestResult>(standingFor: self)
      results.controller = standIn
      self.standIn = standIn
    }
  }

  /// One of the same results, whatever they are. Not a designated one, which a class of an application's would have to see.
  private convenience init<Other>(standingFor other: NSFetchedResultsController<Other>) {
    let request = NSFetchRequest<ResultType>()
    request.take(other.fetchRequest)
    self.init(
      fetchRequest: request, managedObjectContext: other.managedObjectContext,
      sectionNameKeyPath: other.sectionNameKeyPath, cacheName: other.cacheName)
    results = other.results
  }

  /// What is fetched from now on, for one that stands for another.
  func tell<Other>(of asked: NSFetchRequest<Other>) {
    if asked !== fetchRequest { fetchRequest.take(asked) }
  }

  /// The delegate has no method of its own for what it is told.
  fileprivate func noteDefaultAnswer() { results.isAnsweredByDefault = true }

  /// Whether both show the same results, as one does that stands for another.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? any ResultsOwner)?.results === results
  }

  open override var hash: Int { ObjectIdentifier(results).hashValue }

  /// Told of changes, of results that are objects. It is not held.
  open var delegate: (any NSFetchedResultsControllerDelegate)? {
    get { results.delegate }
    set { results.delegate = newValue }
  }

  /// Fetches, and follows the context from now on, as long as there is a delegate and the context is not reset. Later changes of
  /// `fetchRequest` count from the next call. Dictionaries, IDs and
  /// counts are as they were fetched: a context's changes are not followed for them.
  /// - Throws: as a context's `fetch(_:)`; 134060 for a request whose sort descriptors are nil, for a section key path that
  ///   leads to no property of the objects, and where the order does not keep the objects of a section together.
  open func performFetch() throws {
    guard fetchRequest.sortDescriptors != nil else {
      throw CocoaError(
        .coreData,
        userInfo: [NSLocalizedDescriptionKey: "Fetched results need sort descriptors."])
    }
    try results.begin(fetchRequest)
  }

  /// What the latest fetch found, in its order; nil before `performFetch()`.
  open var fetchedObjects: [ResultType]? {
    results.sections?.flatMap(\.items).compactMap { $0 as? ResultType }
  }

  /// The sections, in the order of the fetch; nil before `performFetch()`.
  open var sections: [any NSFetchedResultsSectionInfo]? { results.sections }

  /// The object at a place. A place that there is not is a precondition failure.
  open func object(at indexPath: IndexPath) -> ResultType {
    guard let sections = results.sections, sections.indices.contains(indexPath[0]),
      sections[indexPath[0]].items.indices.contains(indexPath[1]),
      let object = sections[indexPath[0]].items[indexPath[1]] as? ResultType
    else { preconditionFailure("There is no object at \(indexPath)") }
    return object
  }

  /// Where an object is; nil when it is not among the results.
  open func indexPath(forObject object: ResultType) -> IndexPath? {
    let other = object is ManagedObject ? nil : object as? AnyHashable
    for (section, content) in (results.sections ?? []).enumerated() {
      let row =
        content.members.firstIndex { $0 === object as? ManagedObject }
        ?? other.flatMap { other in content.others.firstIndex { $0 as? AnyHashable == other } }
      if let row { return IndexPath(indexes: [section, row]) }
    }
    return nil
  }

  /// A letter for each section.
  open var sectionIndexTitles: [String] { (results.sections ?? []).compactMap(\.indexTitle) }

  /// The letter of a section: by the delegate, else the first one of its name, in upper case. Sections have what an override
  /// gives.
  open func sectionIndexTitle(forSectionName sectionName: String) -> String? {
    results.indexTitle(of: sectionName)
  }

  /// The section of a letter: the one at its place in `sectionIndexTitles`, else the first one that has it; the given index, within the
  /// sections, when none has it.
  open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int {
    let sections = results.sections ?? []
    // Several may have the letter, and each is in the index for itself.
    let titled = sections.indices.filter { sections[$0].indexTitle != nil }
    if titled.indices.contains(sectionIndex), sections[titled[sectionIndex]].indexTitle == title {
      return titled[sectionIndex]
    }
    return sections.firstIndex { $0.indexTitle == title }
      ?? max(0, min(sectionIndex, sections.count - 1))
  }

  /// Does nothing: no cache is kept.
  open class func deleteCache(withName name: String?) {}
}

/// A controller, of whatever results.
private protocol ResultsOwner {
  var results: FollowedResults { get }
}

extension NSFetchedResultsController: ResultsOwner {}

/// A section of fetched results.
public protocol NSFetchedResultsSectionInfo {
  /// The value that its objects have in common, as text; empty without sections.
  var name: String { get }
  /// A letter for it.
  var indexTitle: String? { get }
  /// How many objects it has.
  var numberOfObjects: Int { get }
  /// The objects, in the order of the fetch.
  var objects: [Any]? { get }
}

/// Told of changes of fetched results. What it does not implement does nothing. One that takes snapshots is told in no other way, and
/// one that takes differences in no other of results without sections.
public protocol NSFetchedResultsControllerDelegate: AnyObject {
  /// Changes are about to be told.
  func controllerWillChangeContent(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>)
  /// A section came or went.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType)
  /// An object came, went, moved or changed. The first place is that before, the new one that after.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType,
    newIndexPath: IndexPath?)
  /// All changes were told.
  func controllerDidChangeContent(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>)
  /// What there is now, as a list takes it, with the sections' names and the objects' IDs.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference)
  /// All changes at once, of results without sections.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)
  /// A letter for a section.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String?
}

extension NSFetchedResultsControllerDelegate {
  public func controllerWillChangeContent(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>
  ) {}
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType
  ) {}
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType,
    newIndexPath: IndexPath?
  ) {}
  public func controllerDidChangeContent(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>
  ) {}
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
  ) { controller.noteDefaultAnswer() }
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) { controller.noteDefaultAnswer() }
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String? {
    sectionName.first.map { String($0).uppercased() }
  }
}
