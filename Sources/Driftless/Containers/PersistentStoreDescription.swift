public import Foundation
import Synchronization

/// How a container makes or opens one of its stores. It may be changed until the store is loaded.
///
/// ```swift
/// let cloud = PersistentStoreDescription(url: folder.appendingPathComponent("cloud.sqlite"))
/// cloud.configuration = "Cloud"
/// let session = PersistentStoreDescription()
/// session.type = .inMemory
/// session.configuration = "Session"
/// container.persistentStoreDescriptions = [cloud, session]
/// ```
public final class PersistentStoreDescription: Sendable {
  private struct Values {
    var type = StoreType.sqlite
    var url: URL?
    var configuration: String?
    var isAsynchronous = false
    var infersMapping = true
    var store = StoreOptions(migratesAutomatically: true)
    var given: [String: any Sendable] = [:]
  }

  private let values: Mutex<Values>

  private init(_ values: Values) { self.values = Mutex(values) }

  /// A description of an SQLite store without a file yet.
  public convenience init() { self.init(Values()) }

  /// A description of an SQLite store in a file.
  public convenience init(url: URL) {
    var values = Values()
    values.url = url
    self.init(values)
  }

  convenience init(url: URL?, options: StoreOptions) {
    var values = Values()
    values.type = url == nil ? .inMemory : .sqlite
    values.url = url
    values.store = options
    self.init(values)
  }

  /// A description of its own with the same content.
  public func copy() -> PersistentStoreDescription {
    PersistentStoreDescription(values.withLock { $0 })
  }

  /// In a file, unless set.
  @_disfavoredOverload
  public var type: StoreType {
    get { values.withLock { $0.type } }
    set { values.withLock { $0.type = newValue } }
  }
  /// The configuration of the model whose entities the store has; nil for all.
  public var configuration: String? {
    get { values.withLock { $0.configuration } }
    set { values.withLock { $0.configuration = newValue } }
  }
  /// The file. A store in memory needs none. `/dev/null`, where Core Data has SQLite without a file, is a store in memory.
  public var url: URL? {
    get { values.withLock { $0.url } }
    set { values.withLock { $0.url = newValue } }
  }
  /// Everything that a store can be opened with.
  public var storeOptions: StoreOptions {
    get { values.withLock { $0.store } }
    set { values.withLock { $0.store = newValue } }
  }
  /// Whether the store is opened for reading only.
  public var isReadOnly: Bool {
    get { storeOptions.isReadOnly }
    set { storeOptions.isReadOnly = newValue }
  }
  /// How long a read or a write waits for another process, in seconds.
  public var timeout: TimeInterval {
    get { TimeInterval(storeOptions.busyTimeoutMilliseconds) / 1000 }
    set {
      storeOptions.busyTimeoutMilliseconds = Int32(max(0, min(newValue * 1000, 0x7fff_ffff)))
    }
  }
  /// Whether ``PersistentContainer/loadPersistentStores(completionHandler:)`` returns before this store is loaded.
  public var shouldAddStoreAsynchronously: Bool {
    get { values.withLock { $0.isAsynchronous } }
    set { values.withLock { $0.isAsynchronous = newValue } }
  }
  /// Whether a store of another model is brought to the container's. True, unless set.
  public var shouldMigrateStoreAutomatically: Bool {
    get { storeOptions.migratesAutomatically }
    set { storeOptions.migratesAutomatically = newValue }
  }
  /// Whether such a migration may follow from the two models alone. True, unless set; false makes it fail where no mapping
  /// model is for the two.
  public var shouldInferMappingModelAutomatically: Bool {
    get { values.withLock { $0.infersMapping } }
    set { values.withLock { $0.infersMapping = newValue } }
  }

  // MARK: Options by Core Data's keys

  /// The options that were set by their keys.
  @_disfavoredOverload
  public var options: [String: any Sendable] { values.withLock { $0.given } }

  /// Whether the file is written anew as the store is opened.
  var vacuums: Bool { options[StoreOptionKey.vacuum].map(StoreOptionKey.isOn) ?? false }

  /// Sets an option by its key in Core Data, such as `NSReadOnlyPersistentStoreOption`; nil sets it back.
  ///
  /// A key or value that a store cannot have makes loading fail, with the key in the message.
  @_disfavoredOverload
  public func setOption(_ option: (any Sendable)?, forKey key: String) {
    values.withLock { $0.given[key] = option }
  }

  /// Sets a pragma of SQLite's: `synchronous` is the one that a store leaves to its user.
  @_disfavoredOverload
  public func setValue(_ value: (any Sendable)?, forPragmaNamed name: String) {
    values.withLock { values in
      var pragmas = values.given[StoreOptionKey.pragmas] as? [String: any Sendable] ?? [:]
      pragmas[name] = value
      values.given[StoreOptionKey.pragmas] = pragmas
    }
  }

  /// The pragmas that were set by name.
  @_disfavoredOverload
  public var sqlitePragmas: [String: any Sendable] {
    options[StoreOptionKey.pragmas] as? [String: any Sendable] ?? [:]
  }

  /// How the store is to be opened, and where: in memory without a URL, and at `/dev/null`.
  ///
  /// - Throws: `StoreError` with code `invalidArgument` for what cannot be.
  func resolved() throws -> (url: URL?, options: StoreOptions) {
    let values = values.withLock { $0 }
    var options = values.store
    if !values.infersMapping { options.infersMappingModel = false }
    // In one order: of two names of one thing the same counts in every process.
    for (key, value) in values.given.sorted(by: { $0.key < $1.key }) {
      try StoreOptionKey.apply(value, forKey: key, to: &options)
    }
    guard values.type == .sqlite || values.type == .inMemory else {
      throw StoreError(
        .invalidArgument, "There are no stores of type \(values.type.rawValue).",
        suggestion: "Use .sqlite or .inMemory. A binary or XML store of Core Data's is taken over "
          + "on a Mac first: migratePersistentStore(_:to:options:type:) to SQLite.")
    }
    let isFile = values.type == .sqlite && values.url?.path != "/dev/null"
    return (isFile ? values.url : nil, options)
  }
}

/// What a store is kept in.
public struct StoreType: Hashable, Sendable, RawRepresentable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// A file of SQLite's.
  public static let sqlite = StoreType(rawValue: "SQLite")
  /// Nothing but memory: it goes with the store.
  public static let inMemory = StoreType(rawValue: "InMemory")
}
