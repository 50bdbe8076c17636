import Foundation
import Testing

@testable import SyncControl

/// What is told of two stores that hold something differently.
struct StoreDifferenceTests {
  private func lines(_ first: [String], _ second: [String]) throws -> [String] {
    func export(_ lines: [String]) throws -> ExportLines {
      try ExportLines { write in for line in lines { try write(Data((line + "\n").utf8)) } }
    }
    var told: [String] = []
    try StoreDifference.forEach(between: export(first), and: export(second)) {
      told += $0.lines(first: "a", second: "b")
    }
    return told
  }

  private func line(_ values: String, _ rest: String = "") -> String {
    #"{"entity":"Item","id":"1","op":"insert","set":{\#(values)}\#(rest)}"#
  }

  @Test(
    "A null is none, whether it is spelled or left out; what only a model says is no difference"
  )
  func nulls() throws {
    let all = #""colour":null,"name":"n""#
    #expect(try lines([line(all)], [line(#""name":"n""#)]) == [])
    #expect(try lines([line(#""name":"n""#)], [line(#""name":"n""#, #","unfit":["name"]"#)]) == [])
    #expect(
      try lines([line(all)], [line(#""colour":"red","name":"n""#)])
        == [#"Item/1.colour: null | "red""#])
    #expect(
      try lines([line(#""colour":"red","name":"n""#)], [line(#""name":"m""#)])
        == [#"Item/1.colour: "red" | null"#, #"Item/1.name: "n" | "m""#])
  }

  @Test("Of long values that begin alike a line shows where they differ")
  func long() throws {
    let start = String(repeating: "x", count: 500)
    let told = try lines(
      [line("\"name\":\"\(start)one\"")], [line("\"name\":\"\(start)two\"")])
    #expect(told.count == 1)
    let sides = try #require(told.first?.components(separatedBy: " | "))
    #expect(sides.count == 2 && sides[0].hasSuffix("xone\"") && sides[1].hasSuffix("xtwo\""))
    #expect(sides.allSatisfy { $0.contains("…x") && $0.count < 120 })
    // Which begin otherwise, by their beginnings.
    let other = try lines(
      [line("\"name\":\"a\(start)\"")], [line("\"name\":\"b\(start)\"")])
    #expect(other.first?.contains("\"axxx") == true && other.first?.contains("| \"bxxx") == true)
  }
}
