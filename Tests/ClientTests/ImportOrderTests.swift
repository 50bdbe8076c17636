import Driftless
import DriftlessSync
import Foundation
import SyncControl
import SyncDaemon
import TestSupport
import Testing

/// Lines of one transaction come to what they come to one after the other.
struct ImportOrderTests {
  /// What an import comes to: the store's content, or the line that is refused and why.
  private func outcome(_ lines: [String], savingEach: Bool) throws -> String {
    let shop = try Shop()
    let all = savingEach ? lines.flatMap { [$0, #"{"op":"save"}"#] } : lines
    do {
      let report = try Importer(store: shop.store, author: nil, source: "f")
        .run(Data(all.joined(separator: "\n").utf8))
      return "\(report.inserted) \(report.updated) \(report.deleted)\n"
        + (try ReplicaExport.text(of: shop.store))
    } catch let failure as Failure {
      let parts = failure.message.split(separator: ":", maxSplits: 2).map(String.init)
      let line = try #require(parts.count == 3 ? Int(parts[1]) : nil, "\(failure)")
      return "line \(savingEach ? (line + 1) / 2 : line):\(parts[2])"
    }
  }

  @Test("An object that a line only refers to is not there to update or delete before its own line")
  func referredTo() throws {
    let referring = #"{"op":"insert","entity":"Item","id":"1","set":{"box":"b"}}"#
    let own = #"{"op":"insert","entity":"Box","id":"b","set":{"name":"b"}}"#
    for early in [
      #"{"op":"update","entity":"Box","id":"b","set":{"name":"early"}}"#,
      #"{"op":"delete","entity":"Box","id":"b"}"#,
    ] {
      let outcome = try outcome([referring, early, own], savingEach: false)
      #expect(outcome == "line 2: there is no Box b")
    }
    // What is there by its own line, or by that of an upsert, is.
    let update = #"{"op":"update","entity":"Box","id":"b","set":{"name":"late"}}"#
    for made in [own, own.replacing("insert", with: "upsert")] {
      let outcome = try outcome([referring, made, update], savingEach: false)
      #expect(outcome.hasPrefix("2 1 0\n") && outcome.contains("late"), "\(outcome)")
    }
  }

  @Test("Any lines give the same in one transaction as in one each", arguments: 0..<80)
  func oneAfterTheOther(seed: Int) throws {
    var random = SeededNumbers(seed: UInt64(seed))
    func pick<Value>(_ values: [Value]) -> Value {
      values[Int.random(in: 0..<values.count, using: &random)]
    }
    // So that most lines are right: an object is more often made than not there.
    var lines = [("Box", "1"), ("Item", "1"), ("Item", "2")].map {
      #"{"op":"insert","entity":"\#($0)","id":"\#($1)","set":{"name":"first"}}"#
    }
    for _ in 0..<10 {
      let isBox = pick([true, false, false])
      let (entity, id) = (isBox ? "Box" : "Item", pick(["1", "2"]))
      let head = #""entity":"\#(entity)","id":"\#(id)""#
      let name = #""name":"\#(pick(["a", "b", "c"]))""#
      let set =
        isBox ? name : pick([name, #""stock":\#(pick([1, 2]))"#, #""box":null"#, #""box":"1""#])
      switch pick(["insert", "upsert", "upsert", "upsert", "update", "add", "delete"]) {
      case "add" where !isBox:
        lines.append(#"{"op":"upsert",\#(head),"set":{\#(name)},"add":{"stock":3}}"#)
      case "delete": lines.append(#"{"op":"delete",\#(head)}"#)
      case let operation:
        lines.append(
          #"{"op":"\#(operation == "add" ? "update" : operation)",\#(head),"set":{\#(set)}}"#)
      }
    }
    let one = try outcome(lines, savingEach: false)
    let each = try outcome(lines, savingEach: true)
    // A reference that nothing follows up is told with its transaction, before what is wrong with a line of it.
    let isOther = each.contains(" names ")
    #expect(
      isOther ? one.hasPrefix("line ") : one == each, "\(lines.joined(separator: "\n"))")
  }
}
