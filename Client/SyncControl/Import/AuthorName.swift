import DriftlessProtocol

/// The author of an import's transactions, which goes to the zone with them.
enum AuthorName {
  /// Why a name cannot be an author; nil where it can. A longer one would reach no other replica whole.
  static func obstacle(_ name: String) -> String? {
    let most = ChangeSetLimits().nameBytesMax
    guard name.utf8.count > most else { return nil }
    return "has \(name.utf8.count) bytes; an author has at most \(most)"
  }
}
