/// An attribute made of attributes; each leaf has a column of its own.
///
/// The value of a leaf is read and written under a name such as `location.lat`.
public final class CompositeAttributeDescription: AttributeDescription,
  @unchecked Sendable  // as its superclass
{
  private var attributes: [AttributeDescription] = []

  public override init() {
    super.init()
    type = .composite
  }

  /// As deep as elements of elements go, and as a model's file may have them.
  static let depthMax = 64

  /// Whether elements were given that would lie deeper: none of them is kept, and the model is refused.
  private(set) var isTooDeep = false

  /// The attributes that it is made of; composite ones too, but never itself. More than 64 levels make a model that a store
  /// refuses.
  public var elements: [AttributeDescription] {
    get { attributes }
    set {
      guard mayChange() else { return }
      for element in attributes { element.leave(self) }
      let depth = levelsAbove + newValue.reduce(0) { max($0, Self.levels(of: $1)) } + 1
      isTooDeep = depth > Self.depthMax
      attributes = isTooDeep ? [] : newValue.filter { element in !isInside(element) }
      for element in attributes { element.join(self) }
    }
  }

  /// Bounded, as every composite attribute was when it was made.
  private static func levels(of attribute: AttributeDescription) -> Int {
    let inner = (attribute as? CompositeAttributeDescription)?.attributes ?? []
    return 1 + inner.reduce(0) { max($0, levels(of: $1)) }
  }

  private var levelsAbove: Int {
    var count = 0
    var above = composite
    while let current = above {
      count += 1
      above = current.composite
    }
    return count
  }

  /// Whether this attribute is `element`, or lies in it: as its element it would have no end.
  private func isInside(_ element: AttributeDescription) -> Bool {
    var candidate: AttributeDescription? = self
    while let current = candidate {
      if current === element { return true }
      candidate = current.composite
    }
    return false
  }

  override func freeze() {
    for element in elements { element.freeze() }
    super.freeze()
  }
}
