package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.{
  SparkConditions,
  SparkInternals,
  StateStoreErrors,
  StateStoreId
}

import io.bucketstate.config.ConfigKey
import io.bucketstate.error._

/** Gives each of the project's errors the error class that Spark's users know; the cause says what to do. */
private[spark] object SparkErrors {

  /** The provider as Spark's errors name it. */
  val Provider = "BucketedStateStoreProvider"

  /** What `getStore` throws when a version cannot be loaded. */
  def cannotLoad(storeId: StateStoreId, failure: Throwable): Throwable =
    failure match {
      case e: OutOfMemoryError     => SparkConditions.cannotLoadStore(noMemory(storeId, e))
      case e: MissingException     => SparkInternals.unreadableFile(e.file, e)
      case e: CorruptException     => SparkInternals.unreadableFile(e.file, e)
      case e: UnavailableException => SparkInternals.unreadableFile(e.file, e)
      case e: InvalidException     => invalid(e)
      case e: InterruptedException => e
      case e                       => SparkConditions.cannotLoadStore(e)
    }

  /** Spark's own condition for it has sentences for Spark's own providers alone. */
  private def noMemory(storeId: StateStoreId, cause: OutOfMemoryError): Throwable =
    new UnavailableException(
      storeId.toString,
      s"memory ran out while a version was loaded (${cause.getMessage})",
      s"Give the executor more heap, or ${ConfigKey.MemoryMaxBytes.key} less of it.",
      cause
    )

  private def invalid(e: InvalidException): Throwable = e.changed match {
    case Some(ChangedSetting(key, stored, current)) =>
      val error = StateStoreErrors.invalidConfigChangedAfterRestart(key, stored, current)
      error.initCause(e)
      error
    case None => e
  }
}
