/// The name of an object's place in an ordered relationship, where one is needed beside the names of
/// properties: in what is kept for sync, and on the wire.
package enum PlaceName {
  /// - Parameter property: the to-one relationship whose inverse is ordered.
  package static func of(_ property: String) -> String { property + "#place" }
}
