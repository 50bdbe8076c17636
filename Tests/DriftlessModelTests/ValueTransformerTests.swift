import Foundation
import Testing

@testable import Driftless

/// Transformable attributes and the registry of their transformers.
struct ValueTransformerTests {
  private struct Color: Equatable {
    var red: UInt8
    var green: UInt8
  }

  private final class ColorTransformer: ValueTransformer, @unchecked Sendable {
    override func transformedValue(_ value: Any?) -> Any? {
      (value as? Color).map { Data([$0.red, $0.green]) }
    }

    override func reverseTransformedValue(_ value: Any?) -> Any? {
      guard let data = value as? Data, data.count == 2 else { return nil }
      return Color(red: data[data.startIndex], green: data[data.startIndex + 1])
    }
  }

  private func object(_ transformer: String?) throws -> (ManagedObjectContext, ManagedObject) {
    let tint = AttributeDescription("tint", .transformable)
    tint.valueTransformerName = transformer
    let entity = EntityDescription("Thing")
    entity.properties = [tint]
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [entity]))
    try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    return (context, try context.insert(entityNamed: "Thing"))
  }

  @Test("An archive of an object that is not to be made gives nothing, wherever in it that lies")
  func otherClasses() throws {
    let transformer = SecureUnarchiveFromData()
    for object in [NSDateComponents(), NSArray(array: [NSDateComponents()])] as [NSObject] {
      let archive = try NSKeyedArchiver.archivedData(
        withRootObject: object, requiringSecureCoding: true)
      #expect(transformer.transformedValue(archive) == nil)
    }
    let text = try #require(transformer.reverseTransformedValue(["a", "b"]) as? Data)
    #expect(transformer.transformedValue(text) as? [String] == ["a", "b"])
    #expect(transformer.transformedValue(text.dropLast(20)) == nil)
    #expect(transformer.transformedValue(Data()) == nil)
  }

  /// - Parameter objects: XML of the objects after the first, which is null.
  private func archive(_ objects: [String]) -> Data {
    let list = objects.joined(separator: "\n")
    return Data(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict>
      <key>$archiver</key><string>NSKeyedArchiver</string>
      <key>$version</key><integer>100000</integer>
      <key>$top</key><dict><key>root</key>\(Self.reference(1))</dict>
      <key>$objects</key><array><string>$null</string>\(list)</array>
      </dict></plist>
      """.utf8)
  }

  private static func reference(_ number: Int) -> String {
    "<dict><key>CF$UID</key><integer>\(number)</integer></dict>"
  }

  private func list(of members: [Int], class number: Int) -> String {
    """
    <dict><key>$class</key>\(Self.reference(number))
    <key>NS.objects</key><array>\(members.map(Self.reference).joined())</array></dict>
    """
  }

  private let listClass = """
    <dict><key>$classname</key><string>NSArray</string>
    <key>$classes</key><array><string>NSArray</string><string>NSObject</string></array></dict>
    """

  @Test("An archive whose objects lie within themselves, or in each other too deep, gives nothing")
  func endless() throws {
    let transformer = SecureUnarchiveFromData()
    let itself = archive([list(of: [1], class: 2), listClass])
    #expect(transformer.transformedValue(itself) == nil)
    let binary = try PropertyListSerialization.data(
      fromPropertyList: PropertyListSerialization.propertyList(from: itself, format: nil),
      format: .binary, options: 0)
    #expect(transformer.transformedValue(binary) == nil)
    let round = archive([list(of: [3], class: 2), listClass, list(of: [1], class: 2)])
    #expect(transformer.transformedValue(round) == nil)
    func nested(_ depth: Int, _ members: Int) -> Data {
      archive(
        [list(of: [Int](repeating: 3, count: members), class: 2), listClass]
          + (0..<depth).map { list(of: [Int](repeating: $0 + 4, count: members), class: 2) }
          + ["<string>end</string>"])
    }
    #expect(transformer.transformedValue(nested(20, 1)) != nil)
    #expect(transformer.transformedValue(nested(100, 1)) == nil)
    #expect(transformer.transformedValue(nested(30, 2)) == nil, "2^30 objects")
    #expect(transformer.transformedValue(Data(String(repeating: "(", count: 50_000).utf8)) == nil)
  }

  @Test("Transformers are registered, listed and taken away by name")
  func registry() {
    let name = ValueTransformer.Name("RegistryTest")
    #expect(ValueTransformer.valueTransformer(forName: name) == nil)
    let transformer = ColorTransformer()
    ValueTransformer.setValueTransformer(transformer, forName: name)
    #expect(ValueTransformer.valueTransformer(forName: name) === transformer)
    #expect(ValueTransformer.valueTransformerNames().contains(name))
    #expect(
      ValueTransformer.valueTransformerNames().contains(.secureUnarchiveFromDataTransformerName))
    ValueTransformer.setValueTransformer(nil, forName: name)
    #expect(ValueTransformer.valueTransformer(forName: name) == nil)
    #expect(ColorTransformer.allowsReverseTransformation())
  }

  @Test("An object's value goes through its attribute's transformer, and is bytes in the store")
  func values() throws {
    ValueTransformer.setValueTransformer(ColorTransformer(), forName: "ColorOfValues")
    let (context, thing) = try object("ColorOfValues")
    let color = Color(red: 200, green: 7)
    try thing.setValue(color, forKey: "tint")
    #expect(try thing.value(forKey: "tint") as? Color == color)
    try context.save()
    context.reset()
    let fetched = try #require(
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Thing")).first)
    #expect(try fetched.value(forKey: "tint") as? Color == color)
    let bytes = Data([200, 7])
    #expect(
      try context.count(
        for: FetchRequest<ManagedObject>(
          entityName: "Thing", predicate: FetchPredicate(format: "tint == %@", bytes))) == 1)
    #expect(throws: ObjectError.self) { try fetched.setValue("no color", forKey: "tint") }
    try fetched.setValue(nil, forKey: "tint")
    #expect(try fetched.value(forKey: "tint") == nil)
  }

  @Test("The built-in transformer archives property-list values, and refuses the rest")
  func builtIn() throws {
    let (_, thing) = try object("NSSecureUnarchiveFromData")
    try thing.setValue(["a", "b"], forKey: "tint")
    #expect(try thing.value(forKey: "tint") as? [String] == ["a", "b"])
    try thing.setValue(["k": 3], forKey: "tint")
    #expect(try thing.value(forKey: "tint") as? [String: Int] == ["k": 3])
    #expect(throws: ObjectError.self) {
      try thing.setValue(Color(red: 1, green: 2), forKey: "tint")
    }
    // This platform's archiver would never return from a decimal number.
    #expect(throws: ObjectError.self) { try thing.setValue([NSDecimalNumber(1)], forKey: "tint") }
    let transformer = SecureUnarchiveFromData()
    #expect(transformer.transformedValue(Data([1, 2, 3])) == nil)
    // A class that a subclass does not allow is not taken.
    final class Texts: SecureUnarchiveFromData, @unchecked Sendable {  // as its superclass
      override class var allowedTopLevelClasses: [AnyClass] { [NSString.self] }
    }
    let archive = transformer.reverseTransformedValue("text")
    #expect(Texts().transformedValue(archive) as? String == "text")
    let number = transformer.reverseTransformedValue(NSNumber(value: 7))
    #expect(transformer.transformedValue(number) as? Int == 7)
    #expect(Texts().transformedValue(number) == nil)
  }

  @Test("Without a transformer the value is the bytes")
  func bytes() throws {
    for name in [nil, "Unheard"] {
      let (_, thing) = try object(name)
      try thing.setValue(Data([1]), forKey: "tint")
      #expect(try thing.value(forKey: "tint") as? Data == Data([1]))
      #expect(throws: ObjectError.self) { try thing.setValue("text", forKey: "tint") }
    }
  }
}
