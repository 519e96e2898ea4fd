package io.bucketstate.rocksdb

import java.lang.reflect.InvocationTargetException

import scala.util.control.NonFatal

import org.rocksdb.RocksObject

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.InvalidException

/** Makes users' factories of options, and calls them: whatever goes wrong there is said with the setting's key. */
object OptionsFactories {

  /**
   * A new factory of the class of that name. Throws InvalidException if there is none.
   *
   * @param classes has the class; null for the loader of this class
   */
  def load(name: String, classes: ClassLoader): RocksDbOptionsFactory = {
    val made =
      try find(name, classes).getConstructor().newInstance()
      catch {
        case error: NoSuchMethodException =>
          throw bad(name, "has no public constructor without parameters", Constructor, error)
        case error: InstantiationException =>
          throw bad(name, "is abstract", "Name a class that extends it.", error)
        case error: IllegalAccessException =>
          throw bad(name, "is not public", "Make the class public.", error)
        case error: InvocationTargetException =>
          throw bad(name, s"threw ${error.getCause} when it was made", Mend, error.getCause)
      }
    made match {
      case factory: RocksDbOptionsFactory => factory
      case _                              =>
        throw bad(
          name,
          s"is no ${classOf[RocksDbOptionsFactory].getName}",
          "Let the class implement it."
        )
    }
  }

  /** What a call of a factory returns. Throws InvalidException for one that throws, or returns nothing of use. */
  def call[A <: RocksObject](name: String, method: String)(body: => A): A = {
    val options =
      try body
      catch { case NonFatal(error) => throw bad(name, s"threw $error in $method", Mend, error) }
    if (options == null) throw bad(name, s"returned null from $method", Return)
    // RocksDB would end the process.
    if (!options.isOwningHandle) throw bad(name, s"returned closed options from $method", Return)
    options
  }

  /** That what a factory did cannot work. */
  def bad(
      name: String,
      problem: String,
      remedy: String,
      cause: Throwable = null
  ): InvalidException =
    new InvalidException(
      s"${ConfigKey.RocksDbOptionsFactory.key} is $name, which $problem",
      remedy,
      cause
    )

  private def find(name: String, classes: ClassLoader): Class[_] =
    try Class.forName(name, true, Option(classes).getOrElse(getClass.getClassLoader))
    catch {
      case error: ClassNotFoundException =>
        throw bad(name, "is not on the class path", ClassPath, error)
      case error: LinkageError => throw bad(name, s"cannot be loaded: $error", ClassPath, error)
    }

  private val ClassPath =
    "Correct the name, or add its jar to spark.jars: executors need the class, too."
  private val Constructor = "Give it one: `public Name() {}`."
  private val Mend = "Correct the class, or set it to none."
  private val Return = "Return the options that it is given, or others that are open."
}
