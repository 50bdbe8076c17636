import Driftless
import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// Laws of the merge table over generated values of every type, in every order of delivery.
struct MergeLawTests {
  /// One replica's pending edit.
  private struct Edit {
    var value: PropertyValue
    var time: UInt64
    var replica: UUID
    var base: PropertyValue?
    var isPending = true
  }

  private struct Zone {
    var value: PropertyValue
    var time: UInt64 = 1
    var origin = UUID()
    var isTouched = false
    var pushes = 0
  }

  private static let types: [AttributeType] = [
    .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date,
    .binaryData, .uuid, .uri,
  ]
  private static let policies: [ConflictPolicy] = [
    .lastWriterWins, .serverWins, .clientWins, .max, .min, .counter, .union, .text,
    .custom("longest"), .manual,
  ]
  private static let orders = [
    [0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0],
  ]

  private func value(_ type: AttributeType, _ numbers: inout SeededNumbers) -> PropertyValue {
    if numbers.chance(10) { return .null }
    let small = numbers.number(below: 5)
    switch type {
    case .integer16: return .integer([-32_768, -3, 0, 7, 32_767][small])
    case .integer32: return .integer([Int64(Int32.min), -3, 0, 7, Int64(Int32.max)][small])
    case .integer64: return .integer([.min, -3, 0, 7, .max][small])
    case .decimal: return .decimal([Decimal(-12), 0, 7, Decimal(15) / 10, .nan][small])
    case .double: return .double([-0.0, 0.0, 1.5, -.infinity, .nan][small])
    case .float: return .double([-1, 0, 0.25, 3, 1e30][small])
    case .string:
      return .string(["", "a b", "a c", #"["a"]"#, #"["b","c"]"#][small])
    case .boolean: return .bool(small < 2)
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(small) / 8))
    case .binaryData: return .data(Data([UInt8(small)]))
    case .uuid:
      return .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(small))))
    case .uri: return URL(string: "https://example.org/\(small)").map { .uri($0) } ?? .null
    case .undefined, .transformable, .objectID, .composite: return .null
    }
  }

  private func verdict(
    _ policy: ConflictPolicy, _ type: AttributeType, _ edit: Edit, _ zone: Zone
  ) -> Verdict {
    let conflict = PropertyConflict(
      policy: policy, type: type, base: edit.base, local: edit.value, remote: zone.value,
      localTime: HybridTime(rawValue: edit.time), remoteTime: HybridTime(rawValue: zone.time),
      localReplica: edit.replica, remoteReplica: zone.origin)
    return MergeTable.settle(conflict) { _, conflict in
      ValueOrder.compare(conflict.local, conflict.remote) == .ascending
        ? conflict.remote : conflict.local
    }
  }

  /// What a pull and a push of one replica do to its edit and to the zone.
  private func sync(
    _ edit: inout Edit, _ zone: inout Zone, _ policy: ConflictPolicy, _ type: AttributeType
  ) {
    if zone.isTouched, edit.isPending {
      let verdict = verdict(policy, type, edit, zone)
      switch verdict.settlement {
      case .same: edit.isPending = false
      case .remote: (edit.value, edit.isPending) = (zone.value, false)
      case .local, .sameButLater: break
      case .combined(let value): (edit.value, edit.isPending) = (value, value != zone.value)
      }
      edit.base = verdict.base ?? zone.value
    }
    guard edit.isPending else { return }
    zone.value = edit.value
    (zone.time, zone.origin, zone.isTouched) = (edit.time, edit.replica, true)
    zone.pushes += 1
    edit.isPending = false
  }

  private func edits(
    _ type: AttributeType, base: PropertyValue, _ numbers: inout SeededNumbers
  ) -> [Edit] {
    (0..<3).map { _ in
      Edit(
        value: value(type, &numbers), time: 2 + UInt64(numbers.number(below: 3)),
        replica: UUID(
          uuid: (UInt8(numbers.number(below: 256)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)),
        base: base)
    }
  }

  @Test("What no rule of order decides is the same in every order of delivery", arguments: types)
  func everyOrder(type: AttributeType) {
    var numbers = SeededNumbers(seed: UInt64(type.rawValue))
    for policy in [ConflictPolicy.lastWriterWins, .max, .min, .custom("longest")] {
      for _ in 0..<60 {
        let base = value(type, &numbers)
        let edits = edits(type, base: base, &numbers)
        var results: [PropertyValue] = []
        for order in Self.orders {
          var zone = Zone(value: base)
          for index in order {
            var edit = edits[index]
            sync(&edit, &zone, policy, type)
          }
          results.append(zone.value)
        }
        // Equal times of one replica are no order at all.
        let stamps = Set(edits.map { "\($0.time) \($0.replica)" })
        guard stamps.count == 3 else { continue }
        #expect(Set(results).count == 1, "\(policy) \(edits.map(\.value)) \(results)")
      }
    }
  }

  @Test("A replica pushes once, and what is settled stays settled", arguments: types)
  func idempotent(type: AttributeType) {
    var numbers = SeededNumbers(seed: UInt64(type.rawValue) + 1)
    for policy in Self.policies {
      for _ in 0..<40 {
        let base = value(type, &numbers)
        var edits = edits(type, base: base, &numbers)
        var zone = Zone(value: base)
        for _ in 0..<3 {
          for index in edits.indices { sync(&edits[index], &zone, policy, type) }
        }
        #expect(zone.pushes <= 3)
        // A value that stands meets itself again: nothing changes.
        var again = Edit(
          value: zone.value, time: zone.time, replica: zone.origin, base: zone.value)
        again.isPending = true
        let verdict = verdict(policy, type, again, zone)
        #expect(
          verdict.settlement == .same, "\(policy) \(zone.value) \(verdict.settlement)")
      }
    }
  }

  @Test(
    "Every settlement that loses a value says which stands, and by which rule", arguments: types)
  func explained(type: AttributeType) {
    var numbers = SeededNumbers(seed: UInt64(type.rawValue) + 2)
    for policy in Self.policies {
      for _ in 0..<40 {
        let edit = edits(type, base: value(type, &numbers), &numbers)[0]
        let zone = Zone(value: value(type, &numbers), time: 3, isTouched: true)
        let verdict = verdict(policy, type, edit, zone)
        let text = verdict.explanation(of: "stock", policy: policy)
        #expect(text.hasPrefix("stock was changed on both sides; "))
        if case .union = policy, case .string(let text) = edit.value, !text.hasPrefix("["),
          verdict.settlement != .same, verdict.settlement != .sameButLater
        {
          #expect(verdict.rule?.hasPrefix("lastWriterWins, since") == true)
        }
      }
    }
  }

  @Test(
    "S3 An edit between two equal ones in time loses to the later of the two",
    arguments: [ConflictPolicy.lastWriterWins, .custom("latest")])
  func laterOfTwoEqual(policy: ConflictPolicy) {
    let (done, open) = (PropertyValue.bool(true), PropertyValue.bool(false))
    func settle(
      _ local: PropertyValue, _ localTime: UInt64, _ remote: PropertyValue, _ remoteTime: UInt64
    ) -> Settlement {
      MergeTable.settle(
        PropertyConflict(
          policy: policy, local: local, remote: remote, localTime: HybridTime(rawValue: localTime),
          remoteTime: HybridTime(rawValue: remoteTime), localReplica: UUID(), remoteReplica: UUID())
      ) { _, conflict in conflict.isLocalLater ? conflict.local : conflict.remote }.settlement
    }
    #expect(settle(done, 3, done, 1) == .sameButLater)
    #expect(settle(open, 2, done, 3) == .remote)
    #expect(settle(done, 3, done, 4) == .same)
    #expect(settle(done, 3, done, 1) != settle(done, 1, done, 3))
  }

  @Test("S3 Greatest, least, the zone's and a person's word do not look at time")
  func equalWithoutTime() {
    for policy in [ConflictPolicy.max, .min, .serverWins, .manual] {
      let edit = Edit(value: .integer(1), time: 9, replica: UUID(), base: .integer(0))
      let zone = Zone(value: .integer(1), time: 2)
      #expect(verdict(policy, .integer64, edit, zone).settlement == .same)
    }
  }

  @Test("S3 An element that was added twice outlives the removal of the first addition")
  func addedTwice() {
    let (empty, one) = (PropertyValue.string("[]"), PropertyValue.string(#"["a"]"#))
    var edit = Edit(value: one, time: 5, replica: UUID(), base: empty)
    let first = verdict(.union, .string, edit, Zone(value: one, time: 2))
    #expect(first.settlement == .sameButLater)
    edit.base = first.base ?? one
    #expect(verdict(.union, .string, edit, Zone(value: empty, time: 3)).settlement == .local)
  }

  @Test(
    "S8 A counter stops at the bounds of its type, and says so",
    arguments: [
      (AttributeType.integer16, 20_000, 32_767), (.integer32, 2_000_000_000, 2_147_483_647),
      (.integer64, Int64.max - 1, Int64.max),
    ] as [(AttributeType, Int64, Int64)])
  func integerBounds(type: AttributeType, count: Int64, stop: Int64) {
    for sign in [Int64(1), -1] {
      let zone = Zone(value: .integer(sign * count), time: 2)
      let edit = Edit(value: .integer(sign * count), time: 3, replica: UUID(), base: .integer(0))
      let verdict = verdict(.counter, type, edit, zone)
      #expect(verdict.settlement == .combined(.integer(sign > 0 ? stop : -stop - 1)))
      #expect(verdict.note?.contains("stops at") == true)
    }
  }

  @Test("S8 Counters of fractions stop at the greatest finite value")
  func fractionBounds() {
    let great = Double.greatestFiniteMagnitude
    let doubles = verdict(
      .counter, .double, Edit(value: .double(great), time: 3, replica: UUID(), base: .double(0)),
      Zone(value: .double(great), time: 2))
    #expect(doubles.settlement == .combined(.double(great)))
    #expect(doubles.note?.contains("stops at") == true)
    let float = Double(Float.greatestFiniteMagnitude)
    let floats = verdict(
      .counter, .float, Edit(value: .double(float), time: 3, replica: UUID(), base: .double(0)),
      Zone(value: .double(float), time: 2))
    #expect(floats.settlement == .combined(.double(float)))
    let most = Decimal.greatestFiniteMagnitude
    let decimals = verdict(
      .counter, .decimal, Edit(value: .decimal(most), time: 3, replica: UUID(), base: .decimal(0)),
      Zone(value: .decimal(most), time: 2))
    #expect(decimals.settlement == .combined(.decimal(most)))
    #expect(decimals.note?.contains("stops at") == true)
  }

  @Test("S8 A counter stops at its attribute's own bounds")
  func attributeBounds() {
    let attribute = AttributeDescription("stock", .integer64)
    attribute.minimum = .integer(0)
    attribute.maximum = .integer(10)
    func sum(base: Int64, local: Int64, remote: Int64) -> Settlement {
      MergeTable.settle(
        PropertyConflict(
          policy: .counter, type: .integer64, attribute: attribute, base: .integer(base),
          local: .integer(local), remote: .integer(remote), localTime: HybridTime(rawValue: 2),
          remoteTime: HybridTime(rawValue: 1), localReplica: UUID(), remoteReplica: UUID())
      ) { _, _ in nil }.settlement
    }
    #expect(sum(base: 1, local: 0, remote: 0) == .combined(.integer(0)))
    #expect(sum(base: 5, local: 9, remote: 8) == .combined(.integer(10)))
    #expect(sum(base: 5, local: 4, remote: 14) == .combined(.integer(13)))
  }

  @Test("Two texts that are too long together are not put together")
  func tooLongTogether() {
    let attribute = AttributeDescription("text", .string)
    attribute.maximum = .integer(8)
    let conflict = PropertyConflict(
      policy: .text, type: .string, attribute: attribute, base: .string(""),
      local: .string("here"), remote: .string("there"), localTime: HybridTime(rawValue: 2),
      remoteTime: HybridTime(rawValue: 1), localReplica: UUID(), remoteReplica: UUID())
    let verdict = MergeTable.settle(conflict) { _, _ in nil }
    #expect(verdict.settlement == .local)
    #expect(
      verdict.explanation(of: "text", policy: .text)
        == "text was changed on both sides; by lastWriterWins, since both sides' edits make more "
        + "than 8 characters, this replica's value stands.")
  }

  @Test(
    "S8 What was counted here and cancels out ends, unless it is known which transactions counted",
    arguments: [(false, Settlement.same), (true, .sameButLater)])
  func cancelled(hasCounts: Bool, settlement: Settlement) {
    let conflict = PropertyConflict(
      policy: .counter, type: .integer64, base: .integer(10), local: .integer(10),
      hasCounts: hasCounts, remote: .integer(10), localTime: HybridTime(rawValue: 2),
      remoteTime: HybridTime(rawValue: 1), localReplica: UUID(), remoteReplica: UUID())
    let verdict = MergeTable.settle(conflict) { _, _ in nil }
    #expect(verdict.settlement == settlement)
  }

  @Test("A union keeps its elements as they are written, each digit of a number included")
  func unionKeepsSpelling() {
    func union(_ base: String, _ local: String, _ remote: String) -> Settlement {
      let edit = Edit(
        value: .string(local), time: 5, replica: UUID(), base: .string(base))
      return verdict(.union, .string, edit, Zone(value: .string(remote), time: 2)).settlement
    }
    #expect(
      union(
        "[]", #"[123456789012345678901234567890, "a,]\"b" ]"#,
        #"[123456789012345678901234567891,{"k" : [1, 2.50]}]"#)
        == .combined(
          .string(
            #"[123456789012345678901234567891,{"k":[1,2.50]},123456789012345678901234567890,"a,]\"b"]"#
          )))
    #expect(union("[1]", "[1, 2]", "[ ]") == .combined(.string("[2]")))
  }
}
