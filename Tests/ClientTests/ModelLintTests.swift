import ArgumentParser
import Driftless
import Foundation
import TestSupport
import Testing

@testable import SyncControl

@Suite struct ModelLintTests {
  /// A model of one entity `Item`, with an entity `Box` for its relationships.
  private func lint(
    _ properties: [PropertyDescription], box: [PropertyDescription] = [],
    _ change: (EntityDescription) -> Void = { _ in }
  ) throws -> [ModelLint.Finding] {
    let (item, other) = (EntityDescription("Item"), EntityDescription("Box"))
    item.properties = properties
    other.properties = [AttributeDescription("label", .string)] + box
    change(item)
    let model = ManagedObjectModel(entities: [item, other])
    try model.freeze()
    return ModelLint(model).findings
  }

  private func name(_ findings: [ModelLint.Finding]) -> [String] {
    findings.map { "\($0.code.rawValue) \($0.element)" }
  }

  @Test("A model that says nothing odd is clean, whatever its names suggest")
  func clean() throws {
    let tree = RelationshipDescription("parent", to: "Item", inverse: "children")
    tree.userInfo = [RelationshipDescription.treeKey: "YES", "others.key": "x"]
    let findings = try lint(
      [
        AttributeDescription("viewCount", .integer64),
        AttributeDescription("stock", .decimal, conflictPolicy: .counter),
        AttributeDescription("note", .string, conflictPolicy: .text),
        AttributeDescription("labels", .transformable, conflictPolicy: .union),
        AttributeDescription("seen", .date, conflictPolicy: .max), tree,
        RelationshipDescription("children", to: "Item", inverse: "parent", toMany: true),
        RelationshipDescription(
          "boxes", to: "Box", inverse: "items", toMany: true, isOrdered: true),
      ],
      box: [RelationshipDescription("items", to: "Item", inverse: "boxes", toMany: true)]
    ) { $0.uniquenessConstraints = [["note"]] }
    #expect(name(findings) == ["optional-key Item.note"])
    #expect(ModelLint(try frozen()).lines == ["nothing found"])
  }

  private func frozen() throws -> ManagedObjectModel {
    let model = Shop.model()
    try model.freeze()
    return model
  }

  @Test("Two things that say that they were called by one name before are named, each pair once")
  func sharedNames() throws {
    let first = AttributeDescription("first", .string)
    let second = AttributeDescription("second", .string)
    first.renamingIdentifier = "old"
    second.userInfo = [PropertyDescription.formerNamesKey: "older, old"]
    let label = AttributeDescription("sticker", .string)
    label.renamingIdentifier = "old"
    let found = try lint([first, second], box: [label]) {
      $0.renamingIdentifier = "Thing"
    }
    #expect(name(found) == ["shared-name Item.second"])
    #expect(found.first?.reason.contains("Item.first") == true)
  }

