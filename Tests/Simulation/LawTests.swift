import Driftless
import Foundation
import Testing

/// The laws themselves: each sees what breaks it.
struct LawTests {
  private func identity(_ number: Int) -> UUID {
    UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, UInt8(number)))
  }

  private func broken(_ things: [Int: (String, [String: Int])], keys: [Int: String] = [:])
    throws -> [String]
  {
    var image = Image()
    for (number, (entity, references)) in things {
      var thing = Image.Thing(
        entity: entity, values: references.mapValues { Image.text(of: identity($0)) })
      thing.values["email"] = keys[number]
      image.things[identity(number)] = thing
    }
    let model = Stage.model()
    try model.freeze()
    let laws = StateLaws(image: image, traits: Traits(model)) { $0.uuidString }
    return Set(laws.check().map(\.law)).sorted()
  }

  @Test("The laws see a ring, two owners, a key twice and a reference to nothing")
  func stateLaws() throws {
    #expect(try broken([1: ("Node", [:]), 2: ("Node", ["parent": 1])]).isEmpty)
    #expect(
      try broken([
        1: ("Node", ["parent": 3]), 2: ("Node", ["parent": 1]), 3: ("Node", ["parent": 2]),
      ])
        == ["trees"])
    #expect(
      try broken([1: ("Item", ["badge": 3]), 2: ("Item", ["badge": 3]), 3: ("Badge", [:])])
        == ["one-to-one"])
    #expect(try broken([1: ("Item", ["box": 2])]) == ["references"])
    #expect(
      try broken([1: ("Item", [:]), 2: ("Item", [:])], keys: [1: "\"a\"", 2: "\"a\""]) == ["keys"])
  }

  @Test("An export is read back value by value")
  func image() {
    let text = """
      {"entity":"Item","id":"\(identity(1).uuidString.lowercased())","op":"insert","set":{"tags":["a","b"],"text":"a \\"}, \\\\","count":3}}

      """
    let thing = Image(export: text).things[identity(1)]
    #expect(thing?.values == ["tags": "[\"a\",\"b\"]", "text": "\"a \\\"}, \\\\\"", "count": "3"])
  }

  @Test("A seed gives the same course again")
  func sameCourse() async {
    let scenario = Scenario()
    let steps = scenario.steps(seed: 5)
    let first = await Simulation.run(scenario, seed: 5, steps)
    let second = await Simulation.run(scenario, seed: 5, steps)
    #expect(first.trace == second.trace)
    #expect(first.trace.count >= steps.count)
  }

  @Test("Who deletes an object of which the zone lacks a value's bytes saw what stands in for that")
  func deletedWithoutBytes() async throws {
    let name = "large values of restored servers in renewed zones"
    var scenario = try #require(Scenario.standing.first { $0.name == name })
    scenario.partObjectsMax = 2
    let steps = [
      Step(.join, 0, 127562), Step(.save, 2, 855624), Step(.backupServer, 0, 809175),
      Step(.save, 2, 516162), Step(.save, 2, 935165), Step(.fold, 2, 847656),
      Step(.sync, 2, 216028), Step(.save, 1, 459819), Step(.save, 1, 787051),
      Step(.save, 1, 920834), Step(.sync, 0, 631490), Step(.save, 2, 783875),
      Step(.save, 2, 851719), Step(.save, 1, 918734), Step(.push, 1, 727312),
      Step(.save, 2, 967352), Step(.save, 0, 535876), Step(.restoreServer, 0, 921426),
      Step(.save, 0, 950381), Step(.save, 2, 184291), Step(.save, 2, 777574),
      Step(.save, 1, 258078), Step(.save, 0, 512781), Step(.sync, 1, 850907),
      Step(.push, 0, 744730), Step(.pull, 0, 912757), Step(.crash, 0, 41293), Step(.settle, 0, 0),
    ]
    let outcome = await Simulation.run(scenario, seed: 61, steps)
    #expect(outcome.failures == [])
  }

  @Test("Who deletes an object deletes what they set of it under a former model, too")
  func deletedWithoutName() async throws {
    var scenario = try #require(
      Scenario.combined.first { $0.name == "migrations and restored servers" })
    scenario.partObjectsMax = 2
    let steps = [
      Step(.upgrade, 1, 937917), Step(.upgrade, 1, 7325), Step(.save, 0, 724499),
      Step(.sync, 0, 254797), Step(.save, 0, 309860), Step(.upgrade, 0, 907300),
      Step(.save, 0, 945498), Step(.settle, 0, 0),
    ]
    let outcome = await Simulation.run(scenario, seed: 85, steps)
    #expect(outcome.failures == [])
  }

  @Test("Who deletes an object deletes what others had set of it under a former model, too")
  func deletedHeard() async throws {
    var scenario = try #require(
      Scenario.combined.first { $0.name == "migrations and restored servers" })
    scenario.partObjectsMax = 2
    let steps = [
      Step(.save, 0, 589406), Step(.save, 0, 203291), Step(.save, 2, 443316),
      Step(.save, 1, 213599), Step(.sync, 1, 547440), Step(.save, 2, 242671),
      Step(.sync, 0, 284109), Step(.save, 2, 246550), Step(.save, 0, 655686),
      Step(.save, 2, 721014), Step(.save, 0, 517749), Step(.sync, 0, 398195),
      Step(.upgrade, 1, 655443), Step(.settle, 0, 0), Step(.save, 2, 92770),
      Step(.upgrade, 0, 614606), Step(.settle, 0, 0),
    ]
    let outcome = await Simulation.run(scenario, seed: 8, steps)
    #expect(outcome.failures == [])
  }

  @Test("A trace that fails is made as short as it can be")
  func shrinks() async {
    let steps = [
      Step(.save, 0, 1), Step(.restart, 1, 2), Step(.offline, 2, 3), Step(.settle, 0, 4),
    ]
    let short = await Shrinker.shrink(steps) { $0.contains { $0.kind == .offline } }
    #expect(short == [Step(.offline, 2, 3)])
  }
}
