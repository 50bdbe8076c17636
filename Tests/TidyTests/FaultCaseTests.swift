import Foundation
import Testing

/// The catalogue's page `FaultCases.md` has every case, and the tests that it names are there, under the case's name.
struct FaultCaseTests {
  private struct Row {
    let fault: String
    let behaviour: String
    let tests: [String]
    let place: String

    /// Not every case has a test; then the page says what it waits for.
    var isWaiting: Bool { tests.first?.hasPrefix("*Not yet*: ") == true }
  }

  private static let wanted = (1...84).map { "F\($0)" }

  private static func rows() throws -> [Row] {
    let text = try Pages.text("FaultCases.md")
    var rows: [Row] = []
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 5, cells[1].hasPrefix("F") else { continue }
      rows.append(
        Row(
          fault: cells[1], behaviour: cells[2], tests: cells[3].components(separatedBy: ", "),
          place: "line \(number + 1)"))
    }
    return rows
  }

  /// The display name of the test `Target/File.function`, or nil where there is none.
  private static func displayName(_ test: String) -> String? {
    guard let dot = test.lastIndex(of: "."),
      let text = try? String(
        contentsOf: Pages.root.appendingPathComponent("Tests/\(test[..<dot]).swift"),
        encoding: .utf8),
      let function = text.range(of: "func \(test[test.index(after: dot)...])("),
      let mark = text.range(
        of: "@Test(", options: .backwards, range: text.startIndex..<function.lowerBound)
    else { return nil }
    let between = text[mark.upperBound..<function.lowerBound]
    guard !between.contains("func "), let quote = between.firstIndex(of: "\"") else { return nil }
    return String(between[between.index(after: quote)...].prefix { $0 != "\"" })
  }

  /// The cases that a display name begins with.
  private static func cases(in name: String) -> [String] {
    name.split(separator: " ").map(String.init).prefix {
      $0.hasPrefix("F") && $0.dropFirst().allSatisfy(\.isNumber) && $0.count > 1
    }.map { $0 }
  }

  @Test("Every case of a fault has one row, with what happens and a test or what it waits for")
  func everyCaseHasARow() throws {
    let rows = try Self.rows()
    #expect(rows.map(\.fault) == Self.wanted)
    for row in rows {
      #expect(row.behaviour.count > 20, "\(row.place): \(row.fault) does not say what happens")
      if row.isWaiting {
        #expect(row.tests.joined(separator: ", ").count > 25, "\(row.place): what for?")
      }
    }
  }

  @Test("Every test that a row names exists, and its display name begins with the case")
  func testsExist() throws {
    for row in try Self.rows() where !row.isWaiting {
      for test in row.tests {
        guard let name = Self.displayName(test) else {
          Issue.record("\(row.place): there is no test \(test) for \(row.fault)")
          continue
        }
        let isNamed = Self.cases(in: name).contains(row.fault)
        #expect(
          isNamed,
          "\(row.place): the name of \(test) does not begin with \(row.fault): \(name)")
      }
    }
  }

  @Test("Every test that is named for a case stands in its row")
  func namedTestsStandInRows() throws {
    let listed = Set(try Self.rows().flatMap { row in row.tests.map { "\(row.fault) \($0)" } })
    let folder = Pages.root.appendingPathComponent("Tests")
    let names = FileManager.default.enumerator(atPath: folder.path)
    while let path = names?.nextObject() as? String {
      guard path.hasSuffix(".swift"),
        let text = try? String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
      else { continue }
      for part in text.components(separatedBy: "@Test(").dropFirst() {
        guard let function = part.components(separatedBy: "func ").dropFirst().first else {
          continue
        }
        let name = function.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        let test = "\(path.dropLast(".swift".count)).\(name)"
        guard let display = Self.displayName(test) else { continue }
        for fault in Self.cases(in: display) {
          let isListed = listed.contains("\(fault) \(test)")
          #expect(isListed, "\(test) is not in the row of \(fault)")
        }
      }
    }
  }
}
