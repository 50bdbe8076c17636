import Foundation

extension ManagedObjectModel: Codable {
  /// Reads a model that was encoded; it can be changed.
  ///
  /// - Throws: ``ModelError`` for bytes that are no model, or a later format; and what the decoder
  ///   throws.
  public convenience init(from decoder: any Decoder) throws {
    let data = try decoder.singleValueContainer().decode(Data.self)
    let model = try ModelArchive.model(from: data)
    try self.init(byMerging: [model])
    fileAttributes = model.fileAttributes
  }

  /// Writes the model whole, as a store carries it: what a model file means, and what it has no
  /// place for.
  ///
  /// - Throws: ``ModelError`` for a default value that is a reference; and what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(ModelArchive.encode(self))
  }
}
