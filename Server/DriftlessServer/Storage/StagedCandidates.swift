import DriftlessProtocol
import Foundation

/// Parts among which the body of a header is looked for.
enum StagedCandidates {
  /// So many are read, and no more: whoever has others of their size sends the body.
  static let countMax = 8

  /// What it costs others to look for the body of a header.
  ///
  /// - Throws: `ServerError` where it is no header.
  static func cost(of header: Data) throws -> Int {
    do {
      return Int(clamping: try ChangeSetDecoder().decodeHeader(header).frameSize)
    } catch {
      throw ServerError(refusal: error) ?? ServerError(storage: error)
    }
  }
}
