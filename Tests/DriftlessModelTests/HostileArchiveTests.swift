import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Archives that are no models, that are damaged, and that are meant to do harm.
struct HostileArchiveTests {
  typealias Value = ArchiveBuilder.Value

  private func failure(_ bytes: Data) -> ModelError? {
    do {
      try ManagedObjectModel(compiled: bytes, path: "M.mom").freeze()
      return nil
    } catch {
      return error
    }
  }

  @Test("What is no archive of a model is refused by a typed error that names the file")
  func refusals() throws {
    for text in ["", "bplist00", "<?xml version=\"1.0\"?><plist><dict/></plist>"] {
      #expect(failure(Data(text.utf8))?.code == .malformed)
      #expect(failure(Data(text.utf8))?.element == "M.mom")
    }
    #expect(failure(Data(repeating: 0xFF, count: 4096))?.code == .malformed)
    let other = ArchiveBuilder.archive(.object("NSMappingModel", [:]))
    #expect(failure(other)?.code == .unsupportedFormat)
    let strange = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity("A", ["x": ArchiveBuilder.attribute("x", 700, class: "NSOdd")])
    ])
    #expect(failure(strange)?.element == "A.x" && failure(strange)?.code == .unsupportedFormat)
    let untyped = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity("A", ["x": ArchiveBuilder.attribute("x", 701)])
    ])
    #expect(failure(untyped)?.code == .unknownType)
    let dangling = ArchiveBuilder.model(["A": .reference("nothing")])
    #expect(failure(dangling)?.code == .malformed)
  }

  @Test("Archives whose objects hold themselves, or nest without end, are refused at once")
  func bombs() throws {
    let circle = Value.named(
      "c", "NSCompositeAttributeDescription",
      [
        "NSPropertyName": .text("c"), "NSAttributeType": .integer(2100),
        "NSElements": CompiledArchiveTests.list([.reference("c"), .reference("c")]),
      ])
    let composites = ArchiveBuilder.model(["A": ArchiveBuilder.entity("A", ["c": circle])])
    #expect(failure(composites)?.code == .tooLarge)
    let loop = Value.named(
      "p", "NSCompoundPredicate",
      [
        "NSCompoundPredicateType": .integer(1),
        "NSSubpredicates": CompiledArchiveTests.list([.reference("p"), .reference("p")]),
      ])
    let predicates = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity(
        "A",
        [
          "x": ArchiveBuilder.attribute(
            "x", 700, ["NSValidationPredicates": CompiledArchiveTests.list([loop])])
        ])
    ])
    #expect(failure(predicates)?.code == .unsupportedFormat)
    let echo = Value.named("s", "NSMutableString", ["NS.string": .reference("s")])
    let texts = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity("A", [:], ["NSVersionHashModifier": echo])
    ])
    #expect(failure(texts) == nil)
    let inheriting = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity("A", [:], ["NSSuperentity": .reference("A")])
    ])
    #expect(failure(inheriting)?.code == .cyclicInheritance)
  }

  @Test("One property under thousands of names does not become thousands in thousands of entities")
  func repetition() throws {
    let property = Value.named(
      "p", "NSAttributeDescription", ["NSAttributeType": .integer(700)])
    var properties: [String: Value] = [:]
    for number in 0..<500 { properties["p\(number)"] = number == 0 ? property : .reference("p") }
    let all = Value.named(
      "all", "NSDictionary",
      [
        "NS.keys": .array(properties.keys.sorted().map { .text($0) }),
        "NS.objects": .array(properties.keys.sorted().map { properties[$0] ?? .null }),
      ])
    var entities: [String: Value] = [:]
    for number in 0..<500 {
      entities["E\(number)"] = .object(
        "NSEntityDescription", ["NSProperties": number == 0 ? all : .reference("all")])
    }
    #expect(failure(ArchiveBuilder.model(entities))?.code == .malformed)
  }

  @Test("A list whose objects overlap is read no more than a few times over")
  func overlap() throws {
    // 20,000 objects that are all one array of 20,000 references: 400 million of them, unfolded.
    let count = 20_000
    var bytes = Array("bplist00".utf8)
    bytes += [0xAF, 0x11, UInt8(count >> 8), UInt8(count & 0xFF)]
    for number in 0..<count { bytes += [UInt8(number >> 8), UInt8(number & 0xFF)] }
    let table = bytes.count
    for _ in 0..<count { bytes += [0, 8] }
    bytes += [0, 0, 0, 0, 0, 0, 2, 2]
    for value in [count, 0, table] {
      bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
    let list = try BinaryPropertyList(Data(bytes))
    #expect(throws: BinaryPropertyList.Damage.self) {
      for index in 0..<count { _ = try list.object(at: index) }
    }
    #expect(failure(Data(bytes))?.code == .malformed)
  }

  @Test("Damaged archives give an error or a model, never a trap", arguments: 0..<20)
  func damage(seed: Int) throws {
    var numbers = SeededNumbers(seed: UInt64(seed) &+ 3000)
    var samples = [CompiledArchiveTests.full]
    if RealModels.compiledAreHere {
      samples += try RealModels.compiled().map { try Data(contentsOf: $0) }
    }
    for sample in samples {
      for _ in 0..<60 {
        var damaged = sample
        for _ in 0...Int.random(in: 0..<4, using: &numbers) {
          let index = Int.random(in: 0..<damaged.count, using: &numbers)
          damaged[index] = UInt8.random(in: .min ... .max, using: &numbers)
        }
        if Int.random(in: 0..<4, using: &numbers) == 0 {
          // The trailer stays: without it nothing is looked at.
          let tail = damaged.suffix(32)
          damaged = damaged.prefix(Int.random(in: 0..<damaged.count, using: &numbers)) + tail
        }
        let error = failure(Data(damaged))
        #expect(error == nil || error?.suggestion.isEmpty == false)
      }
    }
  }
}
