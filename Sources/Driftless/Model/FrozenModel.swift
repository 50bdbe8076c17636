import Logging

/// What happens to a change of a model in use: it is not made, and the model and the log say so.
enum FrozenModel {
  static func report(_ element: String, _ model: ManagedObjectModel?) {
    let error = refusal(element)
    model?.refuse(error)
    Logger(label: "driftless.model").error("\(error)")
  }

  static func refusal(_ element: String) -> ModelError {
    ModelError(
      .inUse, element: element, "a model in use cannot be changed, and was not",
      suggestion: "Change a copy of the model, and open the store with that.")
  }
}