  @Test("What says that it is encrypted and is not is named")
  func encryption() throws {
    let key = AttributeDescription.encryptedKey
    let fine = AttributeDescription("fine", .string)
    fine.userInfo = [key: "yes"]
    let open = AttributeDescription("open", .string)
    open.userInfo = [key: "NO"]
    let odd = AttributeDescription("odd", .string)
    odd.userInfo = [key: "perhaps"]
    let passing = AttributeDescription("passing", .string)
    passing.isTransient = true
    passing.userInfo = [key: "1"]
    let box = RelationshipDescription("box", to: "Box", inverse: "items")
    box.userInfo = [key: "yes"]
    let findings = try lint(
      [fine, open, odd, passing, box],
      box: [RelationshipDescription("items", to: "Item", inverse: "box", toMany: true)])
    #expect(
      name(findings) == [
        "unfit-encryption Item.box", "unfit-encryption Item.odd", "unfit-encryption Item.passing",
      ])
    #expect(fine.isEncrypted && !open.isEncrypted && !odd.isEncrypted && !passing.isEncrypted)
  }

  @Test("Rules that every program must have are named, of properties and of entities")
  func custom() throws {
    let findings = try lint([
      AttributeDescription("a", .string, conflictPolicy: .custom("longest")),
      AttributeDescription("b", .string),
    ]) { $0.conflictPolicy = .custom("ours") }
    #expect(name(findings) == ["custom-policy Item", "custom-policy Item.a"])
    #expect(findings[1].suggestion?.contains(#"customPolicies["longest"]"#) == true)
  }

  @Test(
    "Policies that do not fit the type are named, also those that elements inherit",
    arguments: [
      (AttributeType.string, ConflictPolicy.counter), (.boolean, .counter), (.date, .counter),
      (.integer16, .text), (.uuid, .text), (.double, .union), (.date, .union),
      (.binaryData, .max), (.binaryData, .min),
    ])
  func inherited(type: AttributeType, policy: ConflictPolicy) throws {
    let (inner, outer) = (CompositeAttributeDescription(), CompositeAttributeDescription())
    inner.name = "inner"
    inner.elements = [
      AttributeDescription("unfit", type),
      AttributeDescription("own", type, conflictPolicy: .lastWriterWins),
    ]
    outer.name = "outer"
    outer.elements = [inner]
    outer.conflictPolicy = policy
    let findings = try lint([outer])
    #expect(name(findings) == ["unfit-policy Item.outer.inner.unfit"])
    #expect(findings[0].reason.contains("\(policy.text) of the attribute around it"))
  }

  @Test("Own policies that reading takes, and that do not fit, are named")
  func own() throws {
    let one = RelationshipDescription("one", to: "Box", inverse: "items")
    one.conflictPolicy = .union
    let greatest = RelationshipDescription("two", to: "Box", inverse: "others")
    greatest.conflictPolicy = .max
    let findings = try lint(
      [
        AttributeDescription("flag", .boolean, conflictPolicy: .union),
        AttributeDescription("photo", .binaryData, conflictPolicy: .max), one, greatest,
      ],
      box: [
        RelationshipDescription("items", to: "Item", inverse: "one", toMany: true),
        RelationshipDescription("others", to: "Item", inverse: "two", toMany: true),
      ])
    #expect(
      name(findings) == ["flag", "one", "photo", "two"].map { "unfit-policy Item.\($0)" })
  }

  @Test("Policies that settle nothing are named")
  func idle() throws {
    let derived = DerivedAttributeDescription()
    derived.name = "derived"
    derived.type = .string
    derived.derivationExpressionFormat = "uppercase:(word)"
    derived.conflictPolicy = .max
    let transient = AttributeDescription("transient", .string, conflictPolicy: .text)
    transient.isTransient = true
    let (many, follower) = (
      RelationshipDescription("many", to: "Box", inverse: "items", toMany: true),
      RelationshipDescription("partner", to: "Box", inverse: "item")
    )
    many.conflictPolicy = .serverWins
    follower.conflictPolicy = .clientWins
    let findings = try lint(
      [
        derived, AttributeDescription("word", .string, conflictPolicy: .clientWins), transient,
        many, follower,
      ],
      box: [
        RelationshipDescription("items", to: "Item", inverse: "many", toMany: true),
        RelationshipDescription("item", to: "Item", inverse: "partner"),
      ]
    ) { $0.conflictPolicy = .text }
    #expect(
      name(findings)
        == ["", ".derived", ".many", ".partner", ".transient"].map {
          "idle-policy Item\($0)"
        })
    // A rule that is of use to one property is no finding.
    #expect(
      try lint([AttributeDescription("a", .string), AttributeDescription("b", .date)]) {
        $0.conflictPolicy = .text
      }.isEmpty)
  }

  @Test("Relationships without inverse, and those that are ordered at both ends")
  func relationships() throws {
    let findings = try lint(
      [
        RelationshipDescription("loose", to: "Box", inverse: nil),
        RelationshipDescription("many", to: "Box", inverse: nil, toMany: true),
        RelationshipDescription("b", to: "Box", inverse: "a", toMany: true, isOrdered: true),
      ],
      box: [RelationshipDescription("a", to: "Item", inverse: "b", toMany: true, isOrdered: true)])
    #expect(
      name(findings) == [
        "twofold-order Item.b", "missing-inverse Item.loose", "missing-inverse Item.many",
      ])
    #expect(findings[2].reason.contains("columns") && !findings[1].reason.contains("columns"))
  }

  @Test("Keys and words of the library that mean nothing where they stand are named")
  func settings() throws {
    let number = AttributeDescription("number", .integer64)
    number.userInfo = ["driftless.conflictpolicy": "counter", "driftless.deletePolicy": "editWins"]
    let parent = RelationshipDescription("parent", to: "Item", inverse: "children")
    parent.userInfo = [RelationshipDescription.treeKey: "on"]
    let children = RelationshipDescription(
      "children", to: "Item", inverse: "parent", toMany: true)
    children.userInfo = [RelationshipDescription.treeKey: "1"]
    let findings = try lint([number, parent, children]) {
      $0.userInfo["driftless.tree"] = "1"
    }
    #expect(
      name(findings)
        == ["", ".children", ".number", ".number", ".parent"].map { "unknown-setting Item\($0)" })
  }

  @Test("Who says that values wait which never do, or says it in words that mean nothing, is told")
  func fetchTimes() throws {
    func attribute(
      _ name: String, _ type: AttributeType, _ word: String, _ policy: ConflictPolicy? = nil
    ) -> AttributeDescription {
      let attribute = AttributeDescription(name, type, conflictPolicy: policy)
      attribute.userInfo[FetchTiming.userInfoKey] = word
      return attribute
    }
    let transient = attribute("transient", .binaryData, "firstUse")
    transient.isTransient = true
    let findings = try lint([
      attribute("photo", .binaryData, "firstUse"), attribute("word", .string, "firstUse"),
      attribute("marks", .transformable, "firstUse", .union), transient,
      attribute("misspelt", .binaryData, "first-use"), attribute("early", .string, "eager"),
    ])
    #expect(
      name(findings).sorted()
        == ["marks", "misspelt", "transient", "word"].map { "unfit-fetch Item.\($0)" })
  }

  @Test("It ends with 21 where something was found, and JSON has every key")
  func command() async throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("m.xml")
    func model(_ policy: String) throws {
      try Data(
        """
        <model><entity name="Item"><attribute name="a" attributeType="Date">
        <userInfo><entry key="driftless.conflictPolicy" value="\(policy)"/></userInfo>
        </attribute></entity></model>
        """.utf8
      ).write(to: file)
    }
    let codes: [(String, Int32)] = [("max", 0), ("union", 21), ("counter", 65), ("unions", 65)]
    for (policy, code) in codes {
      try model(policy)
      for more in [[], ["--json"]] {
        #expect(await SyncControl.run(["model", "lint", file.path] + more) == code, "\(policy)")
      }
    }
    let finding = ModelLint.Finding(code: .optionalKey, element: "a", reason: "b")
    let text = String(decoding: try OutputOptions.encoder.encode(finding), as: UTF8.self)
    #expect(text == #"{"code":"optional-key","element":"a","reason":"b","suggestion":null}"#)
    for code in ModelLint.Finding.Code.allCases {
      #expect(ModelLintCommand.configuration.discussion.contains("\n\(code.rawValue) "))
    }
  }

  @Test("Words of the file that are not read are findings, each with its line and what was meant")
  func words() async throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("shop.xml")
    func lint(_ entity: String) throws -> [ModelLint.Finding] {
      try Data("<model>\n\(entity)\n</model>".utf8).write(to: file)
      let words = try ManagedObjectModel.unknownWords(at: file)
      return ModelLint(words).findings
    }
    let wrong = try lint(
      """
      <entity name="Item" shiny="YES">
      <atribute name="note" attributeType="String"/>
      <attribute name="name" attributeType="String" optional="yes"/></entity>
      """)
    #expect(name(wrong) == ["unknown-word line 2", "misspelt-word line 3", "misspelt-word line 4"])
    #expect(wrong[1].suggestion?.contains("<attribute>") == true)
    #expect(await SyncControl.run(["model", "lint", file.path]) == 21)
    #expect(
      await SyncControl.run(["init", "--store", directory.file("s").path, "--model", file.path])
        == 65)
    #expect(!FileManager.default.fileExists(atPath: directory.file("s").path))
    _ = try lint(
      #"<entity name="Item" shiny="YES"><attribute name="a" attributeType="String"/></entity>"#)
    #expect(await SyncControl.run(["model", "lint", file.path]) == 21)
    #expect(
      await SyncControl.run(["init", "--store", directory.file("s").path, "--model", file.path])
        == 0)
  }
}
