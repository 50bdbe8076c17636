/// The text by which lines name an object. Two are the same when their bytes are, as identities are made of those: to Swift
/// two compositions of one letter are equal.
struct ImportID: Hashable {
  let text: String

  static func == (a: ImportID, b: ImportID) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
