import Driftless
import DriftlessTesting
import Foundation

/// A small model of a seed: some of every attribute type, policy, kind of relationship, delete rule
/// and constraint.
struct GeneratedModel {
  let scenario: Scenario
  let seed: UInt64

  /// The model as a version of the program has it: each version has all that the one before has.
  func version(_ version: Int) -> ManagedObjectModel {
    var generator = SeededGenerator(seed: seed &* 0x9FB2_1C65_1E98_DF25 &+ 1)
    let item = item(&generator, version)
    let special = EntityDescription("Special")
    special.superentityName = "Item"
    special.properties = [AttributeDescription("extra", .string)]
    let box = box(&generator)
    let tag = tag(&generator)
    var entities = [item, special, box, tag]
    if generator.chance(60) || scenario.hasMoves { relateRows(item, box, &generator) }
    if generator.chance(70) || scenario.hasMoves { relateTags(item, tag, &generator) }
    if generator.chance(40), scenario.hasOwnInverse {
      item.properties += [
        RelationshipDescription("friends", to: "Item", inverse: "friends", toMany: true)
      ]
    }
    if scenario.hasOneToOne { entities.append(badge(item, &generator)) }
    if scenario.hasTrees { entities.append(node(&generator)) }
    if scenario.hasRequired { entities += required(item, &generator) }
    if scenario.hasShapes { entities += shapes(item, &generator) }
    if scenario.hasPairs {
      item.properties += [RelationshipDescription("mate", to: "Item", inverse: "mate")]
    }
    if scenario.hasNarrowModels { entities.append(part(version)) }
    if version > 0, scenario.hasModelVersions {
      let later = EntityDescription("Later")
      later.properties = [AttributeDescription("name", .string)]
      entities.append(later)
    }
    for entity in entities {
      let keepsEdited = generator.chance(40) || scenario.editsWin
      // What a program brings back is without what its model has no name for.
      entity.deletePolicy = keepsEdited && !scenario.hasRenames ? .editWins : .deleteWins
    }
    if isSealed { encrypt(entities) }
    return ManagedObjectModel(entities: entities)
  }

  /// Whether some of the attributes are encrypted: in every third world.
  var isSealed: Bool { seed % 3 == 0 || scenario.hasLostKeys }

