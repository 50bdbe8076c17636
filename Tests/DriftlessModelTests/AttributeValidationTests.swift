import Foundation
import Testing

@testable import Driftless

/// What a save checks of one value.
struct AttributeValidationTests {
  private func code(
    _ value: PropertyValue, _ type: AttributeType,
    _ change: (AttributeDescription) -> Void = { _ in }
  ) -> Int? {
    let attribute = AttributeDescription("x", type)
    change(attribute)
    do {
      try attribute.validate(value)
      return nil
    } catch {
      #expect(error.propertyName == "x")
      return error.code
    }
  }

  @Test("A required value is required, an optional or transient one is not")
  func presence() {
    #expect(code(.null, .string) == nil)
    #expect(code(.null, .string) { $0.isOptional = false } == 1570)
    #expect(
      code(.null, .string) {
        $0.isOptional = false
        $0.isTransient = true
      } == nil)
  }

  @Test("Integers have the range of their type")
  func integerRanges() {
    #expect(code(.integer(32_767), .integer16) == nil)
    #expect(code(.integer(32_768), .integer16) == 1610)
    #expect(code(.integer(-32_769), .integer16) == 1620)
    #expect(code(.integer(.max), .integer32) == 1610)
    #expect(code(.integer(.min), .integer64) == nil)
    #expect(code(.integer(1), .string) == 1550)
  }

  @Test("Bounds hold to the last digit")
  func exactBounds() {
    let most = Int64.max - 1
    #expect(code(.integer(.max), .integer64) { $0.maximum = .integer(most) } == 1610)
    #expect(code(.integer(most), .integer64) { $0.maximum = .integer(most) } == nil)
    let cent = Decimal(string: "12345678901234567890.01") ?? 0
    #expect(
      code(.decimal(cent), .decimal) { $0.maximum = .decimal(cent - Decimal(string: "0.01")!) }
        == 1610)
    #expect(code(.double(-0.1), .double) { $0.minimum = .integer(0) } == 1620)
    #expect(code(.double(.nan), .double) { $0.minimum = .integer(0) } == 1620)
    #expect(code(.double(.nan), .double) == nil)
  }

  @Test("Dates lie between their bounds")
  func dates() {
    let now = Date(timeIntervalSinceReferenceDate: 0)
    #expect(code(.date(now - 1), .date) { $0.minimum = .date(now) } == 1640)
    #expect(code(.date(now + 1), .date) { $0.maximum = .date(now) } == 1630)
    #expect(code(.date(now), .date) { ($0.minimum, $0.maximum) = (.date(now), .date(now)) } == nil)
  }

  @Test("The length of a text counts UTF-16 units, as Core Data does")
  func lengths() {
    #expect(code(.string("👨‍👩‍👧"), .string) { $0.maximum = .integer(7) } == 1660)
    #expect(code(.string("👨‍👩‍👧"), .string) { $0.maximum = .integer(8) } == nil)
    #expect(code(.string(""), .string) { $0.minimum = .integer(1) } == 1670)
  }

  @Test("A pattern matches the whole text, whichever alternative does")
  func patterns() {
    func code(_ text: String, _ pattern: String) -> Int? {
      self.code(.string(text), .string) { $0.regularExpression = pattern }
    }
    #expect(code("abc", "[a-c]+") == nil)
    #expect(code("abc\n", "[a-c]+") == 1680)
    #expect(code("xabc", "[a-c]+") == 1680)
    #expect(code("ab", "a|ab") == nil)
    #expect(code("👍", ".") == nil)
  }

  @Test("A leaf of an optional composite attribute may be missing, and is named by its path")
  func composites() throws {
    let latitude = AttributeDescription("lat", .double, isOptional: false)
    latitude.minimum = .integer(-90)
    let location = CompositeAttributeDescription()
    location.name = "location"
    location.elements = [latitude]
    let place = EntityDescription("Place")
    place.properties = [location]
    let model = ManagedObjectModel(entities: [place])
    try model.freeze()
    try latitude.validate(.null)
    #expect(place.layout.slots.map(\.name) == ["location.lat"])
    #expect(place.layout.slots.map(\.isOptional) == [true])
    let error = #expect(throws: ValidationError.self) { try latitude.validate(.double(-91)) }
    #expect(error?.entityName == "Place")
    #expect(error?.propertyName == "location.lat")
    latitude.name = "other"
    #expect(latitude.name == "lat", "an element of a frozen model was changed")
  }

  @Test("As Foundation's error it has Core Data's domain, code and keys")
  func foundationError() throws {
    let pages = AttributeDescription("pages", .integer16)
    pages.maximum = .integer(9)
    let failure = #expect(throws: ValidationError.self) { try pages.validate(.integer(10)) }
    let error = try #require(failure) as NSError
    #expect(error.domain == NSCocoaErrorDomain && error.code == 1610)
    #expect(error.localizedDescription == "pages is too large.")
    #expect(error.userInfo["NSValidationErrorKey"] as? String == "pages")
    #expect(error.userInfo["NSValidationErrorValue"] as? Int64 == 10)
    #expect(failure?.value == .integer(10) && failure?.predicate?.description == "SELF <= 9")
  }

  @Test("A transient value is checked by a save, though no store keeps it")
  func transients() throws {
    let speed = AttributeDescription("speed", .integer16)
    speed.isTransient = true
    speed.maximum = .integer(130)
    let car = EntityDescription("Car")
    car.properties = [speed]
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [car]))
    try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    let object = try context.insert(entityNamed: "Car")
    try object.setValue(200, forKey: "speed")
    let failure = #expect(throws: ValidationFailure.self) { try context.save() }
    #expect((failure?.items.first?.error as? ValidationError)?.code == 1610)
    try object.setValue(50, forKey: "speed")
    try context.save()
  }
}
