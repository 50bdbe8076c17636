import DriftlessSQLite
import Foundation

/// Copies of what a store was before an automatic migration took something away. The store names them: they go with it. A
/// copy of the store names none, since they are not its own.
enum KeptCopies {
  /// Names of files beside the store, one a line.
  static let setting = "keptCopies"

  static func names(on connection: SQLiteConnection) throws -> [String] {
    guard try StoreSettings.exist(on: connection),
      case .text(let text)? = try StoreSettings.value(of: setting, on: connection)
    else { return [] }
    return text.split(separator: "\n").map(String.init)
  }

  static func set(_ names: [String], on connection: SQLiteConnection) throws {
    try StoreSettings.set(
      setting, names.isEmpty ? nil : .text(names.joined(separator: "\n")), on: connection)
  }

  /// How the names of a store's copies begin.
  static func start(of url: URL) -> String {
    "\(url.deletingPathExtension().lastPathComponent)-before-"
  }

  /// Removes copies of a store, and all that lies beside them. Names that are not made of the store's own are another store's:
  /// a file that was copied by other means says what its original says.
  static func remove(_ names: [String], of url: URL) {
    let start = start(of: url)
    for name in names where !name.contains("/") && name.hasPrefix(start) {
      NewFile.removeStore(url.deletingLastPathComponent().appendingPathComponent(name))
    }
  }
}
