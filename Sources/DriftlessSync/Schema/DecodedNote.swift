import Driftless
import Foundation
import Synchronization

/// What a note of the store's says, decoded once for as long as its text is the same: it is read with each pull and push, and
/// hardly ever another one.
final class DecodedNote<Value: Decodable & Sendable>: Sendable {
  private let last = Mutex<(text: String, value: Value?)?>(nil)

  /// - Returns: nil for a text that is no such note.
  static func value(of text: String, _ schema: StoreSchema) -> Value? {
    schema.derived { DecodedNote<Value>() }.value(of: text)
  }

  private func value(of text: String) -> Value? {
    last.withLock { last in
      if let last, last.text == text { return last.value }
      let value = try? JSONDecoder().decode(Value.self, from: Data(text.utf8))
      last = (text, value)
      return value
    }
  }
}
