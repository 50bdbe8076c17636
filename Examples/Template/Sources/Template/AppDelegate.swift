//
//  AppDelegate.swift
//  Template
//

import Foundation
import CoreData

// What a project with storyboards has of Core Data's in its delegate. UIResponder, UIApplicationDelegate and the functions
// for scenes are UIKit's, which Linux does not have.
class AppDelegate: NSObject {

    // MARK: - Core Data stack

    lazy var persistentContainer: NSPersistentContainer = {
        let container = NSPersistentContainer(name: "Template")
        container.loadPersistentStores(completionHandler: { (storeDescription, error) in
            if let error = error as NSError? {
                // An application that is shipped shows the error and goes on; the template ends the program.
                fatalError("Unresolved error \(error), \(error.userInfo)")
            }
        })
        return container
    }()

    // MARK: - Core Data Saving support

    func saveContext () {
        let context = persistentContainer.viewContext
        if context.hasChanges {
            do {
                try context.save()
            } catch {
                let nserror = error as NSError
                // As above.
                fatalError("Unresolved error \(nserror), \(nserror.userInfo)")
            }
        }
    }
}
