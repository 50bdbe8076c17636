import CoreData
import TestSupport
import Testing

/// Predicates are of the classes that show what they are, and may be taken apart and put together.
struct PredicateClassTests {
  typealias Comparison = CoreData.NSComparisonPredicate
  typealias Expression = CoreData.NSExpression

  private func predicate(_ format: String, _ arguments: Any...) -> NSPredicate {
    NSPredicate(format: format, argumentArray: arguments)
  }

  @Test("A format of several conditions is an NSCompoundPredicate of its parts")
  func compounds() throws {
    let both = try #require(predicate("a == 1 AND b > 2") as? NSCompoundPredicate)
    #expect(both.compoundPredicateType == .and && both.subpredicates.count == 2)
    #expect((both.subpredicates[1] as? Comparison)?.leftExpression.keyPath == "b")
    let either = try #require(predicate("a == 1 OR NOT b == 2") as? NSCompoundPredicate)
    #expect(either.compoundPredicateType == .or)
    let not = try #require(either.subpredicates[1] as? NSCompoundPredicate)
    #expect(not.compoundPredicateType == .not && not.subpredicates.count == 1)
    #expect(both == predicate("a == 1 AND b > 2") && both != either)
    #expect(both.hash == predicate("a == 1 AND b > 2").hash)
    #expect(both.copy() as? NSPredicate == both)
    #expect(both.evaluate(with: ["a": 1, "b": 3]) && !both.evaluate(with: ["a": 1, "b": 2]))
    let none = try #require(predicate("NONE a == 1") as? NSCompoundPredicate)
    let any = try #require(none.subpredicates.first as? Comparison)
    #expect(none.compoundPredicateType == .not && any.comparisonPredicateModifier == .any)
    #expect(!(predicate("TRUEPREDICATE") is NSCompoundPredicate))
  }

  @Test("A format of one condition is an NSComparisonPredicate whose members say what it compares")
  func comparisons() throws {
    let like = try #require(predicate("name LIKE[cd] %@", "a*") as? Comparison)
    #expect(like.predicateOperatorType == .like && like.comparisonPredicateModifier == .direct)
    #expect(like.options == [.caseInsensitive, .diacriticInsensitive])
    #expect(like.leftExpression.expressionType == .keyPath && like.leftExpression.keyPath == "name")
    #expect(like.rightExpression.expressionType == .constantValue)
    #expect(like.rightExpression.constantValue as? String == "a*")
    let all = try #require(predicate("ALL tags.size >= 3") as? Comparison)
    #expect(all.comparisonPredicateModifier == .all && all.leftExpression.keyPath == "tags.size")
    #expect(all.predicateOperatorType == .greaterThanOrEqualTo)
    let list = try #require(predicate("a IN %@", [1, 2]) as? Comparison)
    #expect(list.predicateOperatorType == .in)
    #expect(list.rightExpression.constantValue as? [Int] == [1, 2])
    let between = try #require(predicate("a BETWEEN {1, b}") as? Comparison)
    #expect(between.rightExpression.expressionType == .aggregate)
    let ends = try #require(between.rightExpression.collection as? [Expression])
    #expect(ends.map(\.expressionType) == [.constantValue, .keyPath])
    let sum = try #require(predicate("a + 2 == $x") as? Comparison)
    #expect(sum.leftExpression.function == "add:to:")
    #expect(sum.leftExpression.arguments?.map(\.expressionType) == [.keyPath, .constantValue])
    #expect(sum.rightExpression.variable == "x")
    let count = try #require(predicate("tags.@count > 1") as? Comparison)
    #expect(count.leftExpression.expressionType == .keyPath)
    #expect(count.leftExpression.keyPath == "tags.@count")
    let made = Comparison(
      leftExpression: like.leftExpression, rightExpression: like.rightExpression, modifier: .direct,
      type: .like, options: like.options)
    #expect(made == like && made.evaluate(with: ["name": "Äb"]))
  }

  @Test("Parts of subqueries and conditional expressions")
  func parts() throws {
    let asked = try #require(
      predicate("SUBQUERY(tags, $t, $t.size > 1).@count == TERNARY(a == 1, 2, 3)") as? Comparison)
    let choice = asked.rightExpression
    #expect(choice.expressionType == .conditional && choice.true.constantValue as? Int == 2)
    #expect(choice.false.constantValue as? Int == 3 && choice.predicate is Comparison)
    let found = Expression(format: "SUBQUERY(tags, $t, $t.size > 1)")
    #expect(found.expressionType == .subquery && found.variable == "t")
    #expect((found.collection as? Expression)?.keyPath == "tags")
    #expect((found.predicate as? Comparison)?.predicateOperatorType == .greaterThan)
  }

  @Test("A predicate with substituted variables is of the class of its kind")
  func substituted() {
    let made = predicate("a == $a AND b == 1").withSubstitutionVariables(["a": 3])
    #expect((made as? NSCompoundPredicate)?.subpredicates.count == 2)
    #expect(made.evaluate(with: ["a": 3, "b": 1]))
  }

  @Test("Dictionaries within dictionaries and lists are followed by key paths")
  func nested() {
    let values: [String: Any] = [
      "writer": ["name": "Eco", "city": ["name": "Alessandria"]],
      "books": [["pages": 3, "tags": ["a", "b"]], ["pages": 5, "tags": ["c"]]],
    ]
    for object in [values as Any, NSDictionary(dictionary: values)] {
      func holds(_ format: String) -> Bool { NSPredicate(format: format).evaluate(with: object) }
      #expect(holds("writer.name == 'Eco'") && holds("writer.city.name BEGINSWITH 'Al'"))
      #expect(!holds("writer.name == 'eco'") && holds("writer.age == nil"))
      #expect(holds("ANY books.pages > 4") && !holds("ALL books.pages > 4"))
      #expect(holds("books.@count == 2") && holds("books.@sum.pages == 8"))
      #expect(holds("books.tags.@count == 3"))
      #expect(holds("SUBQUERY(books, $b, $b.pages > 4).@count == 1"))
    }
  }

  @Test("What stands for a value in a list of C's is kept as long as the list, and no longer")
  func keptArguments() {
    let before = CArgumentObjects.count
    for _ in 0..<10 {
      withVaList([UUID(), Date()]) { list in
        #expect(CArgumentObjects.count == before + 2)
        withVaList([UUID()]) { _ in #expect(CArgumentObjects.count == before + 3) }
        _ = NSPredicate(format: "a == %@ AND b == %@", arguments: list)
      }
    }
    #expect(CArgumentObjects.count == before)
    for number in 0..<5000 {
      #expect(String(format: "%@", UUID() as any CVarArg).count == 36, "\(number)")
    }
    #expect(CArgumentObjects.count <= 4096)
  }

  @Test("A predicate takes its arguments from a list of C's")
  func listedArguments() throws {
    let id = UUID()
    let arguments: [any CVarArg] = [7, 2.5, NSString(string: "x"), id, Date.distantPast, Int32(-3)]
    let made = withVaList(arguments) {
      NSPredicate(
        format: "a == %d AND b == %f AND c == %@ AND d == %@ AND e > %@ AND f == %i", arguments: $0)
    }
    let values: [String: Any] = ["a": 7, "b": 2.5, "c": "x", "d": id, "e": Date(), "f": -3]
    #expect(made.evaluate(with: values))
    #expect((made as? NSCompoundPredicate)?.subpredicates.count == 6)
    let key = withVaList([NSString(string: "a"), 7]) {
      NSPredicate(format: "%K == %ld", arguments: $0)
    }
    #expect(key == NSPredicate(format: "a == 7"))
  }
}
