import Driftless
import DriftlessSQLite
import Testing

/// What a replica asks of SQLite: a number that is the same on every host, and that grows as the work does.
extension TestReplica {
  /// The instructions of SQLite's machine that the statements took which the writing connection keeps.
  func statementWork() throws -> Int {
    var work = 0
    // Not by an edit: that has a time.
    _ = try store.write(TransactionInfo(author: nil, contextName: nil, kind: .imported)) {
      work = $0.connection.statementWork
    }
    return work
  }

  /// What the statements took that something needs.
  func statementWork(of body: () async throws -> Void) async throws -> Int {
    let before = try statementWork()
    try await body()
    return try statementWork() - before
  }
}

/// Expects that twice as many take about twice the work.
func expectLinear(
  _ counts: (Int, Int), _ location: SourceLocation = #_sourceLocation,
  _ work: (Int) async throws -> Int
) async throws {
  let (first, second) = (try await work(counts.0), try await work(counts.1))
  let factor = Double(second) / Double(max(first, 1))
  let expected = Double(counts.1) / Double(counts.0)
  #expect(
    factor < 1.3 * expected, "\(counts.0) take \(first), \(counts.1) take \(second)",
    sourceLocation: location)
}
