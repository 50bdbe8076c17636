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

  /// The attributes that it is made of; composite ones too, but never itself.
  public var elements: [AttributeDescription] {
    get { attributes }
    set {
      guard mayChange() else { return }
      for element in attributes { element.leave(self) }
      attributes = newValue.filter { element in !isInside(element) }
      for element in attributes { element.join(self) }
    }
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
