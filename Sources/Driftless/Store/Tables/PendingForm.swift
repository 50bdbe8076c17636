package import Foundation

/// What a row of `ZDL_PENDING` says of an object, as JSON. Properties have names, which outlive a model's slots. The engine of
/// sync writes it; a migration by a program without the engine gives the names of the next model.
package struct PendingForm: Codable {
  package struct Edit: Codable {
    package var transaction: Int64
    package var properties: [String]

    package init(transaction: Int64, properties: [String]) {
      self.transaction = transaction
      self.properties = properties
    }
  }

  /// What is pending of the object as a whole, by the engine's word for it.
  package var whole: String
  package var wholeTransaction: Int64
  package var maker: UInt64?
  package var wasInZone: Bool?
  package var isDeadInZone: Bool?
  package var edits: [Edit]
  package var offers: [Edit]?
  package var heldBack: [String]?

  package init(whole: String, wholeTransaction: Int64, edits: [Edit]) {
    self.whole = whole
    self.wholeTransaction = wholeTransaction
    self.edits = edits
  }

  package static func decode(_ data: Data) throws -> PendingForm {
    try JSONDecoder().decode(PendingForm.self, from: data)
  }

  package func encoded() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try encoder.encode(self)
  }

  /// - Parameter names: the names of properties now, by those of before; empty for what is gone.
  func renamed(_ names: [String: String]) -> PendingForm {
    func renamed(_ properties: [String]) -> [String] {
      properties.map { names[$0] ?? $0 }.filter { !$0.isEmpty }
    }
    func renamed(_ edits: [Edit]) -> [Edit] {
      edits.compactMap { edit in
        let properties = renamed(edit.properties)
        return properties.isEmpty
          ? nil : Edit(transaction: edit.transaction, properties: properties)
      }
    }
    var form = self
    form.edits = renamed(edits)
    form.offers = offers.map(renamed)
    form.heldBack = heldBack.map(renamed)
    return form
  }

  /// By property the number of the edit that set it last. What is only offered again is none.
  var editNumbers: [String: Int64] {
    func numbers(_ edits: [Edit]) -> [String: Int64] {
      var numbers: [String: Int64] = [:]
      for edit in edits {
        for name in edit.properties { numbers[name] = edit.transaction }
      }
      return numbers
    }
    let offered = numbers(offers ?? [])
    return numbers(edits).filter { offered[$0.key] != $0.value }
  }
}
