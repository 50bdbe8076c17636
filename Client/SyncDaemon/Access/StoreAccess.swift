package import Driftless
package import DriftlessHTTP
package import DriftlessProtocol
package import DriftlessSync
package import Foundation
import Glibc
import ProgramStart

/// Opens a store and the way to its zone, for both programs alike.
package enum StoreAccess {
  /// Opens an existing store.
  ///
  /// - Parameters:
  ///   - reading: Whether the caller only reads: then a file that may not be written is good enough, and one that Core Data
  ///     wrote stays as it is.
  ///   - model: Nil for the model that the store carries.
  ///   - configuration: The configuration of the model that the store has; nil for all entities.
  package static func open(
    _ url: URL, reading: Bool = false, model: ManagedObjectModel? = nil,
    configuration: String? = nil
  ) throws -> PersistentStore {
    guard reading else {
      try requireFile(at: url)
      return try openForWriting(url, model: model, configuration: configuration)
    }
    return try look(at: url, model: model, configuration: configuration).store
  }

  /// Opens an existing store for who only reads, and says why it could not be written; nil where it can, or where the file
  /// is Core Data's still.
  package static func look(
    at url: URL, model: ManagedObjectModel? = nil, configuration: String? = nil
  ) throws -> (store: PersistentStore, obstacle: StoreError?) {
    try requireFile(at: url)
    func inspected() throws -> (store: PersistentStore, isOwn: Bool) {
      try inspecting(url, model, configuration) { ($0, try $0.hasOwnTables()) }
    }
    let manager = FileManager.default
    let mayWrite =
      manager.isWritableFile(atPath: url.path)
      && manager.isWritableFile(atPath: url.deletingLastPathComponent().path)
    let (store, isOwn) = try inspected()
    guard isOwn else { return (store, nil) }
    store.close()
    do {
      return (try openForWriting(url, model: model, configuration: configuration), nil)
    } catch let error as StoreError where !mayWrite || error.code == .diskFull {
      // Without space for a log nobody writes. What the file holds can be read.
      return (try inspected().store, error)
    }
  }

  /// How often a file that others open and close meanwhile is opened.
  private static let attemptsMax = 5

  /// Opens a file without changing anything in it or beside it.
  package static func inspect(
    _ url: URL, model: ManagedObjectModel? = nil, configuration: String? = nil
  ) throws -> PersistentStore {
    try inspecting(url, model, configuration) { $0 }
  }

  /// Opens a file without changing anything in it or beside it, and reads what the caller wants first.
  ///
  /// Nobody may have it open when that is looked at, and somebody a moment later: then it is looked at again.
  private static func inspecting<Value>(
    _ url: URL, _ model: ManagedObjectModel?, _ configuration: String?,
    _ body: (PersistentStore) throws -> Value
  ) throws -> Value {
    var attempts = 1
    while true {
      let options = StoreOptions.inspecting(url)
      do {
        return try body(
          PersistentStore.open(
            url: url, model: model, configuration: configuration, options: options))
      } catch let error as StoreError
        where options.isImmutable && error.code == .cannotOpen && attempts < attemptsMax
      {
        attempts += 1
      }
    }
  }

  package static let noStoreCode = "no-store"

  /// - Throws: `Failure` when there is no file, or none that can be seen.
  package static func requireFile(at url: URL) throws {
    if let error = PersistentStore.loneLog(at: url) { throw error }
    var status = stat()
    guard stat(url.path, &status) != 0 else { return }
    let reason = errno
    let isLink = lstat(url.path, &status) == 0
    var exit = ExitStatus.badData
    let look = "see where the path leads, and who may enter: namei -l \(url.path.shellWord)"
    let (message, suggestion) =
      switch reason {
      case ENOENT where !isLink:
        (
          "There is no store at \(url.path).",
          Self.waysToStore(at: url)
        )
      case ENOENT: ("\(url.path) is a symbolic link that leads nowhere.", look)
      case ELOOP: ("\(url.path) is a symbolic link that leads back to itself.", look)
      case ENOTDIR: ("A part of the path \(url.path) is a file, and no folder.", look)
      case EACCES: ("This user may not enter a folder on the way to \(url.path).", look)
      default:
        (
          "\(url.path) cannot be looked at: \(String(cString: strerror(reason))).",
          "check the path"
        )
      }
    if reason == EACCES { exit = .notAllowed }
    throw Failure(exit, code: noStoreCode, message, suggestion: suggestion)
  }

  /// What to do where a store is missing: it may be elsewhere, and a new one in its place is another one.
  private static func waysToStore(at url: URL) -> String {
    let new = "syncctl init --store \(url.path.shellWord) --model MODEL.xcdatamodeld"
    var status = stat()
    let sides = ["-driftless-token", "-driftless-file", "-driftless-lock"].map { url.path + $0 }
    guard let side = sides.first(where: { lstat($0, &status) == 0 }) else {
      return
        "check the path; where the store was moved, name the place where it is now; a new one is made by: \(new)"
    }
    return
      "there was one, since \(side) is there: put it back, or name the place where it is now, with what lies beside it "
      + "(\(url.lastPathComponent)-*); a new one, which is another store, is made by: \(new)"
  }

  /// Refuses a store whose name leaves no room for the names of what lies beside it.
  package static func requireName(_ path: String) throws(Failure) {
    // The longest is a draft of the token: with the number of a process.
    let most = Int(NAME_MAX) - "-driftless-token.4194304".utf8.count
    let count = URL(fileURLWithPath: path).lastPathComponent.utf8.count
    guard count > most else { return }
    throw Failure(
      .badData, code: "long-name",
      "The name of \(path) has \(count) bytes; what lies beside a store has longer names, so it has at most \(most).",
      suggestion: "give the store a shorter name")
  }

  private static func openForWriting(
    _ url: URL, model: ManagedObjectModel?, configuration: String?
  ) throws -> PersistentStore {
    try PersistentStore.open(
      url: url, model: model, configuration: configuration,
      options: StoreOptions(createsFile: false))
  }

  /// Refuses a store whose application has rules for conflicts: these programs know none, and would let the later edit stand
  /// where the application decides otherwise.
  ///
  /// - Throws: `Failure`, unless somebody said that the store is to be synced all the same.
  package static func requireRules(of store: PersistentStore, at url: URL) throws {
    guard let first = SyncEngine.customRules(of: store).first,
      try !SyncEngine.syncsWithoutRules(store)
    else { return }
    let home = try? SyncEngine.home(of: store)
    let (server, zone) = (home?.server.absoluteString ?? "URL", home?.zone ?? "NAME")
    throw Failure(
      .failed, code: "unknown-rule",
      "Conflicts of \(first.property) are settled by the rule \(first.rule) of the store's application, "
        + "which this program does not have.",
      suggestion:
        "let the application sync the store; or enroll it with --without-rules, and the later "
        + "edit stands where this program meets a conflict: syncctl enroll --store \(url.path.shellWord) "
        + "--server \(server.shellWord) --zone \(zone.shellWord) --without-rules"
    )
  }

  /// The way of an enrolled store to its zone, with the token and the authorities as their files have them now.
  package struct Way: Equatable {
    package let server: URL
    package let zone: String
    private let token: String
    private let authorities: URL?
    private let certificates: String?
    private let client: URL?
    private let clientCertificate: String?
    private let name: ReplicaName?
    /// What encrypted properties are sealed with; nil for a store without.
    package let keys: KeyRing?
    /// Which large values are fetched when somebody asks for them; nil for what the store says.
    private let values: ValueFetching?

    /// - Parameters:
    ///   - tokenFile: Nil for the token beside the store.
    ///   - authorityFile: Nil for the authorities beside the store, or those of the system.
    ///   - clientFile: Nil for the certificate of this host beside the store, where there is one.
    ///   - keys: Nil for the key file beside the store, where there is one.
    ///   - values: Nil for what the store says.
    package init(
      of store: PersistentStore, at url: URL, tokenFile: URL? = nil, authorityFile: URL? = nil,
      clientFile: URL? = nil, keys: KeySource? = nil, values: ValueFetching? = nil
    ) throws {
      self.values = values
      guard let home = try SyncEngine.home(of: store) else {
        throw Failure(
          .failed, code: "not-enrolled", "\(url.path) is not enrolled with a server.",
          suggestion: "syncctl enroll --store \(url.path.shellWord) --server URL --zone NAME")
      }
      (server, zone) = home
      name = try SyncEngine.name(of: store) ?? ReplicaName.ofHost
      try StoreAccess.requireRules(of: store, at: url)
      token = try TokenFile.read(tokenFile ?? TokenFile.url(forStore: url))
      // What the store keeps goes before the environment's, which may be meant for other programs.
      authorities = authorityFile ?? AuthorityFile.kept(forStore: url)
      // Looked at here: libcurl would wait for a pipe, and takes what is whole of a file that was cut.
      certificates = try authorities.map { try AuthorityFile.read($0) }
      client = clientFile ?? ClientCertificateFile.kept(forStore: url)
      clientCertificate = try client.map { try ClientCertificateFile.read($0) }
      // A key that is meant to be there and cannot be read is told, before anything goes on without it.
      self.keys = try (keys ?? KeySource.of(store: url))?.read()
    }

    /// How an engine works on the store.
    package var options: SyncOptions {
      var options = SyncOptions()
      options.keys = keys
      options.values = values
      options.trimsMemory = ProgramHeap.trim
      return options
    }

    package func transport() throws -> CurlTransport {
      var options = TransportOptions()
      // Enrolment refused plain HTTP to another host unless it was allowed in so many words.
      options.allowsPlaintext = true
      options.replicaName = name
      if let authorities { options.certificateAuthorityFile = authorities.path }
      options.clientCertificateFile = client?.path
      return try CurlTransport(server: server, zone: zone, token: token, options: options)
    }
  }

}
