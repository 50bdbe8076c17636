import Driftless
import DriftlessProtocol
package import DriftlessSync
package import Foundation
import Glibc
import ProgramStart

/// What the daemon is told to do: a JSON file, which may have comments.
///
/// ```json
/// {
///   "socket": "/run/driftless/syncd.sock",
///   "logLevel": "info",
///   "retrySecondsMax": 300,
///   "stores": [
///     { "path": "/var/lib/kiosk/shop.sqlite" },
///     { "path": "/var/lib/kiosk/log.sqlite", "tokenFile": "/etc/driftless/log-token",
///       "authorityFile": "/etc/driftless/authority.pem" }
///   ]
/// }
/// ```
///
/// Relative paths are taken from the file's own folder. A name that is not known, or that an object
/// has twice, is refused, so that no typing mistake is silently ignored.
package struct DaemonConfiguration: Hashable, Sendable {
  package struct Store: Hashable, Sendable {
    /// The store's file, with symbolic links resolved.
    package var path: URL
    /// Where its token is, when not beside the store.
    package var tokenFile: URL?
    /// The authorities that it trusts, when they are not beside the store.
    package var authorityFile: URL?
    /// The certificate by which this host shows itself, and its key, when they are not beside the store.
    package var clientCertificateFile: URL?
    /// The keys of its encrypted properties, when they are not beside the store.
    package var keyFile: URL?
    /// A command of the shell that prints them.
    package var keyCommand: String?
    /// Which large values are fetched when somebody asks for them; nil for what the store says.
    package var values: ValueFetching?
    /// The path as it was given, when symbolic links are in it.
    package var link: URL?

    /// Where the links of its path lead by now, when that is another file than the store's.
    var otherTarget: URL? {
      guard let target = link?.resolvingSymlinksInPath(), target != path else { return nil }
      return target
    }
  }

  /// The path of the unix socket; nil for the usual place.
  package var socket: String?
  /// What is logged: trace, debug, info, notice, warning, error or critical.
  package var logLevel: String
  /// The longest pause between attempts, in seconds.
  package var retrySecondsMax: Double
  package var stores: [Store]

  /// Reads and checks a configuration file.
  ///
  /// - Throws: `Failure` that names the file and the setting that is wrong.
  package init(contentsOf file: URL) throws(Failure) {
    let (configuration, complaints) = Self.read(file)
    if var first = complaints.first {
      if complaints.count > 1 {
        first.message =
          "\(first.message.dropLast()); and \(complaints.count - 1) more (syncd --check)."
      }
      throw first
    }
    guard let configuration else {
      throw Failure(
        .badData, code: "configuration", "\(file.path) cannot be read.", suggestion: "look at it")
    }
    self = configuration
  }

  /// What a file says, as far as it can be read, and all that is wrong with it.
  package static func read(
    _ file: URL
  ) -> (configuration: DaemonConfiguration?, complaints: [Failure]) {
    do throws(SettingsComplaint) {
      let reader = SettingsReader()
      let configuration = Self(try SettingsNode.read(file.path), file: file, reader)
      let complaints = reader.complaints.sorted { ($0.line ?? 0) < ($1.line ?? 0) }
      return (configuration, complaints.map { failure($0, file: file) })
    } catch {
      return (nil, [failure(error, file: file)])
    }
  }

  private init(_ node: SettingsNode, file: URL, _ reader: SettingsReader) {
    let root = reader.object(node, "the file", DaemonSettings.all, isFile: true)
    let folder = file.deletingLastPathComponent()
    socket = root.path("socket", in: folder)?.path
    if let socket, socket.utf8.count > UnixSocket.pathBytesMax {
      reader.complain(
        root.line(of: "socket"), "socket",
        "is a path of \(socket.utf8.count) bytes, \(socket); a socket's has at most "
          + "\(UnixSocket.pathBytesMax)")
    }
    logLevel = root.choice("logLevel") ?? "info"
    retrySecondsMax = root.number("retrySecondsMax") ?? 300
    stores = Self.stores(of: root, in: folder, reader)
  }

  private static func stores(
    of root: SettingsObject, in folder: URL, _ reader: SettingsReader
  ) -> [Store] {
    guard case .array(let entries)? = root.node("stores")?.value, !entries.isEmpty else {
      reader.complain(
        root.line(of: "stores"), "stores", "is an array of at least one store")
      return []
    }
    var stores: [Store] = []
    var paths: Set<URL> = []
    for entry in entries {
      let fields = reader.object(entry, "a store", DaemonSettings.store)
      let given = fields.path("path", in: folder)
      guard let given, case let url = given.resolvingSymlinksInPath() else {
        if fields.node("path") == nil {
          reader.complain(entry.line, "path", "is missing in a store")
        }
        continue
      }
      guard paths.insert(url).inserted else {
        reader.complain(entry.line, "stores", "has \(url.path) twice")
        continue
      }
      let store = Store(
        path: url, tokenFile: fields.path("tokenFile", in: folder),
        authorityFile: fields.path("authorityFile", in: folder),
        clientCertificateFile: fields.path("clientCertificateFile", in: folder),
        keyFile: fields.path("keyFile", in: folder), keyCommand: fields.text("keyCommand"),
        values: fields.choice("values").flatMap(ValueFetching.init(rawValue:)),
        link: given == url ? nil : given)
      if store.keyFile != nil, store.keyCommand != nil {
        reader.complain(
          fields.line(of: "keyCommand"), "keyCommand",
          "stands beside keyFile: one of them is enough")
      }
      stores.append(store)
    }
    return stores
  }

  private static func failure(_ complaint: SettingsComplaint, file: URL) -> Failure {
    Failure(
      .badData, code: "configuration", complaint.text(in: file.path) + ".",
      suggestion: "correct the file, then send SIGHUP to syncd or start it again")
  }

  /// What a person has to mend before all of the stores sync: a socket's path that another file has, files of authorities, tokens
  /// and keys that are none, and files that are no stores.
  package var faults: [Failure] {
    var faults = socketFault.map { [$0] } ?? []
    func note(_ files: [URL], _ read: (URL) throws -> Void) {
      for file in Set(files).sorted(by: { $0.path < $1.path }) {
        do { try read(file) } catch { faults.append(Failure(error)) }
      }
    }
    note(stores.compactMap(\.authorityFile)) { _ = try AuthorityFile.read($0) }
    note(stores.compactMap(\.clientCertificateFile)) { _ = try ClientCertificateFile.read($0) }
    note(stores.compactMap(\.tokenFile)) { _ = try TokenFile.read($0) }
    note(stores.compactMap(\.keyFile)) { _ = try KeyFile.read($0) }
    for store in stores where FileManager.default.fileExists(atPath: store.path.path) {
      do {
        guard try isReplica(store) else { continue }
        // What lies beside it, where no other file is named.
        if store.tokenFile == nil {
          note([TokenFile.url(forStore: store.path)]) { _ = try TokenFile.read($0) }
        }
        note(
          [store.authorityFile == nil ? AuthorityFile.kept(forStore: store.path) : nil].compactMap(
            \.self)
        ) {
          _ = try AuthorityFile.read($0)
        }
        let certificate =
          store.clientCertificateFile == nil
          ? ClientCertificateFile.kept(forStore: store.path) : nil
        note([certificate].compactMap(\.self)) { _ = try ClientCertificateFile.read($0) }
        let keys =
          store.keyFile == nil && store.keyCommand == nil
          ? KeyFile.kept(forStore: store.path) : nil
        note([keys].compactMap(\.self)) { _ = try KeyFile.read($0) }
      } catch {
        faults.append(Failure(error))
      }
    }
    return faults
  }

  /// Why this user cannot have the socket, for which the daemon ends at once; nil where it may, as far as can be seen.
  private var socketFault: Failure? {
    let socket = socket ?? Self.defaultSocket
    var status = stat()
    if lstat(socket, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
      return Failure(
        .notAllowed, code: Self.socketCode,
        "it cannot listen at \(socket): a file is there that is no socket",
        suggestion: "remove that file, or name another socket in the configuration")
    }
    guard case .closed(let reason) = UnixSocket.folderState(of: socket, tries: true) else {
      return nil
    }
    let folder = URL(fileURLWithPath: socket).deletingLastPathComponent().path
    return Failure(
      .notAllowed, code: Self.socketCode,
      "it cannot listen at \(socket): \(folder): \(String(cString: strerror(reason)))",
      suggestion:
        "run it as the user who may write there, or name another socket in the configuration")
  }

  private static let socketCode = "socket-path"

  /// How a check ends that found faults: as the daemon does where it may not have its socket.
  package static func status(of faults: [Failure]) -> ExitStatus {
    faults.first { $0.code == socketCode }?.status ?? .badData
  }

  /// What may come by itself: a store from a backup say, its zone when it is enrolled, and the folder of a socket, which systemd
  /// makes for a service.
  package var awaited: [Failure] {
    var awaited: [Failure] = []
    func wait(_ code: String, _ message: String, _ suggestion: String) {
      awaited.append(Failure(.tryAgain, code: code, message, suggestion: suggestion))
    }
    let socket = socket ?? Self.defaultSocket
    if UnixSocket.folderState(of: socket) == .missing {
      let folder = URL(fileURLWithPath: socket).deletingLastPathComponent().path
      wait(
        Self.socketCode,
        "nobody can reach it at \(socket) as things are: \(folder): "
          + "\(String(cString: strerror(ENOENT))). The folder is waited for",
        "start it as a service, for which systemd makes the folder, or make it: install -d \(folder.shellWord)"
      )
    }
    for store in stores {
      let path = store.path.path
      if !FileManager.default.fileExists(atPath: path) {
        wait(
          "no-store", "there is no store at \(path): it is waited for",
          "make it: syncctl init --store \(path.shellWord) --model MODEL")
      } else if (try? isReplica(store)) == false {
        wait(
          "not-enrolled",
          "\(path) is not enrolled with a server: nothing of it is synced until it is",
          "syncctl enroll --store \(path.shellWord) --server URL --zone NAME")
      }
    }
    return awaited
  }

  private func isReplica(_ store: Store) throws -> Bool {
    let opened = try StoreAccess.inspect(store.path)
    defer { opened.close() }
    return try SyncEngine.home(of: opened) != nil
  }

  /// The usual place of the socket: systemd's runtime folder, the user's, or /tmp with the user's
  /// number.
  package static var defaultSocket: String {
    let environment = ProcessInfo.processInfo.environment
    if let folder = environment["RUNTIME_DIRECTORY"] ?? environment["XDG_RUNTIME_DIR"] {
      return "\(folder)/driftless-syncd.sock"
    }
    return "/tmp/driftless-syncd-\(getuid()).sock"
  }
}

extension DaemonConfiguration.Store {
  /// The way from the store to its zone.
  ///
  /// - Parameter keys: Those that are known; nil for what the file has, or the command prints.
  func way(of store: PersistentStore, keys: KeyRing? = nil) throws -> StoreAccess.Way {
    try StoreAccess.Way(
      of: store, at: path, tokenFile: tokenFile, authorityFile: authorityFile,
      clientFile: clientCertificateFile,
      keys: keys.map { .known($0) }
        ?? KeySource.of(store: path, file: keyFile, command: keyCommand),
      values: values)
  }
}
