package io.bucketstate.store

/** What is asked of a store, for the words of an error. */
private[bucketstate] sealed abstract class StoreCall(val verb: String)

private[bucketstate] object StoreCall {
  case object Load extends StoreCall("load")
  case object Maintenance extends StoreCall("maintenance")
  case object Close extends StoreCall("close")
}

/**
 * A wait for a store that took too long.
 *
 * @param wantedBy the thread and task that waited
 * @param heldBy   the thread and task that write
 * @param stack    where the latter's thread is, a line per call; empty if it is gone
 */
private[bucketstate] final case class StillHeld(
    call: StoreCall,
    wantedBy: String,
    heldBy: String,
    waitedMs: Long,
    stack: String
)

/** Tells which task asks for a [[WriterLock]], and makes the errors for one that does not get it. Thread-safe. */
private[bucketstate] trait LockHost {

  /** The calling thread's task, to be read behind its thread; None outside of a task. */
  def task: Option[String]

  /** Throws if the calling thread's task was killed: it waits no longer. */
  def requireAlive(): Unit

  def stillHeld(wait: StillHeld): Throwable

  /** What a writer is told whose stamp is not the current one; [[WriterLock.Free]] if nobody writes. */
  def invalidStamp(stamp: Long, current: Long): Throwable

  /** What is told to whoever asks something of a closed store. */
  def closed(call: StoreCall): Throwable
}
