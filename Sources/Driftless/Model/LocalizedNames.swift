/// Looks things up in a model's localization dictionary.
struct LocalizedNames {
  private let dictionary: [String: String]

  init(_ dictionary: [String: String]) { self.dictionary = dictionary }

  /// The name in the entity goes before the name anywhere.
  func name(ofProperty property: String, in entity: String) -> String {
    dictionary["Property/\(property)/Entity/\(entity)"] ?? dictionary["Property/\(property)"]
      ?? property
  }

  func errorString(_ text: String) -> String { dictionary["ErrorString/\(text)"] ?? text }

  /// `Book: Title is too long.`; without the entity where the dictionary does not name it.
  func sentence(of entity: String, _ property: String, _ text: String) -> String {
    let subject = name(ofProperty: property, in: entity)
    guard let entity = dictionary["Entity/\(entity)"] else {
      return "\(subject) \(errorString(text))"
    }
    return "\(entity): \(subject) \(errorString(text))"
  }
}