  /// Encrypts some attributes, the same ones in every version, whatever they are called there.
  private func encrypt(_ entities: [EntityDescription]) {
    for entity in entities {
      for case let attribute as AttributeDescription in entity.ownProperties {
        var digest = seed &+ 0xcbf2_9ce4_8422_2325
        let name =
          Self.renamed.contains(attribute.name) ? "title" : attribute.name
        for byte in "\(entity.name).\(name)".utf8 {
          digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        guard (digest >> 32) % 100 < 60 else { continue }
        attribute.userInfo[AttributeDescription.encryptedKey] = "yes"
      }
    }
  }

  // MARK: - Entities

  private static let attributes: [(String, AttributeType, ConflictPolicy?)] = [
    ("small", .integer16, nil), ("middle", .integer32, nil), ("large", .integer64, nil),
    ("price", .decimal, nil), ("weight", .double, nil), ("part", .float, nil),
    ("made", .date, nil), ("blob", .binaryData, nil), ("code", .uuid, nil), ("page", .uri, nil),
    ("high", .integer64, .max), ("low", .integer64, .min), ("newest", .date, .max),
    ("note", .string, .serverWins), ("mine", .string, .clientWins), ("words", .string, .union),
    ("text", .string, .text), ("pick", .string, .custom("longest")), ("held", .string, .manual),
    ("stock", .integer64, .counter), ("count", .integer32, .counter),
    ("few", .integer16, .counter), ("sum", .decimal, .counter), ("marks", .transformable, nil),
  ]

  private func item(_ generator: inout SeededGenerator, _ version: Int) -> EntityDescription {
    let item = EntityDescription("Item")
    var properties: [PropertyDescription] = [
      title(version), AttributeDescription("flag", .boolean),
    ]
    for (name, type, policy) in Self.attributes
    where generator.chance(30) || scenario.hasHands && policy == .manual {
      let isCounter = policy == .counter
      properties.append(
        AttributeDescription(
          name, type, isOptional: !isCounter,
          defaultValue: !isCounter ? .null : type == .decimal ? .decimal(0) : .integer(0),
          conflictPolicy: policy))
    }
    if scenario.hasDeleteRules, generator.chance(40) {
      properties.append(
        AttributeDescription("must", .string, isOptional: false, defaultValue: .string("must")))
    }
    if scenario.hasUniqueKeys, generator.chance(60) {
      properties.append(AttributeDescription("serial", .string))
      item.uniquenessConstraints = [["serial"]]
    }
    if scenario.hasOwnRules {
      properties.append(
        AttributeDescription(
          "gathered", .string, isOptional: false, defaultValue: .string(""),
          conflictPolicy: Self.together))
    }
    if version > 0, scenario.hasModelVersions {
      properties.append(AttributeDescription("colour", .string))
    }
    if scenario.hasMigrations { properties += Self.migrated(version) }
    item.properties = properties
    return item
  }

  /// The rule of the app's own that keeps the words of both sides.
  static let together = ConflictPolicy.custom("together")

  /// What has numbers of more bits in later versions.
  static let widened: Set<String> = ["number", "amount"]

  /// What has a key, and a number beside it, that the first version has no room for.
  private func part(_ version: Int) -> EntityDescription {
    let part = EntityDescription("Part")
    let type = version == 0 ? AttributeType.integer16 : .integer64
    part.properties = [
      AttributeDescription("number", type), AttributeDescription("amount", type),
      AttributeDescription("name", .string),
    ]
    part.uniquenessConstraints = [["number"]]
    return part
  }

  /// How many versions there are where programs migrate.
  static let migrations = 4
  /// What the second version lacks, and the third has again: edits of it that were not sent are in the journal.
  static let dropped = "memo"

  private static func migrated(_ version: Int) -> [PropertyDescription] {
    var properties: [PropertyDescription] = []
    if version != 1 { properties.append(AttributeDescription(dropped, .string)) }
    if version > 0 {
      properties.append(
        AttributeDescription("shade", .string, defaultValue: .string(version == 1 ? "red" : "blue"))
      )
      properties.append(
        AttributeDescription(
          "grade", .integer64, isOptional: false, defaultValue: .integer(version < 3 ? 1 : 2)))
    }
    return properties
  }

  /// What later versions call otherwise.
  static let renamed: Set<String> = ["title", "heading", "caption"]

  private func title(_ version: Int) -> AttributeDescription {
    guard version > 0, scenario.hasRenames else { return AttributeDescription("title", .string) }
    if version > 1 {
      let caption = AttributeDescription("caption", .string)
      caption.renamingIdentifier = "heading"
      caption.userInfo[PropertyDescription.formerNamesKey] = "title"
      return caption
    }
    let heading = AttributeDescription("heading", .string)
    heading.renamingIdentifier = "title"
    return heading
  }

  private func box(_ generator: inout SeededGenerator) -> EntityDescription {
    let box = EntityDescription("Box")
    box.properties = [AttributeDescription("name", .string)]
    return box
  }

  /// Items lie in boxes: with or without an order, required or not, under any delete rule.
  private func relateRows(
    _ item: EntityDescription, _ box: EntityDescription, _ generator: inout SeededGenerator
  ) {
    let isRequired = scenario.hasDeleteRules && generator.chance(30)
    let rules: [DeleteRule] =
      !scenario.hasDeleteRules
      ? [.nullify] : isRequired ? [.cascade, .deny] : [.nullify, .cascade, .deny]
    let rule = rules[Int(generator.next() % UInt64(rules.count))]
    item.properties += [
      RelationshipDescription("box", to: "Box", inverse: "items", isOptional: !isRequired)
    ]
    box.properties += [
      RelationshipDescription(
        "items", to: "Item", inverse: "box", toMany: true,
        isOrdered: generator.chance(50) || scenario.hasMoves,
        deleteRule: rule)
    ]
  }

  private func tag(_ generator: inout SeededGenerator) -> EntityDescription {
    let tag = EntityDescription("Tag")
    tag.properties = [AttributeDescription("name", .string), AttributeDescription("area", .string)]
    if scenario.hasUniqueKeys {
      tag.uniquenessConstraints = generator.chance(50) ? [["name"]] : [["name", "area"]]
    }
    return tag
  }

  private func relateTags(
    _ item: EntityDescription, _ tag: EntityDescription, _ generator: inout SeededGenerator
  ) {
    let isOrdered = scenario.hasOrderedManyToMany && generator.chance(60)
    item.properties += [
      RelationshipDescription(
        "tags", to: "Tag", inverse: "items", toMany: true, isOrdered: isOrdered,
        deleteRule: idle(&generator))
    ]
    tag.properties += [
      RelationshipDescription(
        "items", to: "Item", inverse: "tags", toMany: true, deleteRule: idle(&generator))
    ]
  }

  /// A delete rule that takes nothing along, of those that the scenario has.
  private func idle(_ generator: inout SeededGenerator) -> DeleteRule {
    scenario.hasShapes && generator.chance(50) ? .noAction : .nullify
  }

  private func badge(
    _ item: EntityDescription, _ generator: inout SeededGenerator
  ) -> EntityDescription {
    let badge = EntityDescription("Badge")
    item.properties += [
      RelationshipDescription(
        "badge", to: "Badge", inverse: "owner",
        deleteRule: scenario.hasDeleteRules && generator.chance(40) ? .cascade : idle(&generator))
    ]
    badge.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "owner", to: "Item", inverse: "badge", deleteRule: idle(&generator)),
    ]
    return badge
  }

  /// What must have a partner, as the end that says the fact and as the one that follows; what must have a key that objects of
  /// three entities claim; and what must have a parent.
  private func required(
    _ item: EntityDescription, _ generator: inout SeededGenerator
  ) -> [EntityDescription] {
    func rule() -> DeleteRule {
      let rules: [DeleteRule] = [.nullify, .cascade, .deny]
      return rules[Int(generator.next() % 3)]
    }
    let cover = EntityDescription("Cover")
    cover.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("over", to: "Item", inverse: "cover", isOptional: false),
    ]
    let seal = EntityDescription("Seal")
    seal.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("bearer", to: "Item", inverse: "seal", isOptional: false),
    ]
    item.properties += [
      RelationshipDescription("cover", to: "Cover", inverse: "over", deleteRule: rule()),
      RelationshipDescription("seal", to: "Seal", inverse: "bearer", deleteRule: rule()),
    ]
    let card = EntityDescription("Card")
    card.properties = [
      AttributeDescription("code", .string, isOptional: false),
      AttributeDescription("name", .string),
    ]
    card.uniquenessConstraints = [["code"]]
    let gold = EntityDescription("Gold")
    gold.superentityName = "Card"
    let silver = EntityDescription("Silver")
    silver.superentityName = "Card"
    let area = EntityDescription("Area")
    area.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "plots", to: "Plot", inverse: "parent", toMany: true,
        deleteRule: generator.chance(50) ? .cascade : .deny),
    ]
    let plot = EntityDescription("Plot")
    plot.superentityName = "Area"
    let parent = RelationshipDescription("parent", to: "Area", inverse: "plots", isOptional: false)
    parent.userInfo = ["driftless.tree": "1"]
    plot.properties = [parent]
    return [cover, seal, card, gold, silver, area, plot]
  }

  private func node(_ generator: inout SeededGenerator) -> EntityDescription {
    let node = EntityDescription("Node")
    let parent = RelationshipDescription("parent", to: "Node", inverse: "children")
    parent.userInfo = ["driftless.tree": "1"]
    node.properties = [
      AttributeDescription("name", .string), parent,
      RelationshipDescription(
        "children", to: "Node", inverse: "parent", toMany: true,
        deleteRule: scenario.hasDeleteRules && generator.chance(40) ? .cascade : .nullify),
    ]
    return node
  }
}
