import Driftless
import DriftlessTesting

/// Shapes that the other scenarios' models have none of: abstract entities between and above others, relationships without
/// inverse, delete rules that do nothing, and bounds of how many.
extension GeneratedModel {
  /// Papers lie in folders; of the paper itself there is none, of a sheet neither.
  func shapes(_ item: EntityDescription, _ generator: inout SeededGenerator) -> [EntityDescription]
  {
    let paper = EntityDescription("Paper")
    paper.isAbstract = true
    paper.properties = [
      AttributeDescription("name", .string), AttributeDescription("code", .string),
      RelationshipDescription("folder", to: "Folder", inverse: "papers"),
    ]
    if scenario.hasUniqueKeys { paper.uniquenessConstraints = [["code"]] }
    let sheet = EntityDescription("Sheet")
    sheet.superentityName = "Paper"
    sheet.isAbstract = true
    sheet.properties = [AttributeDescription("size", .integer16)]
    let letter = EntityDescription("Letter")
    letter.superentityName = "Sheet"
    letter.properties = [AttributeDescription("subject", .string)]
    let bill = EntityDescription("Bill")
    bill.superentityName = "Sheet"
    bill.properties = [
      AttributeDescription(
        "total", .integer64, isOptional: false, defaultValue: .integer(0), conflictPolicy: .counter)
    ]
    let map = EntityDescription("Map")
    map.superentityName = "Paper"
    let folder = EntityDescription("Folder")
    let rules: [DeleteRule] = [.noAction, .nullify, .cascade]
    let papers = RelationshipDescription(
      "papers", to: "Paper", inverse: "folder", toMany: true, isOrdered: generator.chance(40),
      deleteRule: rules[Int(generator.next() % 3)])
    if scenario.hasCounts {
      papers.maxCount = 2
      papers.minCount = generator.chance(30) ? 1 : 0
    }
    folder.properties = [AttributeDescription("name", .string), papers]
    let note = EntityDescription("Note")
    note.properties = [
      AttributeDescription("name", .string),
      without("about", "Item", false, &generator), without("paper", "Paper", false, &generator),
      without("also", "Item", true, &generator),
    ]
    return [paper, sheet, letter, bill, map, folder, note]
  }

  /// A relationship without inverse.
  private func without(
    _ name: String, _ destination: String, _ toMany: Bool, _ generator: inout SeededGenerator
  ) -> RelationshipDescription {
    RelationshipDescription(
      name, to: destination, inverse: nil, toMany: toMany,
      isOrdered: toMany && generator.chance(40),
      deleteRule: generator.chance(50) ? .noAction : .nullify)
  }
}
