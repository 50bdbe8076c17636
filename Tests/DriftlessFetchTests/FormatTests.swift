import Driftless
import Foundation
import Testing

@Suite("Format strings")
struct FormatTests {
  @Test("AND binds closer than OR, NOT closer than AND")
  func precedence() throws {
    let predicate = try FetchPredicate(format: "a == 1 OR NOT b == 2 and c == 3 || d == 4")
    func equals(_ key: String, _ value: Int64) -> FetchPredicate {
      .comparison(FetchComparison(.keyPath([key]), .equal, .constant(.integer(value))))
    }
    #expect(
      predicate
        == .or([
          equals("a", 1), .and([.not(equals("b", 2)), equals("c", 3)]), equals("d", 4),
        ]))
  }

  @Test(
    "A description reads back as an equal predicate",
    arguments: [
      "title == 'x'", "title ==[cd] \"x\"", "pages BETWEEN {1, 2.5}", "NOT (a == 1 OR b != nil)",
      "ANY tags.name IN {'a', 'b\\n\\\"c\\\\'}", "ALL kids.age >= -3", "NONE kids.age < 1e30",
      "SUBQUERY(kids, $k, $k.age > 3 AND $k.name LIKE 'a*').@count == 2",
      "kids.@max.age > kids.@avg.age + 1", "uppercase:(name) BEGINSWITH 'A'", "SELF IN $list",
      "TRUEPREDICATE AND (FALSEPREDICATE OR #and == 1)", "(a + b) * 2 - 1 > -c / 3",
      "created < CAST(700000000.5, 'NSDate')", "price == CAST('1.10', 'Decimal')",
      "length:(name) == 3", "location.lat > 0x1F", "a.select == YES", "name MATCHES '\\\\d+'",
      "id == CAST('6BA7B810-9DAD-11D1-80B4-00C04FD430C8', 'UUID')", "x == -9223372036854775807 - 1",
    ])
  func roundTrip(format: String) throws {
    let predicate = try FetchPredicate(format: format)
    let again = try FetchPredicate(format: predicate.description)
    #expect(again == predicate, "\(predicate)")
  }

  @Test("Arguments become values, whatever they contain")
  func arguments() throws {
    let nasty = "' OR 1 == 1 --"
    let predicate = try FetchPredicate(format: "name == %@ AND %K > %d", nasty, "author.age", 30)
    #expect(
      predicate
        == .and([
          .comparison(FetchComparison(.keyPath(["name"]), .equal, .constant(.string(nasty)))),
          .comparison(
            FetchComparison(.keyPath(["author", "age"]), .greater, .constant(.integer(30)))),
        ]))
    #expect(try FetchPredicate(format: predicate.description) == predicate)
  }

  @Test("%@ in quotes is text")
  func quotedPlaceholder() throws {
    let predicate = try FetchPredicate(format: "name == '%@'")
    #expect(
      predicate
        == .comparison(FetchComparison(.keyPath(["name"]), .equal, .constant(.string("%@")))))
  }

  @Test("Arrays, sets, ranges and nil are arguments as well")
  func collections() throws {
    let list = try FetchPredicate(format: "a IN %@", [1, 2])
    #expect(list.description == "a IN {1, 2}")
    #expect(try FetchPredicate(format: "a BETWEEN %@", 1...5).description == "a BETWEEN {1, 5}")
    #expect(try FetchPredicate(format: "a == %@", nil).description == "a == nil")
    #expect(try FetchPredicate(format: "a IN %@", Set(["x"])).description == "a IN {\"x\"}")
    let missing: Int? = nil
    #expect(try FetchPredicate(format: "a == %@", missing).description == "a == nil")
  }

  @Test(
    "A mistake is pointed at",
    arguments: [
      ("a == ", 5), ("a = 1 b", 6), ("== 1", 0), ("a == 'x", 5), ("a ~ 1", 2), ("(a == 1", 7),
      ("a BETWEEN 3", 10), ("a BETWEEN {1}", 10), ("name ==[x] 'a'", 8), ("kids[x] == 1", 5),
      ("kids.@range.age > 1", 5), ("foo:(a) == 1", 0), ("SUBQUERY(kids, k, TRUEPREDICATE)", 15),
      ("a == 12x", 5), ("a == %z", 5), ("name MATCHES '('", 13), ("", 0), ("and == 1", 0),
      ("a == 99999999999999999999999x", 5), ("a == $", 5), ("a == 0xZZ", 5),
    ])
  func mistakes(format: String, position: Int) throws {
    let error = #expect(throws: FetchError.self) { try FetchPredicate(format: format) }
    #expect(error?.position == position, "\(error.map(String.init(describing:)) ?? "")")
    let lines = error?.description.split(separator: "\n") ?? []
    #expect(lines.last?.last == "^")
  }

  @Test("The number and kind of arguments is checked")
  func argumentMistakes() {
    struct Unfit {}
    func fails(_ format: String, _ arguments: [Any?]) -> FetchError.Code? {
      #expect(throws: FetchError.self) {
        try FetchPredicate(format: format, argumentArray: arguments)
      }?.code
    }
    #expect(fails("a == %@", []) == .argument)
    #expect(fails("a == 1", [1]) == .argument)
    #expect(fails("a == %d", ["1"]) == .argument)
    #expect(fails("%K == 1", [1]) == .argument)
    #expect(fails("%K == 1", ["a..b"]) == .argument)
    #expect(fails("a == %@", [Unfit()]) == .argument)
    #expect(fails("a == %@", [UInt64.max]) == .argument)
  }

  @Test("Deep nesting is refused instead of exhausting the stack")
  func depth() {
    let deep = String(repeating: "(", count: 5000) + "a == 1" + String(repeating: ")", count: 5000)
    #expect(throws: FetchError.self) { try FetchPredicate(format: deep) }
    let negated = String(repeating: "NOT ", count: 5000) + "a == 1"
    #expect(throws: FetchError.self) { try FetchPredicate(format: negated) }
    let minus = "a == " + String(repeating: "-", count: 5000) + "b"
    #expect(throws: FetchError.self) { try FetchPredicate(format: minus) }
  }

  @Test("No mixture of words traps the parser")
  func mutations() {
    let words = [
      "a", "==", "1", "(", ")", "AND", "NOT", "{", "}", ",", "'x'", "$v", "%@", ".", "@count",
      "SUBQUERY(", "ANY", "IN", "BETWEEN", "[", "cd", "]", "-", "*", ":", "\"", "\\", "#", "é",
      "0x", "1e", "%", "CAST(", "SELF", "nil",
    ]
    var random = SystemRandomNumberGenerator()
    for _ in 0..<3000 {
      let count = Int.random(in: 0...12, using: &random)
      let format = (0..<count).map { _ in words.randomElement(using: &random) ?? "" }
        .joined(separator: Bool.random(using: &random) ? " " : "")
      let predicate = try? FetchPredicate(format: format, argumentArray: [])
      if let predicate {
        #expect(
          (try? FetchPredicate(format: predicate.description)) == predicate, "\(format)")
      }
    }
  }

  @Test("Variables are replaced, those of SUBQUERY stay")
  func substitution() throws {
    let template = try FetchPredicate(
      format: "pages > $PAGES AND SUBQUERY(reviews, $r, $r.stars > $STARS).@count > 0")
    let predicate = try template.withSubstitutionVariables(["PAGES": 3, "STARS": 4])
    #expect(
      predicate
        == (try FetchPredicate(
          format: "pages > 3 AND SUBQUERY(reviews, $r, $r.stars > 4).@count > 0")))
    #expect(throws: FetchError.self) {
      try template.withSubstitutionVariables(["PAGES": 3])
    }
    #expect(throws: FetchError.self) { try template.evaluate(Sample.book()) }
    let null = try FetchPredicate(format: "subtitle == $S").withSubstitutionVariables(["S": nil])
    #expect(try null.evaluate(Sample.book()))
  }
}
