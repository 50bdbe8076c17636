import CoreData
import TestSupport
import Testing

/// Key-value coding asks the class about keys that are no properties, and about nil for a number.
struct UndefinedKeyTests {
  private let context: NSManagedObjectContext

  init() throws {
    LoudPart.registerAccessor(\.stars, forKey: "stars")
    PlainStarPart.registerAccessor(\.stars, forKey: "stars")
    let model = NSManagedObjectModel()
    model.entities = [
      ("LoudPart", LoudPart.self as AnyClass), ("PlainStarPart", PlainStarPart.self),
    ].map {
      let entity = NSEntityDescription()
      entity.name = $0
      entity.managedObjectClassName = NSStringFromClass($1)
      entity.properties = [
        Shop.attribute("name", .stringAttributeType),
        Shop.attribute("storedStars", .integer32AttributeType),
      ]
      return entity
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    context = Albums.context(coordinator)
  }

  @Test(
    "value(forUndefinedKey:) and setValue(_:forUndefinedKey:) are asked for keys that are no properties"
  )
  func undefined() throws {
    try context.performAndWait {
      let part = LoudPart(context: context)
      #expect(part.value(forKey: "extraText") as? String == "none")
      part.setValue("x", forKey: "extraText")
      #expect(part.value(forKey: "extraText") as? String == "x")
      #expect(part.value(forKeyPath: "extraText") as? String == "x")
      part.setValuesForKeys(["name": "n", "extraOne": 1])
      #expect(part.value(forKey: "name") as? String == "n" && part.extra["extraOne"] as? Int == 1)
      #expect(part.dictionaryWithValues(forKeys: ["extraOne"])["extraOne"] as? Int == 1)
      try context.save()
      #expect(part.value(forKey: "other") == nil)
      let error = #expect(throws: (any Error).self) { try context.save() }
      #expect("\(error as Any)".contains("other"))
    }
  }

  @Test(
    "setNilValueForKey(_:) is asked when nil is set for a property of the class that is a number")
  func nilForNumber() throws {
    try context.performAndWait {
      let part = LoudPart(context: context)
      part.setValue(4, forKey: "stars")
      part.setValue(nil, forKey: "stars")
      #expect(part.niled == ["stars"] && part.stars == -1)
      part.setValue(nil, forKey: "storedStars")
      #expect(part.value(forKey: "storedStars") == nil && part.niled == ["stars"])
      try context.save()
      let plain = PlainStarPart(context: context)
      plain.setValue(nil, forKey: "stars")
      let error = #expect(throws: (any Error).self) { try context.save() }
      #expect("\(error as Any)".contains("stars"))
    }
  }
}

final class LoudPart: NSManagedObject {
  var extra: [String: Any] = [:]
  var stars: Int {
    get { value(forKey: "storedStars") as? Int ?? 0 }
    set { setValue(newValue, forKey: "storedStars") }
  }
  var niled: [String] = []

  override func value(forUndefinedKey key: String) -> Any? {
    key.hasPrefix("extra") ? extra[key] ?? "none" : super.value(forUndefinedKey: key)
  }
  override func setValue(_ value: Any?, forUndefinedKey key: String) {
    guard key.hasPrefix("extra") else { return super.setValue(value, forUndefinedKey: key) }
    extra[key] = value
  }
  override func setNilValueForKey(_ key: String) {
    niled.append(key)
    guard key == "stars" else { return super.setNilValueForKey(key) }
    setValue(-1, forKey: key)
  }
}

final class PlainStarPart: NSManagedObject {
  var stars: Int {
    get { value(forKey: "storedStars") as? Int ?? 0 }
    set { setValue(newValue, forKey: "storedStars") }
  }
}
