/// Format levels of change sets: a zone takes those up to its own, which its operator raises once the replicas read more.
package enum FormatLevel {
  /// The header field that tells the highest level that a client reads, in decimal. Programs of before tell none, and read level 1.
  package static let field = "Driftless-Format-Level"
  /// What a replica reads that tells none.
  package static let untold: UInt16 = 1
}
