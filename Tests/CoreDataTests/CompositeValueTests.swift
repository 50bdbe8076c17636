import CoreData
import TestSupport
import Testing

/// Composite attributes in composite ones are dictionaries within dictionaries.
struct CompositeValueTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func context() throws -> NSManagedObjectContext {
    let (geo, address) = (NSCompositeAttributeDescription(), NSCompositeAttributeDescription())
    geo.name = "geo"
    geo.isOptional = true
    geo.elements = [Shop.attribute("lat", .doubleAttributeType)]
    address.name = "address"
    address.isOptional = true
    address.elements = [Shop.attribute("city", .stringAttributeType), geo]
    let place = NSEntityDescription()
    place.name = "Place"
    place.properties = [address]
    let model = NSManagedObjectModel()
    model.entities = [place]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.file("a.sqlite"))
    return Albums.context(coordinator)
  }

  @Test("A dictionary with one within is set, saved and read as such, and found by its leaf")
  func nested() throws {
    let context = try context()
    try context.performAndWait {
      let place = NSEntityDescription.insertNewObject(forEntityName: "Place", into: context)
      func address() -> [String: Any] { place.value(forKey: "address") as? [String: Any] ?? [:] }
      func lat() -> Double? { (address()["geo"] as? [String: Any])?["lat"] as? Double }
      #expect(address().isEmpty)
      place.setValue(
        ["city": "Bern", "geo": ["lat": 46.9]] as [String: Any], forKey: "address")
      try context.save()
      context.refresh(place, mergeChanges: false)
      #expect(address()["city"] as? String == "Bern" && lat() == 46.9)
      #expect(address().count == 2)
      #expect(place.value(forKeyPath: "address.geo.lat") as? Double == 46.9)
      #expect((place.value(forKeyPath: "address.geo") as? [String: Any])?["lat"] as? Double == 46.9)
      let request = NSFetchRequest<NSManagedObject>(entityName: "Place")
      request.predicate = NSPredicate(format: "address.geo.lat > 46")
      #expect(try context.fetch(request) == [place])

      // What it gave, changed and set again; and what is not in a dictionary has no value.
      var changed = address()
      changed["city"] = "Thun"
      place.setValue(changed, forKey: "address")
      #expect(address()["city"] as? String == "Thun" && lat() == 46.9)
      place.setValue(["city": "Biel"], forKey: "address")
      #expect(lat() == nil && address().count == 1)
      place.setValue(["lat": 1.5], forKeyPath: "address.geo")
      #expect(lat() == 1.5 && address()["city"] as? String == "Biel")
      place.setValue(["geo.lat": 2.5, "city": NSNull()] as [String: Any], forKey: "address")
      #expect(lat() == 2.5 && address().count == 1)
      place.setValue(["geo": NSNull()] as [String: Any], forKey: "address")
      #expect(address().isEmpty)
      place.setValue(nil, forKey: "address")
      try context.save()
    }
  }

  private static let refused: [(value: [String: any Sendable], message: String)] = [
    (["city": "Bern", "geo": ["lon": 1.0]], "address.geo.lon"),
    (["city": "Bern", "geo": 1.0], "address.geo is composite"),
    (["city": "Bern", "geo": ["lat": "north"]], "address.geo.lat"),
    (["town": "Bern"], "address.town"),
  ]

  @Test("What does not fit sets nothing, and the save says where", arguments: 0..<4)
  func unfit(_ index: Int) throws {
    let (value, message) = Self.refused[index]
    let context = try context()
    context.performAndWait {
      let place = NSEntityDescription.insertNewObject(forEntityName: "Place", into: context)
      place.setValue(value, forKey: "address")
      let error = #expect(throws: CocoaError.self) { try context.save() }
      #expect(error.map { "\($0)" }?.contains(message) == true, "\(String(describing: error))")
      #expect((place.value(forKey: "address") as? [String: Any])?.isEmpty == true)
    }
  }
}
