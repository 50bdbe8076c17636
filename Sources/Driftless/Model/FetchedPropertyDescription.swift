/// A property whose value is the result of a fetch: objects of any entity, which are never set.
///
/// In its predicate `$FETCH_SOURCE` is the object itself and `$FETCHED_PROPERTY` this description, whose `name` and `userInfo` it
/// may ask.
public final class FetchedPropertyDescription: PropertyDescription,
  @unchecked Sendable  // as its superclass
{
  private var values = (
    entity: "", predicate: String?.none, requestAttributes: [String: String](),
    sort: [FetchSort]()
  )

  /// The name of the entity whose objects are fetched.
  public var fetchEntityName: String {
    get { values.entity }
    set { if mayChange() { values.entity = newValue } }
  }
  /// The predicate as a format string, in which `$FETCH_SOURCE` is the object itself.
  public var fetchPredicate: String? {
    get { values.predicate }
    set { if mayChange() { values.predicate = newValue } }
  }
  /// Further attributes of the request in the model file, kept for writing it back.
  var requestAttributes: [String: String] {
    get { values.requestAttributes }
    set { if mayChange() { values.requestAttributes = newValue } }
  }
  /// The order of the objects. A model file cannot say it.
  public var fetchSort: [FetchSort] {
    get { values.sort }
    set { if mayChange() { values.sort = newValue } }
  }
}
