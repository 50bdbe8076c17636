import ArgumentParser

/// The option that lets a sync delete a large part of a store.
struct MassDeleteArguments: ParsableArguments {
  @Flag(
    name: .long,
    help: "Go on although a large part of the objects will be deleted, here or at the zone.")
  var allowMassDelete = false
}
