import Foundation
import TestSupport
import Testing

/// Numbers that several replicas add to by import.
@Suite(.serialized) struct CountedImportTests {
  private func line(_ op: String, add: Int) -> String {
    #"{"op":"\#(op)","entity":"Item","id":"1","add":{"count":\#(add)}}"#
  }

  private func count(_ replica: Replica) throws -> Int? {
    let object = try JSONSerialization.jsonObject(with: Data(replica.export().utf8))
    return ((object as? [String: Any])?["set"] as? [String: Any])?["count"] as? Int
  }

  @Test("What several replicas add to a counter adds up")
  func addsUp() throws {
    let world = try FaultWorld()
    let replicas = try ["a", "b"].map { try world.replica($0) }
    try replicas[0].importLines([line("upsert", add: 10)])
    try replicas.settle()
    try replicas[0].importLines([line("update", add: -3)])
    try replicas[1].importLines([line("upsert", add: 5), #"{"op":"save"}"#, line("update", add: 1)])
    try replicas.settle()
    try replicas.settle()
    for replica in replicas { #expect(try count(replica) == 13) }
  }

  @Test("Two that both make the object have no count that both began with: the later edit stands")
  func bothMake() throws {
    let world = try FaultWorld()
    let replicas = try ["a", "b"].map { try world.replica($0) }
    try replicas[0].importLines([line("upsert", add: 3)])
    try replicas[1].importLines([line("upsert", add: 4)])
    try replicas.settle()
    try replicas.settle()
    for replica in replicas { #expect(try count(replica) == 4) }
    // From then on there is one.
    for replica in replicas { try replica.importLines([line("upsert", add: 2)]) }
    try replicas.settle()
    try replicas.settle()
    for replica in replicas { #expect(try count(replica) == 8) }
  }
}
