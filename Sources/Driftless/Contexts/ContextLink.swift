/// The way from a graph to its context. A `weak` one would give each context a table beside it, by which every count of a
/// reference to it goes from then on, and a notification alone counts some twenty.
final class ContextLink: ObjectSourceLink {
  private let context: UncountedReference<ManagedObjectContext>

  init(_ context: ManagedObjectContext) { self.context = UncountedReference(context) }

  deinit { context.drop() }

  var source: (any ObjectSource)? { context.object }
}
