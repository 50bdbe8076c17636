/// Counts as people say them: one object is no "1 objects".
package enum CountText {
  /// - Parameter many: what several are called; nil for the word for one with an s.
  package static func of(
    _ count: some BinaryInteger, _ one: String, _ many: String? = nil
  ) -> String {
    "\(count) \(count == 1 ? one : many ?? one + "s")"
  }
}
