import CoreData
import Foundation

public class Note: NSManagedObject {
  enum Kind: Int16 {
    case text = 0
    case list = 1
  }

  var kind: Kind {
    get { Kind(rawValue: kindNumber) ?? .text }
    set { kindNumber = newValue.rawValue }
  }

  public override func awakeFromInsert() {
    super.awakeFromInsert()
    setPrimitiveValue(Date(), forKey: "made")
  }

  public override func validateForInsert() throws {
    try super.validateForInsert()
    if (title ?? "").isEmpty {
      throw NSError(domain: "Notebook", code: 1, userInfo: [NSLocalizedDescriptionKey: "A note needs a title."])
    }
  }
}
