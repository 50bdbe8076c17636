package import Foundation
import Glibc
import ProgramStart

/// What the daemon is told to do: a JSON file.
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
    guard let data = try? Data(contentsOf: file) else {
      throw Failure(
        .badData, code: "configuration", "\(file.path) cannot be read.",
        suggestion: "syncd --config FILE, with a file that this user may read")
    }
    try self.init(data, file: file)
  }

  init(_ data: Data, file: URL) throws(Failure) {
    let reader = Reader(file: file.path)
    if let name = RepeatedName.first(in: data) {
      throw reader.failure(name, "stands twice in one object; only one of the two would count")
    }
    let root = try reader.object(
      (try? JSONSerialization.jsonObject(with: data)) ?? 0, "the file",
      names: ["socket", "logLevel", "retrySecondsMax", "stores"])
    let folder = file.deletingLastPathComponent()
    socket = try reader.text(root, "socket").map { Self.resolve($0, in: folder).path }
    if let socket, socket.utf8.count > UnixSocket.pathBytesMax {
      throw reader.failure(
        "socket",
        "is a path of \(socket.utf8.count) bytes, \(socket); a socket's has at most "
          + "\(UnixSocket.pathBytesMax)")
    }
    logLevel = try reader.text(root, "logLevel") ?? "info"
    guard Self.logLevels.contains(logLevel) else {
      throw reader.failure("logLevel", "is one of \(Self.logLevels.joined(separator: ", "))")
    }
    retrySecondsMax = try reader.number(root, "retrySecondsMax", in: 1...86_400) ?? 300
    guard let entries = root["stores"] as? [Any], !entries.isEmpty else {
      throw reader.failure("stores", "is an array of at least one store")
    }
    stores = []
    for entry in entries {
      let fields = try reader.object(
        entry, "a store", names: ["path", "tokenFile", "authorityFile"])
      guard let path = try reader.text(fields, "path") else {
        throw reader.failure("path", "is missing in a store")
      }
      let url = Self.resolve(path, in: folder).resolvingSymlinksInPath()
      guard !stores.contains(where: { $0.path == url }) else {
        throw reader.failure("stores", "has \(url.path) twice")
      }
      let token = try reader.text(fields, "tokenFile").map { Self.resolve($0, in: folder) }
      let authority = try reader.text(fields, "authorityFile").map { Self.resolve($0, in: folder) }
      stores.append(Store(path: url, tokenFile: token, authorityFile: authority))
    }
  }

  /// What is in the way of a socket that the file names, for now: its folder may come later, as systemd makes that of a
  /// service. Nil where nothing is.
  package var socketFolderNote: String? {
    guard let socket else { return nil }
    let folder = URL(fileURLWithPath: socket).deletingLastPathComponent().path
    guard access(folder, W_OK | X_OK) != 0 else { return nil }
    return
      "it cannot listen at \(socket) as things are: \(folder): \(String(cString: strerror(errno)))"
  }

  /// Files of authorities that are no such files now. One may come later, as a store may.
  package var authorityNotes: [String] {
    Set(stores.compactMap(\.authorityFile)).sorted { $0.path < $1.path }.compactMap { file in
      do throws(Failure) {
        _ = try AuthorityFile.read(file)
        return nil
      } catch {
        return error.message
      }
    }
  }

  /// The paths at which there is no store now. One may come later, from a backup say.
  package var missingStores: [String] {
    stores.map(\.path.path).filter { !FileManager.default.fileExists(atPath: $0) }
  }

  private static let logLevels = [
    "trace", "debug", "info", "notice", "warning", "error", "critical",
  ]

  private static func resolve(_ path: String, in folder: URL) -> URL {
    path.hasPrefix("/")
      ? URL(fileURLWithPath: path).standardizedFileURL
      : folder.appendingPathComponent(path).standardizedFileURL
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

  /// Takes settings out of parsed JSON, with the file and the name in every complaint.
  private struct Reader {
    let file: String

    func failure(_ name: String, _ message: String) -> Failure {
      Failure(
        .badData, code: "configuration", "\(file): \"\(name)\" \(message).",
        suggestion: "correct the file, then send SIGHUP to syncd or start it again")
    }

    func object(_ value: Any, _ what: String, names: Set<String>) throws(Failure) -> [String: Any] {
      guard let object = value as? [String: Any] else {
        throw failure(what, "is not a JSON object")
      }
      if let name = object.keys.sorted().first(where: { !names.contains($0) }) {
        throw failure(name, "is no setting; known are \(names.sorted().joined(separator: ", "))")
      }
      return object
    }

    func text(_ object: [String: Any], _ name: String) throws(Failure) -> String? {
      guard let value = object[name] else { return nil }
      guard let text = value as? String, !text.isEmpty else {
        throw failure(name, "is a text that is not empty")
      }
      return text
    }

    func number(
      _ object: [String: Any], _ name: String, in range: ClosedRange<Double>
    ) throws(Failure) -> Double? {
      guard let value = object[name] else { return nil }
      guard let number = (value as? NSNumber)?.doubleValue, range.contains(number) else {
        throw failure(name, "is a number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
  }
}
