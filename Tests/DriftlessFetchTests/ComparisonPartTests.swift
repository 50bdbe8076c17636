import Driftless
import Testing

/// What a predicate's text is made of, as its parts say.
struct ComparisonPartTests {
  @Test("A comparison has its two sides, its operator and how a to-many path counts")
  func parts() throws {
    let predicate = try FetchPredicate(format: "ALL tags.name < 'b'")
    guard case .comparison(let comparison) = predicate else {
      Issue.record("it is no comparison")
      return
    }
    #expect(comparison.left == .keyPath(["tags", "name"]))
    #expect(comparison.right == .constant(.string("b")))
    #expect(comparison.modifier == .all && comparison.operator == FetchComparison.Operator.less)
    #expect(try FetchPredicate(format: "TRUEPREDICATE") == .constant(true))
  }

  @Test("A variable, the object itself and a list are expressions of their own kind")
  func expressions() throws {
    #expect(try FetchExpression(format: "$ROW") == .variable("ROW", path: []))
    #expect(try FetchExpression(format: "SELF") == .keyPath([]))
    guard case .list(let parts, _) = try FetchExpression(format: "{1, 2}") else {
      Issue.record("it is no list")
      return
    }
    #expect(parts.count == 2)
  }
}
