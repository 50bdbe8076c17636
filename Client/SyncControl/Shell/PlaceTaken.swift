import Driftless
import DriftlessSync
import Foundation
import Glibc
import SyncDaemon

/// What lies where a store is to be made.
enum PlaceTaken {
  static func failure(at target: StoreArguments) -> Failure {
    let (what, suggestion) = found(at: target)
    return Failure(
      .failed, code: "exists", "\(target.store) exists already: it is \(what).",
      suggestion: suggestion)
  }

  private static func found(at target: StoreArguments) -> (what: String, suggestion: String) {
    let elsewhere = "name another path, or move it away"
    var status = stat()
    guard stat(target.url.path, &status) == 0 else {
      return ("nothing that can be looked at: \(String(cString: strerror(errno)))", elsewhere)
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return file(at: target, bytes: Int64(status.st_size))
    case S_IFDIR:
      let inside = URL(fileURLWithPath: target.store).appendingPathComponent("NAME.sqlite")
        .relativePath
      return (
        "a folder", "name a file in it: syncctl init --store \(inside.shellWord) --model MODEL"
      )
    case S_IFIFO: return ("a pipe", elsewhere)
    case S_IFSOCK: return ("a socket", elsewhere)
    default: return ("a device", elsewhere)
    }
  }

  private static func file(
    at target: StoreArguments, bytes: Int64
  ) -> (what: String, suggestion: String) {
    let path = target.store.shellWord
    let elsewhere = "name another path, or move it away"
    do {
      let store = try StoreAccess.inspect(target.url)
      defer { store.close() }
      guard try store.hasOwnTables() else {
        return (
          "a store of Core Data", "go on with it: syncctl store adopt \(path); or name another path"
        )
      }
      let zone = try SyncEngine.home(of: store).map { "enrolled with zone \($0.zone)" }
      let count = store.model.entities.count
      return (
        "a store, \(zone ?? "not enrolled"), of a model with \(count) entit\(count == 1 ? "y" : "ies")",
        "look at it: syncctl status --store \(path); for another model: syncctl migrate \(path) --model MODEL"
      )
    } catch let error as StoreError {
      switch error.code {
      case .notADatabase: return ("a file of \(bytes) bytes, and no database", elsewhere)
      case .notAStore:
        return ("an SQLite database that is no store of Core Data's layout", elsewhere)
      default:
        let reason = error.message.hasSuffix(".") ? error.message.dropLast() : error.message[...]
        return (
          "a file that cannot be opened as a store (\(reason))",
          "see what is the matter: syncctl doctor --store \(path)"
        )
      }
    } catch {
      return ("a file of \(bytes) bytes that cannot be opened as a store", elsewhere)
    }
  }
}
