/// The name of an object's place in an ordered relationship, where one is needed beside the names of
/// properties: in what is kept for sync, and on the wire.
package enum PlaceName {
  /// - Parameter property: the to-one relationship whose inverse is ordered.
  package static func of(_ property: String) -> String { property + suffix }

  /// The relationship that a place of this name is beside; nil where it is no place's name.
  package static func property(ofPlace name: String) -> String? {
    name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : nil
  }

  private static let suffix = "#place"
}

/// The name under which sync keeps a set as it is offered to a zone that began anew, where it was edited since.
package enum OfferName {
  package static func of(_ property: String) -> String { property + "#offer" }
}
