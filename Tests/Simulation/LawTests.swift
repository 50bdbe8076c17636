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

  @Test("A trace that fails is made as short as it can be")
  func shrinks() async {
    let steps = [
      Step(.save, 0, 1), Step(.restart, 1, 2), Step(.offline, 2, 3), Step(.settle, 0, 4),
    ]
    let short = await Shrinker.shrink(steps) { $0.contains { $0.kind == .offline } }
    #expect(short == [Step(.offline, 2, 3)])
  }
}
